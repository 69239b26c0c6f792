/**
 * Whether the agent of a command may act on the world.
 *
 * @since 0.1.0
 */
import * as Option from "effect/Option"

/**
 * `ask` denies where nobody is there to answer.
 *
 * @since 0.1.0
 * @category constants
 */
export const policies = ["allow", "deny", "ask"] as const

/**
 * @since 0.1.0
 * @category models
 */
export type Policy = (typeof policies)[number]

/**
 * The policy that `--approve` names. By default a scripted model may do what its script says, which the user wrote or chose; for any
 * other somebody is asked.
 *
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (given: Option.Option<Policy>, route: string): Policy =>
  Option.getOrElse(given, () => (route.startsWith("scripted:") ? "allow" : "ask"))
