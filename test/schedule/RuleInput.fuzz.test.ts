import * as CronExpression from "@afterturn/schedule/CronExpression"
import * as Occurrences from "@afterturn/schedule/Occurrences"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import * as RulePreview from "@afterturn/schedule/RulePreview"
import * as RuleText from "@afterturn/schedule/RuleText"
import type { Instant } from "@afterturn/session-log/Instant"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as fc from "fast-check"
import { nearly, nearlyText, runs, strings } from "../support/hostile.js"

const now = "2026-03-29T00:30:00.000Z" as Instant

const rules = [
  { after_seconds: 60 },
  { every_seconds: 90 },
  { at: "2026-04-01T09:00:00+02:00" },
  { at: { date: "2026-10-25", time: "02:30:00", time_zone: "Europe/Berlin" } },
  { daily: { time: "02:30", time_zone: "Europe/Berlin" } },
  { weekly: { time: "09:00", time_zone: "America/New_York", weekdays: [1, 5] } },
  { weekly: { time: "09:00", time_zone: "Pacific/Apia", weekdays: ["mon", "sun"] } },
  { cron: { expression: "*/15 9-17 1,15 jan-mar 1-5", time_zone: "Asia/Kolkata" } },
  { cron: { expression: "30 2 29 2 *", time_zone: "UTC" } }
]

const expressions = [
  "* * * * *",
  "*/15 9-17 1,15 jan-mar mon-fri",
  "0 0 29 2 *",
  "59 23 31 12 7",
  "@daily",
  "0-59/7 */5 * * 0"
]

const isRefusal = (error: { readonly code: string; readonly message: string }) => {
  assert.match(error.code, /^[a-z_]+$/)
  assert.isAbove(error.message.length, 10)
  assert.isBelow(error.message.length, 2_000)
}

describe("whatever is sent as a rule", () => {
  it("is refused with a reason of bounded length, or has a first occurrence that the rule itself agrees with", () => {
    fc.assert(
      fc.property(nearly(rules), (input) => {
        const parsed = RuleInput.parse(input, { now })
        if (Either.isLeft(parsed)) return isRefusal(parsed.left)
        const { rule, scheduledAt } = parsed.right
        assert.isAbove(Date.parse(scheduledAt), Date.parse(now))
        // What was stored must read back the same, and go on.
        assert.deepStrictEqual(Either.getOrThrow(RuleInput.parse(rule, { now })), { rule, scheduledAt })
        const next = Either.getOrThrow(Occurrences.next(rule, { after: scheduledAt, anchor: scheduledAt }))
        if (Option.isSome(next)) assert.isAbove(Date.parse(next.value), Date.parse(scheduledAt))
        const shown = Either.getOrThrow(RulePreview.preview(rule, { from: now, count: 2, anchor: scheduledAt }))
        assert.strictEqual(shown[0]?.at, scheduledAt)
        assert.isBelow(RuleText.describe(rule).length, 2_000)
      }),
      runs(60, 5_000)
    )
  })
})

describe("whatever is sent as a cron expression", () => {
  it("is refused with a reason, or allows values of each field in ascending order", () => {
    fc.assert(
      fc.property(fc.oneof(nearlyText(expressions), fc.constantFrom(...strings)), (text) => {
        const parsed = CronExpression.parse(text)
        if (Either.isLeft(parsed)) return isRefusal(parsed.left)
        const { dates, hours, minutes, months, weekdays } = parsed.right
        for (const [values, least, most] of [
          [minutes, 0, 59],
          [hours, 0, 23],
          [dates, 1, 31],
          [months, 1, 12],
          [weekdays, 0, 6]
        ] as const) {
          assert.isAbove(values.length, 0)
          assert.deepStrictEqual(
            values,
            [...new Set(values)].sort((a, b) => a - b)
          )
          assert.isTrue(values.every((value) => Number.isInteger(value) && value >= least && value <= most))
        }
      }),
      runs(100, 10_000)
    )
  })
})
