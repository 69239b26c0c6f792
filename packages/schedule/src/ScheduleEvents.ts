/**
 * The event that reminders write into their session.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Instant } from "@afterturn/session-log/Instant"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"
import { ReminderId, ReminderRecord } from "./Reminder.js"

const operation = <const Name extends string, Fields extends Schema.Struct.Fields>(name: Name, fields: Fields) =>
  Schema.Struct({ version: Schema.Literal(1), operation: Schema.Literal(name), ...fields })

const byId = { id: ReminderId }

/**
 * One change of a session's reminders.
 *
 * - `create`: the whole record
 * - `update`: the whole record after it
 * - `delete`, `pause`: the id
 * - `dispatch`: an occurrence was handed to the inbox; `missed` earlier ones are left out for it, `acceptedAt` is when that was decided.
 *   `scheduledAt` is the next occurrence, so that replay asks no zone; without it the reminder is over, or the rule says what is next
 * - `resume`: the id and the occurrence that it waits for from now on
 * - `run-now`: a message was handed to the inbox beside the rule
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleChangeData = Schema.Union(
  operation("create", { record: ReminderRecord }),
  operation("update", { record: ReminderRecord }),
  operation("delete", byId),
  operation("dispatch", {
    ...byId,
    occurrenceAt: Instant,
    acceptedAt: Instant,
    missed: Count,
    scheduledAt: Schema.optionalWith(Instant, { exact: true })
  }),
  operation("pause", byId),
  operation("resume", { ...byId, scheduledAt: Instant }),
  operation("run-now", byId)
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type ScheduleChangeData = typeof ScheduleChangeData.Type

/**
 * A stored one that cannot be read does not stop the others: the fold leaves out what it concerns.
 *
 * @since 0.1.0
 * @category events
 */
export const ScheduleChange = EventTypes.make("schedule/change", ScheduleChangeData, { tolerant: true })

/**
 * Every event type of this package.
 *
 * @since 0.1.0
 * @category events
 */
export const all: ReadonlyArray<EventTypes.AnyEventType> = [ScheduleChange]
