/**
 * The version of the command.
 *
 * @since 0.1.0
 */

/**
 * That of the package.
 *
 * @since 0.1.0
 * @category constants
 */
export const version = "0.1.0"
