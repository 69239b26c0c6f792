import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import * as fc from "effect/FastCheck"

const zones = ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone.includes("/"))]

const zone = fc.constantFrom(...zones)

const two = (value: number): string => String(value).padStart(2, "0")

const time = fc
  .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.option(fc.nat(999)))
  .map(([hour, minute, second, millis]) => {
    const clock = `${two(hour)}:${two(minute)}:${two(second)}`
    return millis === null ? clock : `${clock}.${String(millis).padStart(3, "0")}`
  })

/** A cron field: stars, values, ranges, steps and lists of them. */
const field = (least: number, most: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min: least, max: most })
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const base = fc.oneof(fc.constant("*"), range)
  const step = fc.tuple(base, fc.integer({ min: 1, max: most })).map(([text, by]) => `${text}/${by}`)
  const part = fc.oneof(value.map(String), range, step)
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant("*") },
    { weight: 3, arbitrary: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(",")) }
  )
}

const expression = fc
  .tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
  .map((fields) => fields.join(" "))

const weekdays = fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 7 })

/** Rules that come again, cron expressions that never do among them. */
export const recurring: fc.Arbitrary<ReminderRule> = fc.oneof(
  fc.record({ every_seconds: fc.integer({ min: 1, max: 10_000_000 }) }),
  fc.record({ daily: fc.record({ time, time_zone: zone }) }),
  fc.record({ weekly: fc.record({ time, time_zone: zone, weekdays }) }),
  fc.record({ cron: fc.record({ expression, time_zone: zone }) })
)

/** Milliseconds from 1970 to 2100, some of them whole minutes. */
export const millis = fc.oneof(
  fc.integer({ min: 0, max: Date.UTC(2100, 0) }),
  fc.integer({ min: 0, max: Date.UTC(2100, 0) / 60_000 }).map((minutes) => minutes * 60_000)
)
