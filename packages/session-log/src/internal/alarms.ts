import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { format, toMillis } from "../Instant.js"
import type { Alarm, AlarmChange, SessionAlarms } from "../SessionAlarms.js"
import type { SessionStore, StoredAlarm, StoredAlarmChange } from "../SessionStore.js"
import { withNow } from "./now.js"

const pattern = /^[a-z0-9-]{1,64}$/

/** As the store takes them. What is no key or no instant is a defect of the caller's. */
export const storedChanges = (changes: ReadonlyArray<AlarmChange>): ReadonlyArray<StoredAlarmChange> =>
  changes.map(({ dueAt, key }) => {
    if (!pattern.test(key)) throw new Error(`expected an alarm's key like "reminders", got ${JSON.stringify(key)}`)
    return { key, dueAt: dueAt === null ? null : millisOf(dueAt) }
  })

const millisOf = (instant: string): number => {
  const millis = toMillis(instant)
  if (Number.isNaN(millis)) throw new Error(`expected an alarm's instant, got ${JSON.stringify(instant)}`)
  return millis
}

const alarmOf = ({ dueAt, key, sessionId }: StoredAlarm): Alarm => ({ sessionId, key, dueAt: format(dueAt) })

export const make = (store: (typeof SessionStore)["Service"]): (typeof SessionAlarms)["Service"] => ({
  due: ({ after, limit, until }) =>
    withNow((now) =>
      Effect.map(
        store.dueAlarms({
          until: millisOf(until),
          now,
          limit,
          after: after && { ...after, dueAt: millisOf(after.dueAt) }
        }),
        (rows) => rows.map(alarmOf)
      )
    ),
  next: (after) =>
    Effect.map(
      Effect.suspend(() => store.nextAlarm(millisOf(after))),
      Option.map(format)
    ),
  of: (id) => Effect.map(store.alarms(id), (rows) => rows.map(alarmOf))
})

/** What orders alarms: when they are due, then session and key, character by character. */
const isBefore = (a: StoredAlarm, b: StoredAlarm): boolean => {
  if (a.dueAt !== b.dueAt) return a.dueAt < b.dueAt
  return a.sessionId !== b.sessionId ? a.sessionId < b.sessionId : a.key < b.key
}

/** Alarms in memory, in order. */
export class OrderedAlarms {
  private readonly entries: Array<StoredAlarm> = []

  add(alarm: StoredAlarm): void {
    this.entries.splice(
      this.rank((entry) => isBefore(entry, alarm)),
      0,
      alarm
    )
  }

  remove(alarm: StoredAlarm): void {
    this.entries.splice(
      this.rank((entry) => isBefore(entry, alarm)),
      1
    )
  }

  /** From the first strictly after an instant or an alarm. */
  *from(after: StoredAlarm | number): Generator<StoredAlarm> {
    const isPast =
      typeof after === "number"
        ? (entry: StoredAlarm) => entry.dueAt <= after
        : (entry: StoredAlarm) => !isBefore(after, entry)
    for (let index = this.rank(isPast); index < this.entries.length; index++) yield this.entries[index]!
  }

  /** How many entries come before the first for which `isPast` does not hold. */
  private rank(isPast: (entry: StoredAlarm) => boolean): number {
    let low = 0
    let high = this.entries.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isPast(this.entries[middle]!)) low = middle + 1
      else high = middle
    }
    return low
  }
}
