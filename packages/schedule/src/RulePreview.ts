/**
 * Shows the coming occurrences of a rule, with what a zone's clock changes do to them.
 *
 * @since 0.1.0
 */
import * as Instant from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import type { InvalidRule } from "./InvalidRule.js"
import { labelText, offsetText } from "./internal/civil.js"
import { compile } from "./internal/compile.js"
import { follow } from "./internal/follow.js"
import type { Gap, Zone } from "./internal/zone.js"
import { zoneOf } from "./internal/zone.js"
import type { ReminderRule } from "./ReminderRule.js"
import { timeZoneOf } from "./ReminderRule.js"

/**
 * A coming occurrence.
 *
 * @since 0.1.0
 * @category models
 */
export interface Previewed {
  readonly at: Instant.Instant
  /** The local time in the rule's zone with its offset, `YYYY-MM-DDTHH:mm:ss±HH:mm`; in UTC for a rule that names no zone. */
  readonly local: string
  /** Present where a change of the zone's clocks skipped local times before it, or makes its own local time come twice. */
  readonly note?: string
}

/**
 * The first occurrences after `from`, at most `count`. `anchor` is an occurrence of the rule, as for `Occurrences.next`.
 *
 * @since 0.1.0
 * @category occurrences
 */
export const preview = (
  rule: ReminderRule,
  options: { readonly from: Instant.Instant; readonly count: number; readonly anchor: Instant.Instant }
): Either.Either<ReadonlyArray<Previewed>, InvalidRule> =>
  Either.map(compile(rule), (compiled) => {
    const name = timeZoneOf(rule)
    const zone = zoneOf(name ?? "UTC")
    const anchor = Instant.toMillis(options.anchor)
    const found: Array<Previewed> = []
    let after = Instant.toMillis(options.from)
    while (found.length < options.count) {
      const skips: Array<Skip> = []
      const at = follow(compiled, after, anchor, { skipped: (label, gap) => skips.push({ label, gap }) })
      if (at === undefined || zone === undefined) break
      found.push(previewed(at, zone, skips))
      after = at
    }
    return found
  })

interface Skip {
  readonly label: number
  readonly gap: Gap
}

const previewed = (at: number, zone: Zone, skips: ReadonlyArray<Skip>): Previewed => {
  const notes = [...skips.map(skipNote), ...repeatNotes(at, zone)]
  return {
    at: Instant.format(at),
    local: local(at, zone),
    ...(notes.length === 0 ? {} : { note: notes.join("; ") })
  }
}

const skipNote = ({ gap, label }: Skip): string =>
  `${labelText(label)} before it is skipped: clocks go from ${labelText(gap.start)} to ${labelText(gap.end)}`

const repeatNotes = (at: number, zone: Zone): ReadonlyArray<string> => {
  const resolved = zone.resolve(at + zone.offsetAt(at))
  const again = resolved.kind === "known" ? resolved.again : undefined
  return again === undefined
    ? []
    : [`clocks go back and show this local time again at ${Instant.format(again)}: it comes once, the first time`]
}

const local = (at: number, zone: Zone): string => {
  const offset = zone.offsetAt(at)
  return `${labelText(at + offset)}${offsetText(offset)}`
}

/**
 * An instant as local time with its offset, `YYYY-MM-DDTHH:mm:ss±HH:mm`; `undefined` for a zone that the runtime does not know.
 *
 * @since 0.1.0
 * @category conversions
 */
export const localText = (at: Instant.Instant, timeZone: string): string | undefined => {
  const zone = zoneOf(timeZone)
  return zone === undefined ? undefined : local(Instant.toMillis(at), zone)
}
