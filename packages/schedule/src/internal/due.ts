import type { Instant } from "@afterturn/session-log/Instant"
import { toMillis } from "@afterturn/session-log/Instant"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { InvalidRule } from "../InvalidRule.js"
import * as Occurrences from "../Occurrences.js"
import type { Occurrence } from "../ReminderMessage.js"
import { isOnce } from "../ReminderRule.js"
import type { ScheduleSettings } from "../ScheduleConfig.js"
import type { ScheduleChangeData } from "../ScheduleEvents.js"
import type { Reminder, ScheduleState } from "../ScheduleLog.js"
import { soonest } from "../ScheduleLog.js"

/** Reminders whose rule this process cannot evaluate, as they were then: they wait until somebody changes them. */
export type Broken = Map<string, Reminder>

/** The first that waits for an instant and can be delivered. */
export const firstTarget = (state: ScheduleState, broken: Broken): number | undefined => {
  for (const reminder of soonest(state)) if (broken.get(reminder.id) !== reminder) return toMillis(reminder.scheduledAt)
  return undefined
}

/**
 * What goes into the next message, none when nothing is due. Reminders that come once go first, each by itself while it is on time,
 * in batches once it is late; those that come again share what follows.
 */
export const nextGroup = (
  state: ScheduleState,
  now: Instant,
  settings: ScheduleSettings,
  broken: Broken
): ReadonlyArray<Reminder> => {
  const onTimeFrom = toMillis(now) - Duration.toMillis(settings.onTimeGrace)
  const late: Array<Reminder> = []
  const again: Array<Reminder> = []
  for (const reminder of soonest(state)) {
    const at = toMillis(reminder.scheduledAt)
    if (at > toMillis(now)) break
    if (broken.get(reminder.id) === reminder) continue
    if (!isOnce(reminder.rule)) again.push(reminder)
    else if (at < onTimeFrom) late.push(reminder)
    else if (late.length === 0) return [reminder]
    if (late.length === settings.maxOverduePerTurn) break
  }
  return fitting(late.length > 0 ? late : again, settings.maxMessageLength)
}

/** As many as there is room for, one at least. */
const fitting = (reminders: ReadonlyArray<Reminder>, room: number): ReadonlyArray<Reminder> => {
  let length = 0
  for (const [index, { prompt, title }] of reminders.entries()) {
    length += prompt.length + title.length
    if (index > 0 && length > room) return reminders.slice(0, index)
  }
  return reminders
}

export interface Dispatch {
  readonly occurrence: Occurrence
  readonly change: Extract<ScheduleChangeData, { readonly operation: "dispatch" }>
}

/** The latest occurrence of a due reminder, and what the log is told of it. */
export const dispatchOf = (reminder: Reminder, now: Instant): Either.Either<Dispatch, InvalidRule> =>
  Either.gen(function* () {
    const { id, rule, scheduledAt } = reminder
    const due = Option.getOrElse(yield* Occurrences.latestDue(rule, { scheduledAt, now }), () => ({
      occurrenceAt: scheduledAt,
      missed: 0
    }))
    const next = Option.getOrUndefined(yield* Occurrences.next(rule, { after: now, anchor: scheduledAt }))
    return {
      occurrence: { reminder, ...due },
      change: {
        version: 1,
        operation: "dispatch",
        id,
        ...due,
        acceptedAt: now,
        ...(next === undefined ? {} : { scheduledAt: next })
      }
    }
  })
