/**
 * Limits of delegation.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category models
 */
export interface SubagentOptions {
  /** How many levels of subagents a session that people talk to may have below it. Default 3. */
  readonly maxDepth: number
  /**
   * How long a child that only waits for a notice of one of its own jobs is waited for, when nothing moves: no notices are delivered
   * then. Default 10 seconds.
   */
  readonly noticePatience: Duration.Duration
  /**
   * Turns in a row that messages of its subagents may open for an agent before somebody above it speaks: a person, or its parent. Beyond
   * it they wait for whatever turn comes, so that two agents do not keep each other awake for ever. Default 20.
   */
  readonly maxMessageWakes: number
}

/**
 * A configuration that could not work.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidSubagentConfig extends Schema.TaggedError<InvalidSubagentConfig>(
  "@afterturn/subagent/InvalidSubagentConfig"
)("InvalidSubagentConfig", { reason: Schema.String }) {
  override get message(): string {
    return `subagent configuration: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SubagentConfig extends Context.Tag("@afterturn/subagent/SubagentConfig")<
  SubagentConfig,
  SubagentOptions
>() {}

/**
 * The defaults, with what differs; fails at start when the depth is no integer from 1 to 16, the patience not between a millisecond
 * and a day, or the number of wakes no integer from 0 on.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<SubagentOptions>): Layer.Layer<SubagentConfig, InvalidSubagentConfig> =>
  Layer.effect(
    SubagentConfig,
    Effect.suspend((): Effect.Effect<SubagentOptions, InvalidSubagentConfig> => {
      const config: SubagentOptions = {
        maxDepth: 3,
        noticePatience: Duration.seconds(10),
        maxMessageWakes: 20,
        ...options
      }
      if (!Number.isSafeInteger(config.maxMessageWakes) || config.maxMessageWakes < 0) {
        return new InvalidSubagentConfig({
          reason: `maxMessageWakes must be an integer from 0 on, got ${config.maxMessageWakes}`
        })
      }
      if (!Number.isInteger(config.maxDepth) || config.maxDepth < 1 || config.maxDepth > deepest) {
        return new InvalidSubagentConfig({
          reason: `maxDepth must be an integer from 1 to ${deepest}, got ${config.maxDepth}`
        })
      }
      return Duration.between(config.noticePatience, { minimum: Duration.millis(1), maximum: Duration.days(1) })
        ? Effect.succeed(config)
        : new InvalidSubagentConfig({
            reason: `noticePatience must be from 1ms to 1d, got ${Duration.format(config.noticePatience)}`
          })
    })
  )

const deepest = 16
