/**
 * A reminder as the log keeps it.
 *
 * @since 0.1.0
 */
import { Instant } from "@afterturn/session-log/Instant"
import * as Schema from "effect/Schema"
import { ReminderRule } from "./ReminderRule.js"

/**
 * `schedule-N`, counted from 1 and never used twice in a session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReminderId = Schema.String.pipe(
  Schema.pattern(/^schedule-[1-9]\d{0,14}$/, {
    identifier: "ReminderId",
    message: (issue) => `expected an id like schedule-1, got ${JSON.stringify(issue.actual)}`
  }),
  Schema.brand("ReminderId")
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type ReminderId = typeof ReminderId.Type

/**
 * The id of a session's N-th reminder.
 *
 * @since 0.1.0
 * @category conversions
 */
export const idOf = (number: number): ReminderId => `schedule-${number}` as ReminderId

/**
 * The number in an id.
 *
 * @since 0.1.0
 * @category conversions
 */
export const numberOf = (id: ReminderId): number => Number(id.slice("schedule-".length))

/**
 * A reminder, whole: what it says, when it comes, and `scheduledAt`, the occurrence that it waits for. For a fixed rate that is also
 * what later occurrences are counted from.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReminderRecord = Schema.Struct({
  id: ReminderId,
  title: Schema.NonEmptyString,
  prompt: Schema.NonEmptyString,
  rule: ReminderRule,
  createdAt: Instant,
  scheduledAt: Instant
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ReminderRecord = typeof ReminderRecord.Type
