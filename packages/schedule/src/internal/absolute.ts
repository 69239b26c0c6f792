/** Reads dates, times and instants that someone wrote, strictly, and says how to write them otherwise. */
import * as Either from "effect/Either"
import type { InvalidRule } from "../InvalidRule.js"
import { refuse } from "../InvalidRule.js"
import { DAY, dayOf, daysInMonth, HOUR, labelText, MINUTE, maxMillis, minMillis, offsetText } from "./civil.js"
import { shown } from "./shown.js"
import type { Zone } from "./zone.js"

const datePattern = /^(\d{4})-(\d{2})-(\d{2})$/
const timePattern = /^(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,3}))?$/
const instantPattern = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?)(?:([Zz])|([+-])(\d{2}):(\d{2}))$/

/** A date to its day; `undefined` for one that does not exist. */
const readDate = (text: string): number | undefined => {
  const [, year, month, date] = (datePattern.exec(text) ?? []).map(Number)
  if (year === undefined || month === undefined || date === undefined) return undefined
  return month >= 1 && month <= 12 && date >= 1 && date <= daysInMonth(year, month)
    ? dayOf(year, month, date)
    : undefined
}

const readTime = (text: string): number | undefined => {
  const [, hours, minutes, seconds, fraction = ""] = timePattern.exec(text) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59 || hours === undefined) return undefined
  return Number(hours) * HOUR + Number(minutes) * MINUTE + Number(seconds) * 1000 + Number(fraction.padEnd(3, "0"))
}

/** A time of day to its milliseconds since midnight. */
export const timeOfDay = (value: unknown, path: string): Either.Either<number, InvalidRule> => {
  const expected = "expected HH:mm:ss with up to 3 fractional digits, from 00:00:00 to 23:59:59.999"
  const time = typeof value === "string" ? readTime(value) : undefined
  if (time !== undefined) return Either.right(time)
  const corrected = typeof value === "string" ? correctedTime(value) : undefined
  const hint = corrected === undefined ? "" : `; write ${corrected}`
  return refuse(
    "invalid_rule",
    path,
    `${expected}, got ${shown(value)}${hint}`,
    corrected === undefined ? [] : [corrected]
  )
}

const correctedTime = (text: string): string | undefined => {
  const [, hours, minutes, seconds = "00"] = /^\s*(\d{1,2}):(\d{2})(?::(\d{2}))?\s*$/.exec(text) ?? []
  const corrected = `${hours?.padStart(2, "0")}:${minutes}:${seconds}`
  return readTime(corrected) === undefined ? undefined : corrected
}

/** A date to its day. */
export const dateOf = (value: unknown, path: string): Either.Either<number, InvalidRule> => {
  const day = typeof value === "string" ? readDate(value) : undefined
  if (day !== undefined) return Either.right(day)
  const problem = typeof value === "string" && datePattern.test(value) ? ", which does not exist" : ""
  return refuse("invalid_rule", path, `expected a date as YYYY-MM-DD, got ${shown(value)}${problem}`)
}

/** Text with an offset to its instant. */
export const instantOf = (text: string, path: string): Either.Either<number, InvalidRule> => {
  const [whole, date = "", time = "", utc, sign, hours = "0", minutes = "0"] = instantPattern.exec(text) ?? []
  if (whole === undefined) return notAnInstant(text, path)
  const day = readDate(date)
  const millis = readTime(time)
  if (day === undefined || millis === undefined) {
    const what = day === undefined ? `day ${date}` : `time ${time}`
    return refuse("invalid_rule", path, `expected a date and time that exist, got ${shown(text)}: there is no ${what}`)
  }
  const offset = utc === undefined ? (Number(hours) * HOUR + Number(minutes) * MINUTE) * (sign === "-" ? -1 : 1) : 0
  if (Number(hours) > 23 || Number(minutes) > 59) {
    return refuse("invalid_rule", path, `expected an offset up to ±23:59, got ${shown(text)}`)
  }
  return inRange(day * DAY + millis - offset, path, text)
}

const notAnInstant = (text: string, path: string): Either.Either<never, InvalidRule> => {
  const expected = "expected an RFC 3339 date-time with Z or an offset, like 2026-03-09T06:30:00Z"
  const [, date, time, seconds = ":00", fraction = "", offset = ""] =
    /^\s*(\d{4}-\d{2}-\d{2})[Tt _]+(\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?\d*\s*([Zz]|[+-]\d{2}:?(?:\d{2})?)?\s*$/.exec(
      text
    ) ?? []
  if (date === undefined) return refuse("invalid_rule", path, `${expected}, got ${shown(text)}`)
  const [, sign, hours, minutes = "00"] = /^([+-])(\d{2}):?(\d{2})?$/.exec(offset) ?? []
  const local = `${date}T${time}${seconds}${fraction}`
  if (offset === "") {
    return refuse(
      "invalid_rule",
      path,
      `${expected}, got ${shown(text)} without one; write ${local}Z, or { date, time, time_zone } for a local time`,
      [`${local}Z`]
    )
  }
  const corrected = `${local}${sign === undefined ? "Z" : `${sign}${hours}:${minutes}`}`
  return refuse("invalid_rule", path, `${expected}, got ${shown(text)}; write ${corrected}`, [corrected])
}

const inRange = (millis: number, path: string, given: string): Either.Either<number, InvalidRule> =>
  millis >= minMillis && millis <= maxMillis
    ? Either.right(millis)
    : refuse("time_out_of_range", path, `expected a time within the years 0000 to 9999 in UTC, got ${shown(given)}`)

/** A local time to its first instant; one that the zone skips is refused with the times next to it. */
export const localInstant = (label: number, zone: Zone, path: string): Either.Either<number, InvalidRule> => {
  const resolved = zone.resolve(label)
  if (resolved.kind === "known") return inRange(resolved.at, path, labelText(label))
  const { end, start } = resolved.gap
  const nearest = [labelText(start - 1000), labelText(end)]
  return refuse(
    "invalid_rule",
    path,
    `expected a local time that exists, got ${labelText(label)}: clocks in ${zone.name} go from ${labelText(start)} to ` +
      `${labelText(end)}; the nearest are ${nearest.join(" and ")}`,
    nearest
  )
}

/** How to name the second of two instants with the same local time. */
export const withOffset = (label: number, at: number): string => `${labelText(label)}${offsetText(label - at)}`
