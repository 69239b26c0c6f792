/**
 * What the service of reminders refuses.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * - `invalid_prompt`: empty, or too long
 * - `invalid_title`: empty, or too long
 * - `invalid_selector`: an id that has not the form of one
 * - `invalid_rule`: nothing to change, a new delay for a reminder that is there, or one that cannot go on
 * - `too_many_reminders`: the session has as many as it may
 * - `schedule_not_found`: no such reminder that is not over
 * - `corrupt_schedule_log`: the session's log holds changes of reminders that cannot be; nothing is written on top of them
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleErrorCode = Schema.Literal(
  "invalid_prompt",
  "invalid_title",
  "invalid_selector",
  "invalid_rule",
  "not_future",
  "too_many_reminders",
  "schedule_not_found",
  "corrupt_schedule_log"
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type ScheduleErrorCode = typeof ScheduleErrorCode.Type

/**
 * A request that was refused; nothing was stored.
 *
 * @since 0.1.0
 * @category errors
 */
export class ScheduleError extends Schema.TaggedError<ScheduleError>("@afterturn/schedule/ScheduleError")(
  "ScheduleError",
  { code: ScheduleErrorCode, message: Schema.String }
) {}
