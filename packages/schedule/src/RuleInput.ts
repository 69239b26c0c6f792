/**
 * Reads a rule that someone sent: a model, or a person on the command line.
 *
 * @since 0.1.0
 */
import * as Instant from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import type { InvalidRule } from "./InvalidRule.js"
import { refuse } from "./InvalidRule.js"
import { dateOf, instantOf, localInstant, timeOfDay, withOffset } from "./internal/absolute.js"
import { nextAfter } from "./internal/calendar.js"
import { DAY, maxMillis } from "./internal/civil.js"
import { compile, wholeSeconds, zone } from "./internal/compile.js"
import { shown } from "./internal/shown.js"
import type { ReminderRule, Selector } from "./ReminderRule.js"
import { selectors } from "./ReminderRule.js"

/**
 * What a rule is read against.
 *
 * @since 0.1.0
 * @category models
 */
export interface ParseOptions {
  readonly now: Instant.Instant
  /** The smallest interval of `every_seconds`, in seconds. Default: 60. */
  readonly minEveryIntervalSeconds?: number
}

/**
 * A rule that can be stored, and its first occurrence.
 *
 * @since 0.1.0
 * @category models
 */
export interface Parsed {
  readonly rule: ReminderRule
  readonly scheduledAt: Instant.Instant
}

/**
 * The smallest interval of `every_seconds` where a deployment does not decide otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export const defaultMinEveryIntervalSeconds = 60

/**
 * Reads an object with exactly one of the six keys; `null` counts as absent, any other key is refused. Never throws, whatever the
 * value does. Names of zones are answered in the database's letter case, cron expressions with single spaces, everything else as given.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = (input: unknown, options: ParseOptions): Either.Either<Parsed, InvalidRule> => {
  try {
    return Either.flatMap(select(input), ([selector, value]) => readers[selector](value, options))
  } catch {
    // Reading a property can throw on a value that never was JSON: a getter, a proxy.
    return refuse("invalid_selector", "", `${giveOne}, got a value that cannot be read`)
  }
}

/**
 * Reads an instant in RFC 3339 with `Z` or an offset, as strictly as `at`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parseInstant = (text: string, path: string): Either.Either<Instant.Instant, InvalidRule> =>
  Either.map(instantOf(text, path), Instant.format)

const giveOne = `give exactly one of ${selectors.join(", ")}`

const isSelector = (key: string): key is Selector => (selectors as ReadonlyArray<string>).includes(key)

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const select = (input: unknown): Either.Either<readonly [Selector, unknown], InvalidRule> => {
  if (!isRecord(input)) return refuse("invalid_selector", "", `${giveOne}, got ${shown(input)}`)
  const given = Object.entries(input).filter(([, value]) => value !== undefined && value !== null)
  const unknownKey = given.find(([key]) => !isSelector(key))
  if (unknownKey !== undefined) {
    return refuse("invalid_selector", "", `${giveOne}, got the key ${shown(unknownKey[0])}`)
  }
  const [first, ...others] = given as ReadonlyArray<[Selector, unknown]>
  if (first === undefined) return refuse("invalid_selector", "", `${giveOne}, got none`)
  return others.length === 0
    ? Either.right(first)
    : refuse("invalid_selector", "", `${giveOne}, got ${given.map(([key]) => key).join(", ")}`)
}

type Reader = (value: unknown, options: ParseOptions) => Either.Either<Parsed, InvalidRule>

const after: Reader = (value, { now }) =>
  Either.gen(function* () {
    const seconds = yield* wholeSeconds(value, "after_seconds")
    const at = yield* inSeconds(seconds, now, "after_seconds")
    return { rule: { after_seconds: seconds }, scheduledAt: at }
  })

const every: Reader = (value, { minEveryIntervalSeconds = defaultMinEveryIntervalSeconds, now }) =>
  Either.gen(function* () {
    const seconds = yield* wholeSeconds(value, "every_seconds")
    if (seconds < minEveryIntervalSeconds) {
      return yield* refuse(
        "frequency_too_high",
        "every_seconds",
        `expected at least ${minEveryIntervalSeconds} seconds, got ${seconds}`,
        [String(minEveryIntervalSeconds)]
      )
    }
    return { rule: { every_seconds: seconds }, scheduledAt: yield* inSeconds(seconds, now, "every_seconds") }
  })

const inSeconds = (
  seconds: number,
  now: Instant.Instant,
  path: string
): Either.Either<Instant.Instant, InvalidRule> => {
  const most = Math.floor((maxMillis - Instant.toMillis(now)) / 1000)
  return seconds <= most
    ? Either.right(Instant.format(Instant.toMillis(now) + seconds * 1000))
    : refuse("time_out_of_range", path, `expected seconds from 1 to ${most}, the end of the year 9999, got ${seconds}`)
}

const at: Reader = (value, options) => {
  if (isRecord(value)) return atLocal(value, options)
  if (typeof value !== "string") {
    return refuse(
      "invalid_rule",
      "at",
      `expected an RFC 3339 date-time with Z or an offset, or { date, time, time_zone }, got ${shown(value)}`
    )
  }
  return Either.gen(function* () {
    const target = yield* instantOf(value, "at")
    yield* isFuture(target, options.now, undefined)
    return { rule: { at: value }, scheduledAt: Instant.format(target) }
  })
}

const atLocal = (value: Readonly<Record<string, unknown>>, options: ParseOptions): Either.Either<Parsed, InvalidRule> =>
  Either.gen(function* () {
    const { date, time, time_zone } = yield* fields("at", value, ["date", "time", "time_zone"])
    const day = yield* dateOf(date, "at.date")
    const millis = yield* timeOfDay(time, "at.time")
    const found = yield* zone(time_zone, "at.time_zone")
    const label = day * DAY + millis
    const target = yield* localInstant(label, found, "at")
    const resolved = found.resolve(label)
    const again = resolved.kind === "known" ? resolved.again : undefined
    yield* isFuture(target, options.now, again === undefined ? undefined : withOffset(label, again))
    return {
      rule: { at: { date: date as string, time: time as string, time_zone: found.name } },
      scheduledAt: Instant.format(target)
    }
  })

const isFuture = (
  target: number,
  now: Instant.Instant,
  again: string | undefined
): Either.Either<number, InvalidRule> => {
  if (target > Instant.toMillis(now)) return Either.right(target)
  const hint = again === undefined ? "" : `; that local time comes twice, the second time is ${again}`
  return refuse(
    "not_future",
    "at",
    `expected a time after now, ${now}, got ${Instant.format(target)}${hint}`,
    again === undefined ? [] : [again]
  )
}

/** A calendar rule, from the fields that it has. */
const recurring =
  (selector: "daily" | "weekly" | "cron", keys: ReadonlyArray<string>): Reader =>
  (value, { now }) =>
    Either.gen(function* () {
      const given = yield* fields(selector, value, keys)
      // Its fields are checked right below, where they are read.
      const rule = { [selector]: yield* canonical(selector, given) } as unknown as ReminderRule
      const compiled = yield* compile(rule)
      const first = compiled.kind === "calendar" ? nextAfter(compiled.calendar, Instant.toMillis(now)) : "never"
      if (typeof first === "number") return { rule, scheduledAt: Instant.format(first) }
      return yield* first === "never"
        ? refuse(
            "invalid_rule",
            selector,
            "expected a time that comes, got one that never occurs: clocks skip it each time"
          )
        : refuse(
            "time_out_of_range",
            selector,
            "expected a time within the years 0000 to 9999 in UTC, got none after now"
          )
    })

