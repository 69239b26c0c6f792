/**
 * When a reminder comes due: the six rules, in the words of the tools. One shape everywhere: what a model sends, what the log keeps
 * and what the command line takes are the same JSON, an object with exactly one of the six keys.
 *
 * What a Schema here accepts has the shape of a rule; `RuleInput.parse` decides whether it is one.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const timeZone = Schema.String.annotations({
  description: "UTC or an IANA name with a slash, for example Asia/Shanghai."
})

const time = (example: string) =>
  Schema.String.annotations({ description: `HH:mm:ss with optional 1-3 fractional digits, for example ${example}.` })

/**
 * Once, so many seconds after it was made.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AfterRule = Schema.Struct({
  after_seconds: Schema.Number.annotations({ description: "Delay in whole seconds." })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type AfterRule = typeof AfterRule.Type

/**
 * Once, at an instant with an offset, or at a local date and time of a zone.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AtRule = Schema.Struct({
  at: Schema.Union(
    Schema.String.annotations({ description: "An RFC 3339 date-time with Z or an offset." }),
    Schema.Struct({
      date: Schema.String.annotations({ description: "YYYY-MM-DD." }),
      time: time("09:00:00"),
      time_zone: timeZone
    }).annotations({ description: "A local date and time of a zone." })
  ).annotations({
    description: "Absolute target: an RFC 3339 date-time with offset, or a local date, time and time_zone."
  })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type AtRule = typeof AtRule.Type

/**
 * Again and again at a fixed rate of elapsed time, counted from when it was made.
 *
 * @since 0.1.0
 * @category schemas
 */
export const EveryRule = Schema.Struct({
  every_seconds: Schema.Number.annotations({
    description:
      "Fixed-rate interval in whole seconds, counted from the creation; changing it with schedule_update counts from the save. " +
      "The rhythm for elapsed time: clock changes do not touch it."
  })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type EveryRule = typeof EveryRule.Type

/**
 * Every day at a local time.
 *
 * @since 0.1.0
 * @category schemas
 */
export const DailyRule = Schema.Struct({
  daily: Schema.Struct({ time: time("23:00:00"), time_zone: timeZone }).annotations({
    description: "Every day at a local time."
  })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type DailyRule = typeof DailyRule.Type

/**
 * On weekdays, Monday 1 to Sunday 7, at a local time.
 *
 * @since 0.1.0
 * @category schemas
 */
export const WeeklyRule = Schema.Struct({
  weekly: Schema.Struct({
    time: time("09:00:00"),
    time_zone: timeZone,
    weekdays: Schema.Array(Schema.Int.annotations({ description: "1 for Monday to 7 for Sunday." })).annotations({
      description: "ISO weekdays, Monday 1 to Sunday 7, without repetitions."
    })
  }).annotations({ description: "On the given weekdays at a local time." })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type WeeklyRule = typeof WeeklyRule.Type

/**
 * By a five-field cron expression over the clock face of a zone.
 *
 * @since 0.1.0
 * @category schemas
 */
export const CronRule = Schema.Struct({
  cron: Schema.Struct({
    expression: Schema.String.annotations({
      description:
        'minute hour day-of-month month day-of-week, for example "*/15 9-17 * * 1-5". When both day fields are restricted, a ' +
        "date matches if either one matches. Each local time comes once: where clocks go back, hourly ones pause for an hour " +
        "(take every_seconds for an elapsed rhythm)."
    }),
    time_zone: timeZone
  }).annotations({ description: "Five-field Vixie cron expression in a time zone." })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type CronRule = typeof CronRule.Type

/**
 * A rule, as the log keeps it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReminderRule = Schema.Union(AfterRule, AtRule, EveryRule, DailyRule, WeeklyRule, CronRule).annotations({
  identifier: "ReminderRule"
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ReminderRule = typeof ReminderRule.Type

/**
 * The keys of the six rules, in the order in which messages name them.
 *
 * @since 0.1.0
 * @category schemas
 */
export const selectors = ["after_seconds", "at", "every_seconds", "daily", "weekly", "cron"] as const

/**
 * @since 0.1.0
 * @category schemas
 */
export type Selector = (typeof selectors)[number]

/**
 * Which of the six a rule is.
 *
 * @since 0.1.0
 * @category accessors
 */
export const selectorOf = (rule: ReminderRule): Selector => {
  for (const selector of selectors) if (selector in rule) return selector
  return "at"
}

/**
 * Whether a rule has one occurrence only.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isOnce = (rule: ReminderRule): rule is AfterRule | AtRule => "after_seconds" in rule || "at" in rule

/**
 * The zone that a rule names, if it names one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const timeZoneOf = (rule: ReminderRule): string | undefined => {
  if ("daily" in rule) return rule.daily.time_zone
  if ("weekly" in rule) return rule.weekly.time_zone
  if ("cron" in rule) return rule.cron.time_zone
  return "at" in rule && typeof rule.at !== "string" ? rule.at.time_zone : undefined
}
