import { describe as words } from "@afterturn/schedule/RuleText"
import { assert, describe, it } from "@effect/vitest"
import { cron, daily, weekly } from "./support/rules.js"

describe("a rule in words", () => {
  it("says when it comes", () => {
    for (const [rule, text] of [
      [{ after_seconds: 90 }, "once, 1 minute 30 seconds after it was made"],
      [{ at: "2026-01-01T10:00:00Z" }, "once, at 2026-01-01T10:00:00Z"],
      [
        { at: { date: "2026-06-01", time: "09:00:00", time_zone: "America/Los_Angeles" } },
        "once, at 2026-06-01 09:00:00 in America/Los_Angeles"
      ],
      [{ every_seconds: 3600 }, "every 1 hour, counted from when it was made"],
      [{ every_seconds: 90_061 }, "every 1 day 1 hour 1 minute 1 second, counted from when it was made"],
      [daily("09:00:00", "Europe/Berlin"), "every day at 09:00:00 in Europe/Berlin"],
      [weekly([5, 1], "09:00:00"), "every Monday and Friday at 09:00:00 in UTC"],
      [weekly([1, 2, 3, 4, 5], "09:00:00"), "every Monday to Friday at 09:00:00 in UTC"],
      [weekly([1, 2, 3, 4, 5, 6, 7], "09:00:00"), "every day at 09:00:00 in UTC"]
    ] as const) {
      assert.strictEqual(words(rule), text)
    }
  })

  it("says what a cron expression was taken for", () => {
    for (const [expression, text] of [
      ["* * * * *", "every minute in UTC"],
      ["0 * * * *", "at minute 0 of every hour in UTC"],
      ["*/45 * * * *", "at minutes 0 and 45 of every hour in UTC"],
      ["0 9 * * *", "at 09:00 every day in UTC"],
      ["0,30 9,18 * * *", "at 09:00, 09:30, 18:00 and 18:30 every day in UTC"],
      ["*/15 9-17 * * 1-5", "at minutes 0, 15, 30 and 45 of hours 9 to 17 on every Monday to Friday in UTC"],
      ["* 9 * * *", "every minute of hour 9 every day in UTC"],
      ["0 0 13 * 5", "at 00:00 on day 13 of the month and also on every Friday in UTC"],
      [
        "0 0 */2 * 5",
        "at 00:00 on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of the month if that is a Friday in UTC"
      ],
      ["0 9 1,15 * *", "at 09:00 on days 1 and 15 of the month in UTC"],
      ["0 9 1 1,7 *", "at 09:00 on day 1 of the month in January and July in UTC"],
      ["0 9 * * 0,6", "at 09:00 on every Saturday and Sunday in UTC"]
    ] as const) {
      assert.strictEqual(words(cron(expression)), text)
    }
  })

  it("has words for a stored expression that is none", () => {
    assert.strictEqual(words(cron("whenever", "Mars/Base")), 'by cron "whenever" in Mars/Base')
  })
})
