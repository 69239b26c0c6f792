import type { Instant } from "@afterturn/session-log/Instant"
import { format, toMillis } from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import { isOnce, timeZoneOf } from "../ReminderRule.js"
import * as RulePreview from "../RulePreview.js"
import * as RuleText from "../RuleText.js"
import type { ReminderView } from "../Schedule.js"
import type { DeliveryMode } from "../ScheduleConfig.js"
import type { Reminder } from "../ScheduleLog.js"

const shownOccurrences = 3

/** A reminder as it is shown. */
export const viewOf = (
  reminder: Reminder,
  options: { readonly now: Instant; readonly delivery: DeliveryMode; readonly waitsFor: string | undefined }
): ReminderView => {
  const { paused, ...record } = reminder
  const isDue = toMillis(reminder.scheduledAt) <= toMillis(options.now)
  const state = paused ? "paused" : isDue ? "overdue" : "scheduled"
  const zone = timeZoneOf(reminder.rule)
  const local = zone === undefined ? undefined : RulePreview.localText(reminder.scheduledAt, zone)
  const upcoming = upcomingOf(reminder, options.now)
  const waitsFor = paused ? "it is paused" : isDue ? options.waitsFor : undefined
  return {
    ...record,
    words: RuleText.describe(reminder.rule),
    state,
    delivery: options.delivery,
    ...(local === undefined ? {} : { localTime: local }),
    upcoming: Either.getOrElse(upcoming, () => []),
    ...(waitsFor === undefined ? {} : { waitsFor }),
    ...(Either.isLeft(upcoming) ? { problem: upcoming.left.message } : {})
  }
}

/** Those that are still to come: of a paused one as if it were resumed now. */
const upcomingOf = (reminder: Reminder, now: Instant) => {
  const scheduled = toMillis(reminder.scheduledAt)
  const from = isOnce(reminder.rule) && !reminder.paused ? scheduled - 1 : Math.max(scheduled - 1, toMillis(now))
  return RulePreview.preview(reminder.rule, {
    from: format(from),
    count: shownOccurrences,
    anchor: reminder.scheduledAt
  })
}
