/**
 * `next` of the rules of reminders beside three libraries for cron expressions: Effect's `Cron`, croner and cron-parser. Each answers
 * from instants all over a year, and is also asked where clocks change, for only a right answer is worth its speed.
 */
import { createRequire } from "node:module"
import { join } from "node:path"
import * as Occurrences from "@afterturn/schedule/Occurrences"
import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import * as Instant from "@afterturn/session-log/Instant"
import * as Cron from "effect/Cron"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Measured } from "./support/measure.js"
import { interleave, measure, speedup } from "./support/measure.js"
import { peersPath } from "./support/peers.js"
import { quick, Report, rounds } from "./support/report.js"

/** Milliseconds to milliseconds, as each side is used; `NaN` where it finds nothing or throws. */
type Next = (after: number) => number

type Library = (expression: string, zone: string) => Next

const ours: Library = (expression, time_zone) => {
  const rule: ReminderRule = { cron: { expression, time_zone } }
  return (after) => {
    const instant = Instant.format(after)
    const found = Either.getOrThrow(Occurrences.next(rule, { after: instant, anchor: instant }))
    return Option.isSome(found) ? Instant.toMillis(found.value) : Number.NaN
  }
}

const effect: Library = (expression, zone) => {
  const cron = Cron.unsafeParse(expression, zone)
  return (after) => Cron.next(cron, new Date(after)).getTime()
}

const croner =
  (Croner: CronerClass): Library =>
  (expression, timezone) => {
    const cron = new Croner(expression, { timezone, paused: true })
    return (after) => cron.nextRun(new Date(after))?.getTime() ?? Number.NaN
  }

const cronParser =
  (parser: CronParser): Library =>
  (expression, tz) => {
    return (after) =>
      parser
        .parse(expression, { tz, currentDate: new Date(after) })
        .next()
        .getTime()
  }

type CronerClass = new (
  expression: string,
  options: { readonly timezone: string; readonly paused: boolean }
) => { readonly nextRun: (after: Date) => Date | null }

interface CronParser {
  readonly parse: (
    expression: string,
    options: { readonly tz: string; readonly currentDate: Date }
  ) => { readonly next: () => { readonly getTime: () => number } }
}

/** The libraries that are installed beside the peers. */
const installed = (report: Report): Readonly<Record<string, Library>> => {
  const load = createRequire(join(peersPath, "package.json"))
  try {
    const { Cron: Croner } = load("croner") as { readonly Cron: CronerClass }
    const { CronExpressionParser } = load("cron-parser") as { readonly CronExpressionParser: CronParser }
    return { croner: croner(Croner), "cron-parser": cronParser(CronExpressionParser) }
  } catch {
    report.note("croner and cron-parser are not installed and were left out: node bench/peers/install.mjs")
    return {}
  }
}

/** Asked, and what is right by the rule: each minute of the clock comes once, one that clocks skip does not come. */
const hard: ReadonlyArray<readonly [string, string, string, string]> = [
  ["30 2 * * *", "America/New_York", "2026-03-07T12:00:00.000Z", "2026-03-09T06:30:00.000Z"],
  ["0 2 * * *", "Europe/Copenhagen", "2026-03-28T12:00:00.000Z", "2026-03-30T00:00:00.000Z"],
  ["30 1 * * *", "America/New_York", "2026-11-01T05:30:00.000Z", "2026-11-02T06:30:00.000Z"],
  ["* * * * *", "America/New_York", "2026-11-01T06:30:15.000Z", "2026-11-01T07:00:00.000Z"],
  ["0 * * * *", "US/Pacific", "2026-11-01T08:00:00.000Z", "2026-11-01T10:00:00.000Z"],
  ["0 0 * * *", "Africa/Cairo", "2026-04-22T22:00:00.000Z", "2026-04-24T21:00:00.000Z"],
  ["0 1 4 11 *", "America/Sao_Paulo", "2018-11-04T02:00:00.000Z", "2018-11-04T03:00:00.000Z"],
  ["0 10 * * *", "Pacific/Apia", "2011-12-29T20:00:00.000Z", "2011-12-30T20:00:00.000Z"]
]

const rightAnswers = (library: Library): number =>
  hard.filter(([expression, zone, after, expected]) => {
    try {
      return library(expression, zone)(Instant.toMillis(after)) === Instant.toMillis(expected)
    } catch {
      return false
    }
  }).length

const expressions: ReadonlyArray<readonly [string, string]> = [
  ["*/15 9-17 * * 1-5", "America/New_York"],
  ["0 9 * * *", "Europe/Berlin"],
  ["0 9 * * *", "UTC"],
  ["0 0 1 1 *", "Asia/Kolkata"],
  ["0 0 29 2 *", "Australia/Sydney"]
]

const calls = quick ? 200 : 2_000
const year = 365 * 86_400_000

/** All over the year 2026, in an order that is no help to anyone. */
const instants = Array.from({ length: calls }, (_, index) => Date.UTC(2026, 0) + ((index * 7_919_000_003) % year))

const round = (next: Next): Promise<Measured> =>
  measure(calls, () => {
    for (const after of instants) next(after)
  })

const report = new Report("schedule-rules")
const libraries: Readonly<Record<string, Library>> = { afterturn: ours, effect, ...installed(report) }

for (const [name, library] of Object.entries(libraries)) {
  report.figure(`${name}: right where clocks change`, rightAnswers(library), `of ${hard.length}`)
}

for (const [expression, zone] of expressions) {
  const sides = Object.entries(libraries).map(([name, library]) => {
    const next = library(expression, zone)
    return [name, () => round(next)] as const
  })
  const found = await interleave(rounds, Object.fromEntries(sides))
  report.compare(`next, "${expression}" in ${zone}`, found, "afterturn")
  const fastest = Math.min(
    ...Object.keys(libraries)
      .filter((name) => name !== "afterturn")
      .map((name) => speedup(found.afterturn ?? [], found[name] ?? []))
  )
  report.aim(`"${expression}" in ${zone}: not slower than the fastest of the others`, fastest, (it) => it >= 1)
}

const coldYears = (): Promise<Measured> => {
  const rule: ReminderRule = { cron: { expression: "* * * * *", time_zone: "America/New_York" } }
  const options = { scheduledAt: "2026-01-01T00:00:00.000Z", now: "2036-01-01T00:00:00.000Z" }
  return measure(20, () => {
    for (let time = 0; time < 20; time++) Occurrences.latestDue(rule, options)
  })
}
const reading = (): Promise<Measured> => {
  const now = "2026-01-01T00:00:00.000Z"
  return measure(200, () => {
    for (let time = 0; time < 200; time++) {
      RuleInput.parse({ cron: { expression: "*/15 9-17 * * 1-5", time_zone: "America/New_York" } }, { now })
    }
  })
}
report.compare(
  "ours alone",
  await interleave(rounds, {
    "latestDue, each minute of ten years": coldYears,
    "parse of a cron rule with its first occurrence": reading
  })
)
report.print()
