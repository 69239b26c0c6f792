/** Rules as they are sent, and what becomes of them, in few words. */

import type { InvalidRule } from "@afterturn/schedule/InvalidRule"
import * as Occurrences from "@afterturn/schedule/Occurrences"
import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import * as Instant from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import * as Option from "effect/Option"

/** `2026-03-07T12:00Z` and `2026-03-07` are short for instants in tests. */
export const instant = (text: string): Instant.Instant => Instant.format(Date.parse(text))

export const cron = (expression: string, time_zone = "UTC") => ({ cron: { expression, time_zone } })

export const daily = (time: string, time_zone = "UTC") => ({ daily: { time, time_zone } })

export const weekly = (weekdays: ReadonlyArray<number>, time: string, time_zone = "UTC") => ({
  weekly: { time, time_zone, weekdays }
})

export const parsed = (input: unknown, now: string, minEveryIntervalSeconds = 60): RuleInput.Parsed =>
  Either.getOrThrowWith(
    RuleInput.parse(input, { now: instant(now), minEveryIntervalSeconds }),
    (error) => new Error(`${error.code} ${error.message}`)
  )

export const refused = (input: unknown, now = "2026-09-22", minEveryIntervalSeconds = 60): InvalidRule =>
  Either.getOrThrow(Either.flip(RuleInput.parse(input, { now: instant(now), minEveryIntervalSeconds })))

export const next = (rule: ReminderRule, after: string, anchor = after): string | undefined =>
  Option.getOrUndefined(Either.getOrThrow(Occurrences.next(rule, { after: instant(after), anchor: instant(anchor) })))

/** The first so many occurrences of a rule after an instant, without what is always the same: `2026-03-09T06:30Z`. */
export const following = (input: unknown, from: string, count: number): ReadonlyArray<string> => {
  const { rule, scheduledAt } = parsed(input, from)
  const found = [scheduledAt]
  while (found.length < count) {
    const after = found.at(-1) ?? ""
    const at = next(rule, after, scheduledAt)
    if (at === undefined) break
    found.push(at)
  }
  return found.map((at) => at.replace(/(:00)?\.000Z$/, "Z"))
}
