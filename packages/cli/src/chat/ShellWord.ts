/**
 * Words of a command line that a person is to type.
 *
 * @since 0.1.0
 */

/**
 * Text as a POSIX shell takes it for one word.
 *
 * @since 0.1.0
 * @category conversions
 */
export const quote = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
