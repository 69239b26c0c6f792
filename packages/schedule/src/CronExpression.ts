/**
 * Five-field cron expressions as Vixie's cron reads them: lists, ranges, steps, names of months and weekdays.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { InvalidRule } from "./InvalidRule.js"
import { refuse } from "./InvalidRule.js"
import { clip } from "./internal/shown.js"

/**
 * What an expression allows: the values of each field in ascending order, Sunday as 0.
 *
 * @since 0.1.0
 * @category models
 */
export interface CronExpression {
  readonly minutes: ReadonlyArray<number>
  readonly hours: ReadonlyArray<number>
  readonly dates: ReadonlyArray<number>
  readonly months: ReadonlyArray<number>
  readonly weekdays: ReadonlyArray<number>
  /** Whether a day that fits either of the two day fields fits: so when neither of them begins with `*`. */
  readonly eitherDay: boolean
}

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly names: ReadonlyArray<string>
  readonly example: string
}

const monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]

const fields: readonly [Field, Field, Field, Field, Field] = [
  { name: "minute", least: 0, most: 59, names: [], example: "*/15" },
  { name: "hour", least: 0, most: 23, names: [], example: "9-17" },
  { name: "day-of-month", least: 1, most: 31, names: [], example: "1,15" },
  { name: "month", least: 1, most: 12, names: monthNames, example: "jan-mar" },
  { name: "day-of-week", least: 0, most: 7, names: weekdayNames, example: "1-5" }
]

const nicknames: ReadonlyMap<string, string> = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"]
])

/** The longest month of each name. */
const longest = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const maxLength = 500
const order = fields.map(({ name }) => name).join(" ")

/**
 * Reads an expression. A date that never comes, seconds, `?`, `L`, `W`, `#`, nicknames such as `@daily`, ranges that run backwards
 * and steps of 0 are refused as `invalid_rule`.
 *
 * @since 0.1.0
 * @category decoding
 */
export const parse = (expression: string, path = "expression"): Either.Either<CronExpression, InvalidRule> => {
  const texts = expression.trim().split(/[ \t]+/)
  if (expression.length > maxLength || texts.length !== fields.length) return wrongShape(expression, texts, path)
  const sets: Array<ReadonlyArray<number>> = []
  for (const [index, field] of fields.entries()) {
    const set = readField(texts[index] ?? "", field)
    if (typeof set === "string") return refuse("invalid_rule", path, set)
    sets.push(set)
  }
  const [minutes = [], hours = [], dates = [], months = [], weekdays = []] = sets
  const eitherDay = !(texts[2]?.startsWith("*") ?? false) && !(texts[4]?.startsWith("*") ?? false)
  const comes = eitherDay || months.some((month) => (dates[0] ?? 32) <= (longest[month - 1] ?? 0))
  return comes
    ? Either.right({ minutes, hours, dates, months, weekdays, eitherDay })
    : refuse(
        "invalid_rule",
        path,
        `expected a date that comes, got ${JSON.stringify(expression)}, which never occurs: none of its months has a day ${dates[0]}`
      )
}

const wrongShape = (expression: string, texts: ReadonlyArray<string>, path: string) => {
  const nickname = nicknames.get(expression.trim().toLowerCase())
  if (nickname !== undefined) {
    return refuse(
      "invalid_rule",
      path,
      `expected five fields, got ${JSON.stringify(expression)}; write "${nickname}"`,
      [nickname]
    )
  }
  if (expression.length > maxLength) {
    return refuse("invalid_rule", path, `expected at most ${maxLength} characters, got ${expression.length}`)
  }
  const count = expression.trim() === "" ? 0 : texts.length
  const hint =
    count === 6 ? "; there is no field for seconds: take every_seconds for a rhythm that is no matter of the clock" : ""
  return refuse(
    "invalid_rule",
    path,
    `expected five fields (${order}), got ${count} in ${JSON.stringify(clip(expression))}${hint}`
  )
}

/** The values of a field, or what is wrong with it. */
const readField = (text: string, field: Field): ReadonlyArray<number> | string => {
  const values = new Set<number>()
  for (const part of text.split(",")) {
    const range = readRange(part, field)
    if (typeof range === "string") {
      return `expected the ${field.name} field to hold values ${field.least}-${field.most} as in "${field.example}", got ${JSON.stringify(clip(text))}: ${range}`
    }
    for (let value = range.from; value <= range.to; value += range.step) {
      values.add(field.most === 7 ? value % 7 : value)
    }
  }
  return [...values].sort((a, b) => a - b)
}

interface Range {
  readonly from: number
  readonly to: number
  readonly step: number
}

const readRange = (text: string, field: Field): Range | string => {
  const [, range = "", stepText] = /^([^/]*)(?:\/(.*))?$/s.exec(text) ?? []
  const step = stepText === undefined ? 1 : readStep(stepText)
  if (typeof step === "string") return step
  if (range === "*") return { from: field.least, to: field.most, step }
  const [first = "", second, ...rest] = range.split("-")
  const from = readValue(first, field)
  if (typeof from === "string") return from
  if (second === undefined) {
    return stepText === undefined
      ? { from, to: from, step }
      : `a step needs a range: write ${from}-${field.most}/${step}`
  }
  const to = readValue(second, field)
  if (typeof to === "string") return to
  if (rest.length > 0) return `${JSON.stringify(clip(range))} is no range`
  return from <= to ? { from, to, step } : backwards(from, to, field)
}

const backwards = (from: number, to: number, field: Field): string =>
  field.most === 7 && to === 0
    ? `a range may not run backwards: Sunday at its end is 7, write ${from}-7`
    : `a range may not run backwards: write ${from}-${field.most === 7 ? 6 : field.most},${field.least}-${to}`

const readStep = (text: string): number | string =>
  /^\d{1,4}$/.test(text) && Number(text) > 0
    ? Number(text)
    : `a step is a number from 1, not ${JSON.stringify(clip(text))}`

const readValue = (text: string, field: Field): number | string => {
  if (/^\d{1,4}$/.test(text)) {
    const value = Number(text)
    return value >= field.least && value <= field.most ? value : `${value} is outside ${field.least}-${field.most}`
  }
  const named = field.names.indexOf(text.toLowerCase())
  return named >= 0 ? named + (field.most === 12 ? 1 : 0) : notAValue(text)
}

const notAValue = (text: string): string => {
  if (text === "") return "a value is missing"
  if (text === "?") return "? is not supported: write *"
  if (/^\d*[lw]$/i.test(text) || text.includes("#"))
    return `${JSON.stringify(clip(text))}: L, W and # are not supported`
  return `${JSON.stringify(clip(text))} is no value of it`
}
