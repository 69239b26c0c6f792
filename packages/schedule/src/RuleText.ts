/**
 * Says a rule in words, so that who wrote it sees what it was taken for.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as CronExpression from "./CronExpression.js"
import type { ReminderRule } from "./ReminderRule.js"

/**
 * A rule in words, without a full stop.
 *
 * @since 0.1.0
 * @category conversions
 */
export const describe = (rule: ReminderRule): string => {
  if ("after_seconds" in rule) return `once, ${durationText(rule.after_seconds)} after it was made`
  if ("every_seconds" in rule) return `every ${durationText(rule.every_seconds)}, counted from when it was made`
  if ("daily" in rule) return `every day at ${rule.daily.time} in ${rule.daily.time_zone}`
  if ("weekly" in rule) {
    return `every ${weekdaysText(rule.weekly.weekdays)} at ${rule.weekly.time} in ${rule.weekly.time_zone}`
  }
  if ("cron" in rule) return cronText(rule.cron.expression, rule.cron.time_zone)
  return typeof rule.at === "string"
    ? `once, at ${rule.at}`
    : `once, at ${rule.at.date} ${rule.at.time} in ${rule.at.time_zone}`
}

const units = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1]
] as const

const durationText = (seconds: number): string => {
  let left = seconds
  const parts = units.flatMap(([name, size]) => {
    const amount = Math.floor(left / size)
    left -= amount * size
    return amount === 0 ? [] : [`${amount.toLocaleString("en")} ${name}${amount === 1 ? "" : "s"}`]
  })
  return parts.join(" ")
}

const weekdayNames = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

const monthNames = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December"
]

const weekdaysText = (weekdays: ReadonlyArray<number>): string =>
  weekdays.length === 7
    ? "day"
    : listText(
        [...weekdays].sort((a, b) => a - b),
        (weekday) => weekdayNames[weekday % 7] ?? ""
      )

const cronText = (expression: string, zone: string): string =>
  Either.match(CronExpression.parse(expression), {
    onLeft: () => `by cron "${expression}" in ${zone}`,
    onRight: (cron) =>
      [timesText(cron), daysText(cron), monthsText(cron), `in ${zone}`].filter((part) => part !== "").join(" ")
  })

const maxClockTimes = 6

const timesText = ({ hours, minutes }: CronExpression.CronExpression): string => {
  const everyHour = hours.length === 24
  if (minutes.length === 60) return everyHour ? "every minute" : `every minute of ${counted("hour", hours)}`
  if (everyHour) return `at ${counted("minute", minutes)} of every hour`
  if (hours.length * minutes.length > maxClockTimes) {
    return `at ${counted("minute", minutes)} of ${counted("hour", hours)}`
  }
  const clock = hours.flatMap((hour) => minutes.map((minute) => `${two(hour)}:${two(minute)}`))
  return `at ${joined(clock)}`
}

const daysText = ({ dates, eitherDay, hours, weekdays }: CronExpression.CronExpression): string => {
  const byDate = `${counted("day", dates)} of the month`
  // Monday first, as the other rules count.
  const ordered = weekdays.map((weekday) => (weekday === 0 ? 7 : weekday)).sort((a, b) => a - b)
  const byWeekday = listText(ordered, (weekday) => weekdayNames[weekday % 7] ?? "")
  if (eitherDay) return `on ${byDate} and also on every ${byWeekday}`
  if (dates.length === 31 && weekdays.length === 7) return hours.length === 24 ? "" : "every day"
  if (dates.length === 31) return `on every ${byWeekday}`
  return weekdays.length === 7 ? `on ${byDate}` : `on ${byDate} if that is a ${byWeekday}`
}

const monthsText = ({ months }: CronExpression.CronExpression): string =>
  months.length === 12 ? "" : `in ${listText(months, (month) => monthNames[month - 1] ?? "")}`

const two = (value: number): string => String(value).padStart(2, "0")

const counted = (unit: string, values: ReadonlyArray<number>): string =>
  `${unit}${values.length === 1 ? "" : "s"} ${listText(values, String)}`

/** Ascending values; three or more neighbours as a range. */
const listText = (values: ReadonlyArray<number>, name: (value: number) => string): string => {
  const runs: Array<Array<number>> = []
  for (const value of values) {
    const run = runs.at(-1)
    if (run !== undefined && run.at(-1) === value - 1) run.push(value)
    else runs.push([value])
  }
  return joined(
    runs.flatMap((run) => (run.length < 3 ? run.map(name) : [`${name(run[0] ?? 0)} to ${name(run.at(-1) ?? 0)}`]))
  )
}

const joined = (parts: ReadonlyArray<string>): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`
