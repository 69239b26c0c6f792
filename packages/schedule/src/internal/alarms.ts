import type { Instant } from "@afterturn/session-log/Instant"
import type { AlarmChange } from "@afterturn/session-log/SessionAlarms"
import type { ScheduleState } from "../ScheduleLog.js"
import { earliest } from "../ScheduleLog.js"

/** When the earliest reminder comes due. */
export const dueKey = "reminders"

/** Set while a reminder's message waits for a turn: a session that goes cold then needs a host for it. */
export const inboxKey = "reminders-inbox"

export const dueAlarm = (state: ScheduleState): AlarmChange => ({ key: dueKey, dueAt: earliest(state) ?? null })

/** Nothing, where the change moves no alarm. */
export const movedAlarms = (before: ScheduleState, after: ScheduleState): ReadonlyArray<AlarmChange> =>
  earliest(before) === earliest(after) ? [] : [dueAlarm(after)]

export const inboxAlarm = (dueAt: Instant | null): AlarmChange => ({ key: inboxKey, dueAt })
