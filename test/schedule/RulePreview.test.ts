import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import * as RulePreview from "@afterturn/schedule/RulePreview"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { cron, daily, instant } from "./support/rules.js"

const preview = (rule: ReminderRule, from: string, count: number, anchor = from) =>
  Either.getOrThrow(RulePreview.preview(rule, { from: instant(from), count, anchor: instant(anchor) }))

describe("preview", () => {
  it("shows instants with their local time, and what the zone skips before them", () => {
    assert.deepStrictEqual(preview(cron("30 2 * * *", "America/New_York"), "2026-03-07T12:00Z", 2), [
      {
        at: "2026-03-09T06:30:00.000Z",
        local: "2026-03-09T02:30:00-04:00",
        note: "2026-03-08T02:30:00 before it is skipped: clocks go from 2026-03-08T02:00:00 to 2026-03-08T03:00:00"
      },
      { at: "2026-03-10T06:30:00.000Z", local: "2026-03-10T02:30:00-04:00" }
    ])
  })

  it("says which local time clocks show again", () => {
    const [first, second] = preview(cron("0 * * * *", "US/Pacific"), "2026-11-01T07:30Z", 2)
    assert.include(first?.note, "again at 2026-11-01T09:00:00.000Z")
    assert.deepStrictEqual(second, { at: "2026-11-01T10:00:00.000Z", local: "2026-11-01T02:00:00-08:00" })
  })

  it("shows rules without a zone in UTC", () => {
    assert.deepStrictEqual(preview({ every_seconds: 90 }, "2026-01-01T00:01:30Z", 2), [
      { at: "2026-01-01T00:03:00.000Z", local: "2026-01-01T00:03:00+00:00" },
      { at: "2026-01-01T00:04:30.000Z", local: "2026-01-01T00:04:30+00:00" }
    ])
  })

  it("ends where the rule does", () => {
    assert.lengthOf(preview({ after_seconds: 60 }, "2026-01-01", 5, "2026-01-01T00:01Z"), 1)
    assert.lengthOf(preview(daily("09:00:00"), "9999-12-30T00:00Z", 5), 2)
    assert.lengthOf(preview(daily("09:00:00"), "2026-01-01", 0), 0)
  })

  it("says what is wrong with a rule that was stored by someone else", () => {
    const options = { from: instant("2026-01-01"), anchor: instant("2026-01-01"), count: 1 }
    const error = Either.getOrThrow(Either.flip(RulePreview.preview(daily("09:00:00", "Mars/Base"), options)))
    assert.strictEqual(error.code, "invalid_time_zone")
  })
})

describe("localText", () => {
  it("is the clock's face in a zone, with its offset", () => {
    assert.strictEqual(
      RulePreview.localText(instant("2026-07-01T12:00:00.250Z"), "Asia/Kolkata"),
      "2026-07-01T17:30:00.250+05:30"
    )
    assert.strictEqual(RulePreview.localText(instant("1970-01-01"), "Africa/Monrovia"), "1969-12-31T23:15:30-00:44:30")
    assert.isUndefined(RulePreview.localText(instant("2026-07-01"), "Mars/Base"))
  })
})
