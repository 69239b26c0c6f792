/**
 * Limits of reminders, and how they are delivered.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { defaultMinEveryIntervalSeconds } from "./RuleInput.js"

/**
 * How reminders reach a session that nobody drives: `session-local`, when it is resumed; `host`, a host resumes it for them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const DeliveryMode = Schema.Literal("session-local", "host")

/**
 * @since 0.1.0
 * @category schemas
 */
export type DeliveryMode = typeof DeliveryMode.Type

/**
 * @since 0.1.0
 * @category models
 */
export interface ScheduleSettings {
  /** What lists say of the delivery. Set it to `host` where a `ReminderHost` runs on the same sessions. Default `session-local`. */
  readonly delivery: DeliveryMode
  /** The smallest `every_seconds`. Default 60. */
  readonly minEveryIntervalSeconds: number
  /** Active reminders of one session, paused ones included. Default 1,000. */
  readonly maxActive: number
  /** Characters (code points) of a prompt after trimming. Default 10,000. */
  readonly maxPromptLength: number
  /** Characters (code points) of a title after trimming. Default 120. */
  readonly maxTitleLength: number
  /** Reminders that come once and are overdue share turns, so many each. Default 20. */
  readonly maxOverduePerTurn: number
  /** How late a reminder that comes once is still on time, and gets a turn of its own. Default 1 minute. */
  readonly onTimeGrace: Duration.Duration
  /** Characters of one message after which what is due goes on in another. Default 200,000. */
  readonly maxMessageLength: number
  /** The clock is read again after so long a sleep: a jump of it is noticed that late. Default 1 minute. */
  readonly maxSleep: Duration.Duration
  /** How long a reminder whose turn failed waits before it opens another; it doubles, up to an hour. Default 30 seconds. */
  readonly retryAfter: Duration.Duration
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ScheduleConfig extends Context.Tag("@afterturn/schedule/ScheduleConfig")<
  ScheduleConfig,
  ScheduleSettings
>() {}

/**
 * An option that cannot be.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidScheduleConfig extends Schema.TaggedError<InvalidScheduleConfig>(
  "@afterturn/schedule/InvalidScheduleConfig"
)("InvalidScheduleConfig", { problem: Schema.String }) {
  override get message(): string {
    return `the configuration of reminders: ${this.problem}`
  }
}

const positive = Schema.Int.pipe(Schema.between(1, Number.MAX_SAFE_INTEGER))

// A timer of Node does not hold longer than 24.8 days.
const sleep = Schema.DurationFromSelf.pipe(Schema.betweenDuration("1 millis", "24 days"))

const Settings = Schema.Struct({
  delivery: DeliveryMode,
  minEveryIntervalSeconds: positive,
  maxActive: positive,
  maxPromptLength: positive,
  maxTitleLength: positive,
  maxOverduePerTurn: positive,
  onTimeGrace: Schema.DurationFromSelf,
  maxMessageLength: positive,
  maxSleep: sleep,
  retryAfter: sleep
})

const defaults: ScheduleSettings = {
  delivery: "session-local",
  minEveryIntervalSeconds: defaultMinEveryIntervalSeconds,
  maxActive: 1000,
  maxPromptLength: 10_000,
  maxTitleLength: 120,
  maxOverduePerTurn: 20,
  onTimeGrace: Duration.minutes(1),
  maxMessageLength: 200_000,
  maxSleep: Duration.minutes(1),
  retryAfter: Duration.seconds(30)
}

const validate = Schema.validateEither(Settings, { onExcessProperty: "error" })

/**
 * The defaults, with what differs.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<ScheduleSettings>): Layer.Layer<ScheduleConfig, InvalidScheduleConfig> =>
  Layer.effect(
    ScheduleConfig,
    Effect.suspend(() =>
      Either.mapLeft(
        validate({ ...defaults, ...options }),
        (error) => new InvalidScheduleConfig({ problem: ParseResult.TreeFormatter.formatErrorSync(error) })
      )
    )
  )