const canonical = (
  selector: "daily" | "weekly" | "cron",
  given: Readonly<Record<string, unknown>>
): Either.Either<Readonly<Record<string, unknown>>, InvalidRule> => {
  const { expression } = given
  if (selector !== "cron") {
    return Either.map(zone(given.time_zone, `${selector}.time_zone`), ({ name }) => ({
      ...given,
      time_zone: name,
      ...(Array.isArray(given.weekdays) ? { weekdays: [...given.weekdays] } : {})
    }))
  }
  if (typeof expression !== "string") {
    return refuse("invalid_rule", "cron.expression", `expected text of five fields, got ${shown(expression)}`)
  }
  return Either.map(zone(given.time_zone, "cron.time_zone"), ({ name }) => ({
    expression: expression.trim().replace(/[ \t]+/g, " "),
    time_zone: name
  }))
}

/** The fields of a rule, and no other key. */
const fields = (
  path: string,
  value: unknown,
  keys: ReadonlyArray<string>
): Either.Either<Readonly<Record<string, unknown>>, InvalidRule> => {
  const expected = `expected { ${keys.join(", ")} }`
  if (!isRecord(value)) return refuse("invalid_rule", path, `${expected}, got ${shown(value)}`)
  const unknownKey = Object.keys(value).find((key) => !keys.includes(key))
  if (unknownKey !== undefined) return refuse("invalid_rule", path, `${expected}, got the key ${shown(unknownKey)} too`)
  const missing = keys.find((key) => value[key] === undefined || value[key] === null)
  return missing === undefined ? Either.right(value) : refuse("invalid_rule", path, `${expected}, got no ${missing}`)
}

const readers: Readonly<Record<Selector, Reader>> = {
  after_seconds: after,
  at,
  every_seconds: every,
  daily: recurring("daily", ["time", "time_zone"]),
  weekly: recurring("weekly", ["time", "time_zone", "weekdays"]),
  cron: recurring("cron", ["expression", "time_zone"])
}
