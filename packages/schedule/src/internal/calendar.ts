/**
 * When local times come in a zone. What counts is the clock face: a label comes due at the first instant that shows it, and not at
 * all when the zone skips it. So a walk over the segments of equal offset that looks only at labels not shown before is exact.
 */
import { DAY, maxMillis } from "./civil.js"
import type { Days } from "./days.js"
import type { Times } from "./times.js"
import type { Gap, Zone } from "./zone.js"

export interface Calendar {
  readonly zone: Zone
  readonly days: Days
  readonly times: Times
}

/**
 * Labels that lie in gaps one after the other, before a rule counts as one that never comes: the second Sunday of March at midnight
 * in Havana. A weekday returns to its date within 28 years but for the turn of a century, so a rule that comes at all has come by then.
 */
const maxSkipped = 40
const maxLabel = maxMillis + DAY
const maxDay = Math.floor(maxLabel / DAY)

const labelAtOrAfter = ({ days, times }: Calendar, label: number): number => {
  const day = Math.floor(label / DAY)
  if (days.matches(day)) {
    const time = times.atOrAfter(label - day * DAY)
    if (time >= 0) return day * DAY + time
  }
  return days.atOrAfter(day + 1, maxDay) * DAY + times.first
}

const labelAtOrBefore = ({ days, times }: Calendar, label: number): number => {
  let day = Math.floor(label / DAY)
  if (days.matches(day)) {
    const time = times.atOrBefore(label - day * DAY)
    if (time >= 0) return day * DAY + time
  }
  do day--
  while (!days.matches(day))
  return day * DAY + times.last
}

/** How many labels lie from one on and before another. */
const countLabels = ({ days, times }: Calendar, from: number, until: number): number => {
  if (until <= from) return 0
  const first = Math.floor(from / DAY)
  const last = Math.floor(until / DAY)
  let count = 0
  for (let day = first; day <= last; day++) if (days.matches(day)) count += times.size
  if (days.matches(first)) count -= times.before(from - first * DAY)
  if (days.matches(last)) count -= times.size - times.before(until - last * DAY)
  return count
}

/** What the search for an occurrence passed over on its way. */
export interface Passed {
  readonly skipped: (label: number, gap: Gap) => void
}

/** Why there is no next occurrence: the years of four digits are over, or clocks skip each of its times. */
export type Ended = "out of range" | "never"

/** The first occurrence after an instant. */
export const nextAfter = (calendar: Calendar, after: number, passed?: Passed): number | Ended => {
  const { zone } = calendar
  const segment = zone.segmentAt(after + 1)
  let label = labelAtOrAfter(calendar, zone.unseen(after + 1))
  const direct = label - segment.offset
  // Most often no change lies between.
  if (direct < segment.until) return direct <= maxMillis ? direct : "out of range"
  for (let skipped = 0; skipped < maxSkipped; ) {
    if (label > maxLabel) return "out of range"
    const resolved = zone.resolve(label)
    if (resolved.kind === "known") {
      if (resolved.at > maxMillis) return "out of range"
      if (resolved.at > after) return resolved.at
      label = labelAtOrAfter(calendar, label + 1)
    } else {
      skipped++
      passed?.skipped(label, resolved.gap)
      label = labelAtOrAfter(calendar, resolved.gap.end)
    }
  }
  return "never"
}

/** How many occurrences lie after one instant and not after another, and the last of them. */
export const occurrencesIn = (
  calendar: Calendar,
  after: number,
  through: number
): { readonly count: number; readonly last: number | undefined } => {
  const { zone } = calendar
  let count = 0
  let last: number | undefined
  let unseen = zone.unseen(after + 1)
  for (let segment = zone.segmentAt(after + 1); segment.from <= through; segment = zone.segmentAt(segment.until)) {
    const from = Math.max(unseen, segment.from + segment.offset)
    const until = Math.min(segment.until, through + 1) + segment.offset
    const here = countLabels(calendar, from, until)
    if (here > 0) last = labelAtOrBefore(calendar, until - 1) - segment.offset
    count += here
    unseen = Math.max(unseen, segment.until + segment.offset)
  }
  return { count, last }
}
