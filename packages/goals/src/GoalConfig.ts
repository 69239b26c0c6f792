/**
 * What a deployment decides about goals.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { keptRounds } from "./GoalLog.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface GoalOptions {
  /** The cap of a goal that names none. Default 256. */
  readonly defaultMaxGoalRounds: number
  /** Characters (UTF-16 units) of an objective, at most. Default 10,000. */
  readonly maxObjectiveLength: number
  /** Rounds that a goal must have had before the model may call it blocked. Default 3. */
  readonly minRoundsBeforeBlocked: number
  /** Rounds in a row that change nothing and close with the same words, before the goal is blocked; 0: never. Default 3, at most 16. */
  readonly noProgressRounds: number
  /** Tools whose answers are no progress, beside those that are annotated as read-only. Default: those of goals. */
  readonly idleTools: ReadonlyArray<string>
  /** How long a round waits for running jobs of its session. Default 10 minutes, at most a day. */
  readonly maxJobWait: Duration.Duration
  /** Whether an active goal is armed again when its session resumes. Default: no. */
  readonly rearmOnResume: boolean
}

/**
 * A configuration that could not work.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidGoalConfig extends Schema.TaggedError<InvalidGoalConfig>("@afterturn/goals/InvalidGoalConfig")(
  "InvalidGoalConfig",
  { reason: Schema.String }
) {
  override get message(): string {
    return `goals configuration: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class GoalConfig extends Context.Tag("@afterturn/goals/GoalConfig")<GoalConfig, GoalOptions>() {}

/**
 * The defaults, with what differs; fails at start when a number or a wait is out of its range.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<GoalOptions>): Layer.Layer<GoalConfig, InvalidGoalConfig> =>
  Layer.effect(
    GoalConfig,
    Effect.suspend((): Effect.Effect<GoalOptions, InvalidGoalConfig> => {
      const config: GoalOptions = {
        defaultMaxGoalRounds: 256,
        maxObjectiveLength: 10_000,
        minRoundsBeforeBlocked: 3,
        noProgressRounds: 3,
        idleTools: ["get_goal", "create_goal", "update_goal"],
        maxJobWait: Duration.minutes(10),
        rearmOnResume: false,
        ...options
      }
      const reason = problem(config)
      return reason === undefined ? Effect.succeed(config) : new InvalidGoalConfig({ reason })
    })
  )

const problem = (config: GoalOptions): string | undefined => {
  const outOf = (key: keyof GoalOptions & ("defaultMaxGoalRounds" | "maxObjectiveLength"), least: number) =>
    isWithin(config[key], least, Number.MAX_SAFE_INTEGER)
      ? undefined
      : `${key} must be a whole number from ${least}, got ${config[key]}`
  return (
    outOf("defaultMaxGoalRounds", 1) ??
    outOf("maxObjectiveLength", 1) ??
    (isWithin(config.minRoundsBeforeBlocked, 0, Number.MAX_SAFE_INTEGER)
      ? undefined
      : `minRoundsBeforeBlocked must be a whole number from 0, got ${config.minRoundsBeforeBlocked}`) ??
    (isWithin(config.noProgressRounds, 0, keptRounds)
      ? undefined
      : `noProgressRounds must be a whole number from 0 to ${keptRounds}, got ${config.noProgressRounds}`) ??
    (Duration.lessThanOrEqualTo(config.maxJobWait, Duration.days(1))
      ? undefined
      : `maxJobWait must be at most a day, got ${Duration.format(config.maxJobWait)}`)
  )
}

const isWithin = (value: number, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && value >= least && value <= most
