/**
 * A second opinion on when calendar rules come due: slow, and plain enough to be read. It takes every date, every time of day of the
 * rule, and asks another implementation of time zones for the first instant that has this local time. Nothing is taken from the
 * packages but what is compared.
 */
import * as Occurrences from "@afterturn/schedule/Occurrences"
import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import * as TimeZone from "@afterturn/schedule/TimeZone"
import * as Instant from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { Temporal } from "temporal-polyfill"

type Zoned = Temporal.ZonedDateTime

/** A rule and, in the oracle's own terms, the days and times that it means. */
interface Meant {
  readonly rule: ReminderRule
  readonly times: ReadonlyArray<Temporal.PlainTime>
  readonly on: (date: Temporal.PlainDate) => boolean
}

const at = (zone: string, millis: number): Zoned =>
  Temporal.Instant.fromEpochMilliseconds(millis).toZonedDateTimeISO(zone)

/** The next change of a zone's offset after an instant; `undefined` when there is none. */
export const nextChange = (zone: string, millis: number): number | undefined =>
  at(zone, millis).getTimeZoneTransition("next")?.epochMilliseconds

/** The first instant at which clocks in a zone show a date and time; `undefined` when they never do. */
const firstInstant = (zone: string, local: Temporal.PlainDateTime): number | undefined => {
  const earlier = local.toZonedDateTime(zone, { disambiguation: "earlier" })
  return earlier.toPlainDateTime().equals(local) ? earlier.epochMilliseconds : undefined
}

const occurrences = (zone: string, { on, times }: Meant, dates: ReadonlyArray<Temporal.PlainDate>): Array<number> =>
  dates
    .filter(on)
    .flatMap((date) => times.map((time) => firstInstant(zone, date.toPlainDateTime(time))))
    .filter((instant) => instant !== undefined)
    .sort((a, b) => a - b)

/** The dates around a change, from the day before the earlier one to the day after the later one. */
const datesAround = (zone: string, change: number): ReadonlyArray<Temporal.PlainDate> => {
  const local = [at(zone, change - 1).toPlainDate(), at(zone, change).toPlainDate()].sort(Temporal.PlainDate.compare)
  const [first, last] = local as [Temporal.PlainDate, Temporal.PlainDate]
  const count = first.until(last).days + 3
  return Array.from({ length: count }, (_, index) => first.add({ days: index - 1 }))
}

const everyDate = () => true

/** Rules whose times lie where a change is felt, and one on its weekday and one on its date. */
const rulesAt = (zone: string, change: number): ReadonlyArray<Meant> => {
  // What clocks would have shown without the change, and what they show.
  const faces = [
    at(zone, change - 1)
      .toPlainDateTime()
      .add({ milliseconds: 1 }),
    at(zone, change).toPlainDateTime()
  ]
  const [left, right] = faces as [Temporal.PlainDateTime, Temporal.PlainDateTime]
  const middle = left.add({ milliseconds: Math.trunc(left.until(right).total("milliseconds") / 2) })
  const hours = [...new Set(faces.flatMap(({ hour }) => [(hour + 23) % 24, hour, (hour + 1) % 24]))].sort(
    (a, b) => a - b
  )
  const minutes = [...new Set([0, 1, 15, 30, 45, 59, ...faces.map(({ minute }) => minute)])].sort((a, b) => a - b)
  const grid = hours.flatMap((hour) => minutes.map((minute) => new Temporal.PlainTime(hour, minute)))
  const { day, dayOfWeek, month } = right
  const cron = (days: string, on: Meant["on"]): Meant => ({
    rule: { cron: { expression: `${minutes.join(",")} ${hours.join(",")} ${days}`, time_zone: zone } },
    times: grid,
    on
  })
  const daily = (time: Temporal.PlainTime): Meant => ({
    rule: { daily: { time: time.toString({ smallestUnit: "millisecond" }), time_zone: zone } },
    times: [time],
    on: everyDate
  })
  const weekly: Meant = {
    rule: {
      weekly: {
        time: middle.toPlainTime().toString({ smallestUnit: "millisecond" }),
        time_zone: zone,
        weekdays: [dayOfWeek]
      }
    },
    times: [middle.toPlainTime()],
    on: (date) => date.dayOfWeek === dayOfWeek
  }
  return [
    cron("* * *", everyDate),
    cron(
      `${day} ${month} ${dayOfWeek % 7}`,
      (date) => date.month === month && (date.day === day || date.dayOfWeek === dayOfWeek)
    ),
    ...[left, middle, right, right.subtract({ milliseconds: 1 })].map((face) => daily(face.toPlainTime())),
    weekly
  ]
}

const next = (rule: ReminderRule, after: number): number => {
  const instant = Instant.format(after)
  const found = Either.getOrThrow(Occurrences.next(rule, { after: instant, anchor: instant }))
  return Option.match(found, { onNone: () => Number.NaN, onSome: Instant.toMillis })
}

const due = (rule: ReminderRule, scheduled: number, now: number) => {
  const options = { scheduledAt: Instant.format(scheduled), now: Instant.format(now) }
  const { missed, occurrenceAt } = Option.getOrThrow(Either.getOrThrow(Occurrences.latestDue(rule, options)))
  return `${occurrenceAt} after ${missed}`
}

/** Where the packages and the oracle disagree about a rule; empty when nowhere. */
const differences = (
  meant: Meant,
  expected: ReadonlyArray<number>,
  probes: ReadonlyArray<number>
): ReadonlyArray<string> => {
  const found: Array<string> = []
  const rule = JSON.stringify(meant.rule)
  const [first, last] = [expected[0], expected.at(-1)]
  if (first === undefined || last === undefined) return []
  for (const after of [first - 1, ...expected, ...probes.filter((probe) => probe >= first - 1)]) {
    const following = expected.find((instant) => instant > after)
    if (following === undefined) continue
    const said = next(meant.rule, after)
    if (said !== following) {
      found.push(`${rule} after ${Instant.format(after)}: ${said}, expected ${Instant.format(following)}`)
    }
  }
  for (const now of [...expected, ...probes]) {
    if (now < first || now > last) continue
    const until = expected.filter((instant) => instant <= now)
    const said = due(meant.rule, first, now)
    const right = `${Instant.format(until.at(-1) ?? first)} after ${until.length - 1}`
    if (said !== right) found.push(`${rule} due at ${Instant.format(now)}: ${said}, expected ${right}`)
  }
  return found
}

/** What was compared around one change, and what was wrong. */
export interface Compared {
  readonly instants: number
  readonly wrong: ReadonlyArray<string>
}

/** Compares offsets, rules and what is due on the days around a change of a zone's offset. */
export const compareAround = (zone: string, change: number): Compared => {
  const dates = datesAround(zone, change)
  const minute = 60_000
  const probes = [-90.5, -30.5, 0, 10.5, 45.5, 100.5].flatMap((minutes) => [
    change + minutes * minute - 1,
    change + minutes * minute
  ])
  const wrong: Array<string> = []
  for (const probe of probes) {
    const said = TimeZone.offsetAt(zone, probe)
    const right = at(zone, probe).offsetNanoseconds / 1_000_000
    if (said !== right) wrong.push(`offset of ${zone} at ${Instant.format(probe)}: ${said}, expected ${right}`)
  }
  let instants = 0
  for (const meant of rulesAt(zone, change)) {
    const expected = occurrences(zone, meant, dates)
    instants += expected.length
    wrong.push(...differences(meant, expected, probes))
  }
  return { instants, wrong }
}
