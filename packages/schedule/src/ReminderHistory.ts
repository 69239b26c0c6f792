/**
 * What the log says of a reminder: why it fired, or why it did not.
 *
 * @since 0.1.0
 */
import type { Instant } from "@afterturn/session-log/Instant"
import type { ReminderId, ReminderRecord } from "./Reminder.js"
import type { ReminderView } from "./Schedule.js"

/**
 * An occurrence that was handed to the inbox.
 *
 * - `decidedAt`, `lateBySeconds`: when that was, and how long after it was due
 * - `missed`: earlier occurrences that it stands for
 * - `byHand`: somebody asked for it
 * - `turns`: the turns that it opened or joined, the last of which carried it to the model; several where one failed
 * - `outcome`: `delivered` to the model; `waiting` in the inbox; `coalesced` into a later occurrence that came before it was read
 *
 * @since 0.1.0
 * @category models
 */
export interface DeliveredOccurrence {
  readonly occurrenceAt: Instant
  readonly decidedAt: Instant
  readonly lateBySeconds: number
  readonly missed: number
  readonly byHand: boolean
  readonly turns: ReadonlyArray<number>
  readonly deliveredAt: Instant | undefined
  readonly outcome: "delivered" | "waiting" | "coalesced"
}

/**
 * Something that was done to a reminder.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReminderEvent {
  readonly seq: number
  readonly time: Instant
  readonly operation: "create" | "update" | "delete" | "pause" | "resume"
  /** As it was after a `create` or `update`. */
  readonly record: ReminderRecord | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReminderHistory {
  readonly id: ReminderId
  readonly changes: ReadonlyArray<ReminderEvent>
  readonly occurrences: ReadonlyArray<DeliveredOccurrence>
  /** As it is now; absent for one that is over or deleted. */
  readonly now: ReminderView | undefined
}
