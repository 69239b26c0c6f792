/**
 * Compares the rules of reminders with a slow and plain second opinion, around every change of clocks from 1970 to 2037 in every zone
 * that the runtime knows, and every offset of twelve hours. Not a matter of speed: exits with 1 when anything differs.
 */
import * as TimeZone from "@afterturn/schedule/TimeZone"
import { compareAround, nextChange } from "../test/schedule/support/oracle.js"
import { quick, Report } from "./support/report.js"

const start = Date.UTC(1970, 0)
const end = Date.UTC(2038, 0)
const halfDay = 43_200_000
const shown = 20

/** Names that `Intl` knows and does not list. */
const links = ["UTC", "Asia/Kolkata", "US/Pacific", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "Etc/GMT-14"]

/** The offset as the difference between what clocks show and UTC: nothing but the fields of a date. */
const offsetOf = (zone: string): ((millis: number) => number) => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric"
  })
  return (millis) => {
    const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = (
      format.format(millis).match(/\d+/g) ?? []
    ).map(Number)
    return Date.UTC(year, month - 1, day, hour, minute, second) - millis
  }
}

const wrongOffsets = (zone: string): ReadonlyArray<string> => {
  const offset = offsetOf(zone)
  const wrong: Array<string> = []
  for (let at = start; at < end; at += halfDay) {
    const said = TimeZone.offsetAt(zone, at)
    if (said !== offset(at)) wrong.push(`offset of ${zone} at ${new Date(at).toISOString()}: ${said}`)
  }
  return wrong
}

const report = new Report("oracle")
const names = [...Intl.supportedValuesOf("timeZone").filter((name) => name.includes("/")), ...links]
const zones = quick ? names.filter((_, index) => index % 20 === 0) : names
const total = { changes: 0, instants: 0, wrong: 0 }

const note = (wrong: ReadonlyArray<string>): void => {
  for (const text of wrong.slice(0, Math.max(0, shown - total.wrong))) report.note(text)
  total.wrong += wrong.length
}

for (const [index, zone] of zones.entries()) {
  note(wrongOffsets(zone))
  for (let change = nextChange(zone, start); change !== undefined && change < end; change = nextChange(zone, change)) {
    const { instants, wrong } = compareAround(zone, change)
    total.changes++
    total.instants += instants
    note(wrong)
  }
  if (index % 20 === 19) report.progress(`  ${index + 1} of ${zones.length} zones, ${total.changes} changes`)
}

report.figure("zones", zones.length, `time zone data ${process.versions.tz}`)
report.figure("changes of clocks", total.changes, "1970 to 2037")
report.figure("occurrences around them", total.instants, "compared one by one")
report.aim("differences", total.wrong, (wrong) => wrong === 0)
report.print()
if (total.wrong > 0) process.exitCode = 1
