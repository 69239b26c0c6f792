/** Rules made ready to be asked for occurrences, each once. */
import * as Either from "effect/Either"
import * as CronExpression from "../CronExpression.js"
import type { InvalidRule } from "../InvalidRule.js"
import { refuse } from "../InvalidRule.js"
import type { ReminderRule } from "../ReminderRule.js"
import * as TimeZone from "../TimeZone.js"
import { timeOfDay } from "./absolute.js"
import type { Calendar } from "./calendar.js"
import { everyDay, onDates, onWeekdays } from "./days.js"
import { shown } from "./shown.js"
import { grid, once } from "./times.js"
import type { Zone } from "./zone.js"
import { zoneOf } from "./zone.js"

export type Compiled =
  | { readonly kind: "once" }
  | { readonly kind: "every"; readonly interval: number }
  | { readonly kind: "calendar"; readonly calendar: Calendar }

const compiled = new WeakMap<ReminderRule, Either.Either<Compiled, InvalidRule>>()

/** A rule that was read from somewhere is checked as strictly as a new one. */
export const compile = (rule: ReminderRule): Either.Either<Compiled, InvalidRule> => {
  const known = compiled.get(rule)
  if (known !== undefined) return known
  const made = make(rule)
  compiled.set(rule, made)
  return made
}

const make = (rule: ReminderRule): Either.Either<Compiled, InvalidRule> => {
  if ("every_seconds" in rule) {
    return Either.map(wholeSeconds(rule.every_seconds, "every_seconds"), (seconds) => ({
      kind: "every",
      interval: seconds * 1000
    }))
  }
  if ("daily" in rule) return Either.map(daily(rule.daily), ofCalendar)
  if ("weekly" in rule) return Either.map(weekly(rule.weekly), ofCalendar)
  if ("cron" in rule) return Either.map(cron(rule.cron), ofCalendar)
  return Either.right({ kind: "once" })
}

const ofCalendar = (calendar: Calendar): Compiled => ({ kind: "calendar", calendar })

/** Seconds that still are safe as milliseconds. */
const maxSeconds = Math.floor(Number.MAX_SAFE_INTEGER / 1000)

export const wholeSeconds = (value: unknown, path: string): Either.Either<number, InvalidRule> =>
  typeof value === "number" && Number.isInteger(value) && value > 0 && value <= maxSeconds
    ? Either.right(value)
    : refuse("invalid_rule", path, `expected a whole number of seconds from 1, got ${shown(value)}`)

/** The zone of a name. */
export const zone = (name: unknown, path: string): Either.Either<Zone, InvalidRule> =>
  Either.flatMap(TimeZone.parse(name, path), (known) => {
    const found = zoneOf(known)
    return found === undefined
      ? refuse("invalid_time_zone", path, `expected a zone, got ${known}`)
      : Either.right(found)
  })

type Fields<Key extends string> =
  Extract<ReminderRule, { readonly [K in Key]: unknown }> extends infer Rule
    ? Key extends keyof Rule
      ? Rule[Key]
      : never
    : never

const daily = (rule: Fields<"daily">): Either.Either<Calendar, InvalidRule> =>
  Either.gen(function* () {
    const time = yield* timeOfDay(rule.time, "daily.time")
    return { zone: yield* zone(rule.time_zone, "daily.time_zone"), days: everyDay, times: once(time) }
  })

const weekly = (rule: Fields<"weekly">): Either.Either<Calendar, InvalidRule> =>
  Either.gen(function* () {
    const time = yield* timeOfDay(rule.time, "weekly.time")
    const found = yield* zone(rule.time_zone, "weekly.time_zone")
    const weekdays = yield* isoWeekdays(rule.weekdays)
    return { zone: found, days: onWeekdays(weekdays.map((weekday) => weekday % 7)), times: once(time) }
  })

const isoWeekdays = (value: unknown): Either.Either<ReadonlyArray<number>, InvalidRule> => {
  const path = "weekly.weekdays"
  const expected = "expected different weekdays from 1 for Monday to 7 for Sunday, at least one, as in [1, 5]"
  if (!Array.isArray(value)) return refuse("invalid_rule", path, `${expected}, got ${shown(value)}`)
  const isWeekday = (it: unknown) => typeof it === "number" && Number.isInteger(it) && it >= 1 && it <= 7
  const wrong = value.findIndex((it, index) => !isWeekday(it) || value.indexOf(it) !== index)
  if (wrong >= 0) return refuse("invalid_rule", `${path}[${wrong}]`, `${expected}, got ${shown(value[wrong])}`)
  return value.length === 0 ? refuse("invalid_rule", path, `${expected}, got none`) : Either.right(value)
}

const cron = (rule: Fields<"cron">): Either.Either<Calendar, InvalidRule> =>
  Either.gen(function* () {
    const expression = yield* CronExpression.parse(rule.expression, "cron.expression")
    return {
      zone: yield* zone(rule.time_zone, "cron.time_zone"),
      days: onDates(expression),
      times: grid(expression.hours, expression.minutes)
    }
  })
