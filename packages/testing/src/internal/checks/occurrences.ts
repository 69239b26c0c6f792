/**
 * When a reminder comes, walked day by day with nothing but the platform's own zones: slow, and written apart from the rules that it
 * judges.
 */

const day = 86_400_000
const minute = 60_000

/** A rule as it is stored. */
export type RawRule = { readonly [selector: string]: unknown }

interface Local {
  readonly time_zone: string
  readonly time?: string
  readonly date?: string
  readonly weekdays?: ReadonlyArray<number>
  readonly expression?: string
}

/** Whether a rule comes once. */
export const comesOnce = (rule: RawRule): boolean => "after_seconds" in rule || "at" in rule

/** The first occurrence after an instant; `anchor` is any occurrence of a rule of elapsed time. `undefined`: none within nine years. */
export const nextAfter = (rule: RawRule, after: number, anchor: number): number | undefined => {
  if (typeof rule.every_seconds === "number") {
    const step = rule.every_seconds * 1000
    return anchor + (Math.floor((after - anchor) / step) + 1) * step
  }
  if (comesOnce(rule)) return undefined
  const local = (rule.daily ?? rule.weekly ?? rule.cron) as Local
  const labels = labelsOf(local)
  const first = Math.floor((after + offsetAt(local.time_zone, after)) / day) - 1
  for (let at = first; at < first + 9 * 366; at++) {
    for (const label of labels(at * day)) {
      const instant = instantOf(label, local.time_zone)
      if (instant !== undefined && instant > after) return instant
    }
  }
  return undefined
}

/** The first occurrence of a rule that was made at an instant. */
export const firstOf = (rule: RawRule, madeAt: number): number | undefined => {
  if (typeof rule.after_seconds === "number") return madeAt + rule.after_seconds * 1000
  if (typeof rule.every_seconds === "number") return madeAt + rule.every_seconds * 1000
  if (typeof rule.at === "string") return Date.parse(rule.at)
  if (rule.at !== undefined) {
    const { date, time, time_zone } = rule.at as Required<Local>
    return instantOf(Date.parse(`${date}T${time}Z`), time_zone)
  }
  return nextAfter(rule, madeAt, madeAt)
}

/** The local times of a day, in order, as if they were UTC. */
const labelsOf = (local: Local): ((day: number) => ReadonlyArray<number>) => {
  if (local.expression !== undefined) return cronLabels(local.expression)
  const time = Date.parse(`1970-01-01T${local.time}Z`)
  return (at) => (local.weekdays === undefined || local.weekdays.includes(isoWeekday(at)) ? [at + time] : [])
}

const isoWeekday = (at: number): number => new Date(at).getUTCDay() || 7

/** The instant of a local time: the earlier one where it comes twice, none where clocks skip it. */
const instantOf = (label: number, zone: string): number | undefined => {
  const instants = [label - day, label + day]
    .map((around) => label - offsetAt(zone, around))
    .filter((instant) => instant + offsetAt(zone, instant) === label)
  return instants.length === 0 ? undefined : Math.min(...instants)
}

const formats = new Map<string, Intl.DateTimeFormat>()
const offsets = new Map<string, number>()

/** What local time is ahead of UTC, in milliseconds. Zones change on minutes of a quarter hour in the years that are played here. */
export const offsetAt = (zone: string, instant: number): number => {
  if (zone === "UTC") return 0
  const quarter = Math.floor(instant / (15 * minute)) * 15 * minute
  const key = `${zone} ${quarter}`
  const known = offsets.get(key)
  if (known !== undefined) return known
  const offset = readOffset(zone, quarter)
  offsets.set(key, offset)
  return offset
}

const readOffset = (zone: string, instant: number): number => {
  const format = formats.get(zone) ?? formatOf(zone)
  formats.set(zone, format)
  const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
  const local = Date.UTC(
    parts.year ?? 0,
    (parts.month ?? 1) - 1,
    parts.day ?? 1,
    parts.hour ?? 0,
    parts.minute ?? 0,
    parts.second ?? 0
  )
  return local - instant
}

const formatOf = (timeZone: string): Intl.DateTimeFormat =>
  new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric"
  })

const months = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(" ")
const weekdays = "SUN MON TUE WED THU FRI SAT".split(" ")

/** Of five fields: minute, hour, day of the month, month, weekday. When both day fields say something, either will do. */
const cronLabels = (expression: string): ((day: number) => ReadonlyArray<number>) => {
  const [minutes = "*", hours = "*", days = "*", monthField = "*", weekdayField = "*"] = expression.trim().split(/\s+/)
  const atMinutes = [...field(minutes, 0, 59)].sort((a, b) => a - b)
  const atHours = [...field(hours, 0, 23)].sort((a, b) => a - b)
  const onDays = field(days, 1, 31)
  const inMonths = field(monthField, 1, 12, months, 1)
  const onWeekdays = field(weekdayField, 0, 7, weekdays, 0)
  const fits = (at: number): boolean => {
    const date = new Date(at)
    if (!inMonths.has(date.getUTCMonth() + 1)) return false
    const isDay = onDays.has(date.getUTCDate())
    const isWeekday = onWeekdays.has(date.getUTCDay()) || (date.getUTCDay() === 0 && onWeekdays.has(7))
    return days.startsWith("*") || weekdayField.startsWith("*") ? isDay && isWeekday : isDay || isWeekday
  }
  return (at) =>
    fits(at) ? atHours.flatMap((hour) => atMinutes.map((each) => at + hour * 60 * minute + each * minute)) : []
}

const field = (text: string, least: number, most: number, names: ReadonlyArray<string> = [], base = 0): Set<number> => {
  const value = (part: string): number => {
    const named = names.indexOf(part.toUpperCase())
    return named < 0 ? Number(part) : named + base
  }
  const found = new Set<number>()
  for (const part of text.split(",")) {
    const [range = "*", step] = part.split("/")
    const [from, to] = range.split("-")
    const first = range === "*" ? least : value(from ?? "")
    const last = range === "*" || (to === undefined && step !== undefined) ? most : value(to ?? from ?? "")
    for (let at = first; at <= last; at += Number(step ?? 1)) found.add(at)
  }
  return found
}
