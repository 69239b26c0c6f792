/**
 * When a rule comes due. Functions over values: the time is always given, and nothing but the runtime's time zone data is consulted.
 *
 * A calendar rule (`daily`, `weekly`, `cron`) follows the clock face of its zone: each local time comes once, at the first instant
 * that shows it; one that the zone skips does not come that day.
 *
 * @since 0.1.0
 */
import * as Instant from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { InvalidRule } from "./InvalidRule.js"
import { occurrencesIn } from "./internal/calendar.js"
import type { Compiled } from "./internal/compile.js"
import { compile } from "./internal/compile.js"
import { follow } from "./internal/follow.js"
import type { ReminderRule } from "./ReminderRule.js"

/**
 * The first occurrence that is strictly after an instant. `anchor` is an occurrence of the rule, by which a fixed rate is aligned and
 * before which there is none; of a rule that comes once it is the only one. Calendar rules don't look at it.
 *
 * `None` when none comes: a rule that comes once is over, or the years with four digits are.
 *
 * @since 0.1.0
 * @category occurrences
 */
export const next = (
  rule: ReminderRule,
  options: { readonly after: Instant.Instant; readonly anchor: Instant.Instant }
): Either.Either<Option.Option<Instant.Instant>, InvalidRule> =>
  Either.map(compile(rule), (compiled) => {
    const found = follow(compiled, Instant.toMillis(options.after), Instant.toMillis(options.anchor))
    return found === undefined ? Option.none() : Option.some(Instant.format(found))
  })

/**
 * The latest occurrence that is due, and how many came before it since `scheduledAt` that it stands for.
 *
 * @since 0.1.0
 * @category models
 */
export interface Due {
  readonly occurrenceAt: Instant.Instant
  readonly missed: number
}

/**
 * What is due at an instant, given the occurrence that was waited for. `None` before it. Missed occurrences are computed, however many
 * they are.
 *
 * @since 0.1.0
 * @category occurrences
 */
export const latestDue = (
  rule: ReminderRule,
  options: { readonly scheduledAt: Instant.Instant; readonly now: Instant.Instant }
): Either.Either<Option.Option<Due>, InvalidRule> =>
  Either.map(compile(rule), (compiled) => {
    const now = Instant.toMillis(options.now)
    const scheduled = Instant.toMillis(options.scheduledAt)
    if (now < scheduled) return Option.none()
    const { count, last } = since(compiled, scheduled, now)
    return Option.some({ occurrenceAt: Instant.format(last ?? scheduled), missed: count })
  })

const since = (
  compiled: Compiled,
  scheduled: number,
  now: number
): { readonly count: number; readonly last: number | undefined } => {
  if (compiled.kind === "once") return { count: 0, last: undefined }
  if (compiled.kind === "calendar") return occurrencesIn(compiled.calendar, scheduled, now)
  const count = Math.floor((now - scheduled) / compiled.interval)
  return { count, last: scheduled + count * compiled.interval }
}
