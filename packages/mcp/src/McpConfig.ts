/**
 * Limits of a server.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"

/**
 * @since 0.1.0
 * @category models
 */
export interface McpOptions {
  /** What the server calls itself. Default `afterturn`. */
  readonly name: string
  /** The version that it tells. Default `0.0.0`. */
  readonly version: string
  /**
   * How long a call may wait whose client did not ask for progress: many clients give up after a minute, and lose what comes later.
   * Default 45 seconds.
   */
  readonly patience: Duration.Duration
  /** How long the user may take to answer a question; after that it is no. Default 5 minutes. */
  readonly answerPatience: Duration.Duration
  /** How often a call tells its progress to a client that asked for it. Default 5 seconds. */
  readonly progressInterval: Duration.Duration
}

/**
 * The defaults, with what differs.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Partial<McpOptions>): McpOptions => ({
  name: "afterturn",
  version: "0.0.0",
  patience: Duration.seconds(45),
  answerPatience: Duration.minutes(5),
  progressInterval: Duration.seconds(5),
  ...options
})
