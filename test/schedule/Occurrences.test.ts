import * as Occurrences from "@afterturn/schedule/Occurrences"
import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { cron, daily, following, instant, next, parsed, weekly } from "./support/rules.js"

const due = (rule: ReminderRule, scheduledAt: string, now: string) =>
  Option.getOrUndefined(
    Either.getOrThrow(Occurrences.latestDue(rule, { scheduledAt: instant(scheduledAt), now: instant(now) }))
  )

describe("where clocks go forward", () => {
  it("skips a local time that does not exist", () => {
    const expected = ["2026-03-09T06:30Z", "2026-03-10T06:30Z"]
    assert.deepStrictEqual(following(daily("02:30:00", "America/New_York"), "2026-03-07T12:00Z", 2), expected)
    assert.deepStrictEqual(following(cron("30 2 * * *", "America/New_York"), "2026-03-07T12:00Z", 2), expected)
    assert.deepStrictEqual(following(weekly([7], "02:30:00", "America/New_York"), "2026-03-02", 1), [
      "2026-03-15T06:30Z"
    ])
    assert.deepStrictEqual(following(cron("0 2 * * *", "Europe/Copenhagen"), "2026-03-28T12:00Z", 1), [
      "2026-03-30T00:00Z"
    ])
  })

  it("skips it too when asked from within the gap", () => {
    const rule = cron("30 2 * * *", "America/New_York")
    for (const after of ["2026-03-08T06:59:59.999Z", "2026-03-08T07:00Z", "2026-03-08T07:29Z", "2026-03-08T07:30Z"]) {
      assert.strictEqual(next(rule, after), "2026-03-09T06:30:00.000Z")
    }
  })

  it("keeps what follows the gap, also where it begins at midnight", () => {
    assert.deepStrictEqual(following(cron("0 1 4 11 *", "America/Sao_Paulo"), "2018-11-04T02:00Z", 2), [
      "2018-11-04T03:00Z",
      "2019-11-04T04:00Z"
    ])
    assert.deepStrictEqual(following(cron("0 0 * * *", "Africa/Cairo"), "2026-04-22T12:00Z", 2), [
      "2026-04-22T22:00Z",
      "2026-04-24T21:00Z"
    ])
    assert.deepStrictEqual(following(cron("0 0 * * *", "America/Santiago"), "2026-09-04T12:00Z", 2), [
      "2026-09-05T04:00Z",
      "2026-09-07T03:00Z"
    ])
  })

  it("skips a whole day that a zone never had", () => {
    assert.deepStrictEqual(following(daily("10:00:00", "Pacific/Apia"), "2011-12-29T00:00Z", 3), [
      "2011-12-29T20:00Z",
      "2011-12-30T20:00Z",
      "2011-12-31T20:00Z"
    ])
    assert.deepStrictEqual(following(weekly([5], "10:00:00", "Pacific/Apia"), "2011-12-24T00:00Z", 2), [
      "2012-01-05T20:00Z",
      "2012-01-12T20:00Z"
    ])
  })

  it("moves no minute to another where clocks change by half an hour", () => {
    assert.deepStrictEqual(following(cron("*/30 * * * *", "Australia/Lord_Howe"), "2026-10-03T15:00Z", 3), [
      "2026-10-03T15:30Z",
      "2026-10-03T16:00Z",
      "2026-10-03T16:30Z"
    ])
    assert.deepStrictEqual(following(cron("15 2 * * *", "Australia/Lord_Howe"), "2026-10-03T15:00Z", 1), [
      "2026-10-04T15:15Z"
    ])
  })
})

describe("where clocks go back", () => {
  it("takes a repeated local time once, at its earlier instant", () => {
    assert.deepStrictEqual(following(cron("30 1 * * *", "America/New_York"), "2026-10-31T12:00Z", 2), [
      "2026-11-01T05:30Z",
      "2026-11-02T06:30Z"
    ])
    assert.deepStrictEqual(following(cron("30 2 * * *", "Europe/Berlin"), "2026-10-24T12:00Z", 2), [
      "2026-10-25T00:30Z",
      "2026-10-26T01:30Z"
    ])
    assert.deepStrictEqual(following(weekly([7], "01:30:00", "America/New_York"), "2026-10-26", 2), [
      "2026-11-01T05:30Z",
      "2026-11-08T06:30Z"
    ])
  })

  it("answers nothing that is past when asked from the second time around", () => {
    assert.strictEqual(next(cron("* * * * *", "America/New_York"), "2026-11-01T06:30:15Z"), "2026-11-01T07:00:00.000Z")
    assert.strictEqual(next(daily("01:45:00", "America/New_York"), "2026-11-01T06:30:15Z"), "2026-11-02T06:45:00.000Z")
  })

  it("shows each minute of the clock once, so that hourly ones pause", () => {
    assert.deepStrictEqual(following(cron("0 * * * *", "US/Pacific"), "2026-11-01T07:30Z", 4), [
      "2026-11-01T08:00Z",
      "2026-11-01T10:00Z",
      "2026-11-01T11:00Z",
      "2026-11-01T12:00Z"
    ])
    assert.deepStrictEqual(following(cron("*/30 * * * *", "Europe/London"), "2026-10-25T00:00Z", 4), [
      "2026-10-25T00:30Z",
      "2026-10-25T02:00Z",
      "2026-10-25T02:30Z",
      "2026-10-25T03:00Z"
    ])
    assert.deepStrictEqual(following(cron("* * * * *", "Europe/Oslo"), "2025-10-26T00:58Z", 2), [
      "2025-10-26T00:59Z",
      "2025-10-26T02:00Z"
    ])
  })

  it("leaves an elapsed rhythm alone", () => {
    assert.deepStrictEqual(following({ every_seconds: 3600 }, "2026-11-01T04:30Z", 4), [
      "2026-11-01T05:30Z",
      "2026-11-01T06:30Z",
      "2026-11-01T07:30Z",
      "2026-11-01T08:30Z"
    ])
  })
})

describe("days of cron", () => {
  it("matches a date by either of two restricted day fields", () => {
    assert.deepStrictEqual(following(cron("0 0 13 * 5"), "2026-09-01", 5), [
      "2026-09-04T00:00Z",
      "2026-09-11T00:00Z",
      "2026-09-13T00:00Z",
      "2026-09-18T00:00Z",
      "2026-09-25T00:00Z"
    ])
  })

  it("matches by both where one begins with a star", () => {
    assert.deepStrictEqual(following(cron("0 0 */2 * 5"), "2026-09-01", 3), [
      "2026-09-11T00:00Z",
      "2026-09-25T00:00Z",
      "2026-10-09T00:00Z"
    ])
    assert.deepStrictEqual(following(cron("0 0 29 2 */7"), "2026-01-01", 2), ["2032-02-29T00:00Z", "2060-02-29T00:00Z"])
  })

  it("takes 7 and 0 for Sunday", () => {
    assert.deepStrictEqual(following(cron("0 9 * * 7"), "2026-09-22", 1), ["2026-09-27T09:00Z"])
    assert.deepStrictEqual(following(cron("0 9 * * 0"), "2026-09-22", 1), ["2026-09-27T09:00Z"])
  })

  it("takes the months that have the date", () => {
    assert.deepStrictEqual(following(cron("0 0 31 4,5 *"), "2026-09-22", 1), ["2027-05-31T00:00Z"])
    assert.deepStrictEqual(following(cron("0 0 29 2 *"), "2096-03-01", 2), ["2104-02-29T00:00Z", "2108-02-29T00:00Z"])
  })
})

describe("next", () => {
  it("goes on from the occurrence, not from when someone woke", () => {
    const rule = cron("17 12 * * *", "Europe/London")
    assert.strictEqual(next(rule, "2025-12-08T12:16:59.998Z"), "2025-12-08T12:17:00.000Z")
    assert.strictEqual(next(rule, "2025-12-08T12:17:00Z"), "2025-12-09T12:17:00.000Z")
    assert.strictEqual(next(cron("0 * * * *", "Europe/Moscow"), "2026-06-25T10:59:44Z"), "2026-06-25T11:00:00.000Z")
  })

  it("aligns a fixed rate by its anchor, and has nothing before it", () => {
    const rule = { every_seconds: 90 }
    assert.strictEqual(next(rule, "2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z"), "2026-01-01T00:01:30.000Z")
    assert.strictEqual(next(rule, "2026-01-01T00:01:30Z", "2026-01-01T00:01:30Z"), "2026-01-01T00:03:00.000Z")
    assert.strictEqual(next(rule, "2026-01-01T00:10:31Z", "2026-01-01T00:01:30Z"), "2026-01-01T00:12:00.000Z")
  })

  it("has nothing after the one occurrence of a rule that comes once", () => {
    for (const rule of [{ after_seconds: 30 }, { at: "2026-01-01T00:00:30Z" }]) {
      assert.strictEqual(next(rule, "2026-01-01T00:00:00Z", "2026-01-01T00:00:30Z"), "2026-01-01T00:00:30.000Z")
      assert.isUndefined(next(rule, "2026-01-01T00:00:30Z", "2026-01-01T00:00:30Z"))
    }
  })

  it("ends with the years that have four digits", () => {
    assert.strictEqual(next(daily("23:00:00"), "9999-12-31T22:00Z"), "9999-12-31T23:00:00.000Z")
    assert.isUndefined(next(daily("23:00:00"), "9999-12-31T23:00Z"))
    assert.isUndefined(next(daily("23:00:00", "Etc/GMT+12"), "9999-12-31T12:00Z"))
    assert.isUndefined(next(cron("0 0 1 1 *"), "9999-06-01"))
    assert.isUndefined(next({ every_seconds: 60 }, "9999-12-31T23:59:30Z", "2026-01-01"))
  })

  it("says what is wrong with a rule that was stored by someone else", () => {
    const options = { after: instant("2026-01-01"), anchor: instant("2026-01-01") }
    for (const [rule, code] of [
      [daily("09:00:00", "Europe/Atlantis"), "invalid_time_zone"],
      [daily("25:00:00"), "invalid_rule"],
      [weekly([8], "09:00:00"), "invalid_rule"],
      [cron("0 0 31 2 *"), "invalid_rule"],
      [{ every_seconds: 0 }, "invalid_rule"]
    ] as const) {
      assert.strictEqual(Either.getOrThrow(Either.flip(Occurrences.next(rule, options))).code, code)
    }
  })
})

describe("latestDue", () => {
  it("is none before the occurrence and that occurrence at its instant", () => {
    const rule = daily("09:00:00")
    assert.isUndefined(due(rule, "2026-01-02T09:00Z", "2026-01-02T08:59:59.999Z"))
    assert.deepStrictEqual(due(rule, "2026-01-02T09:00Z", "2026-01-02T09:00Z"), {
      occurrenceAt: "2026-01-02T09:00:00.000Z",
      missed: 0
    })
  })

  it("is the latest one, and counts those before it", () => {
    assert.deepStrictEqual(due(cron("0 4 * * *", "America/New_York"), "2026-02-07T09:00Z", "2026-02-09T12:00Z"), {
      occurrenceAt: "2026-02-09T09:00:00.000Z",
      missed: 2
    })
    assert.deepStrictEqual(due({ every_seconds: 60 }, "2016-01-01T00:00:07Z", "2026-01-01T00:00:30Z"), {
      occurrenceAt: "2026-01-01T00:00:07.000Z",
      missed: 5_260_320
    })
  })

  it("leaves rules that come once at their one occurrence", () => {
    assert.deepStrictEqual(due({ after_seconds: 5 }, "2026-01-01T00:00:05Z", "2036-01-01"), {
      occurrenceAt: "2026-01-01T00:00:05.000Z",
      missed: 0
    })
  })

  it("knows the minutes that a zone skipped and repeated in ten years", () => {
    const rule = cron("* * * * *", "America/New_York")
    // Each spring loses an hour of labels; the repeated hour of each autumn counts once.
    const minutes = (Date.parse("2026-01-01T05:00Z") - Date.parse("2016-01-01T05:00Z")) / 60_000
    assert.deepStrictEqual(due(rule, "2016-01-01T05:00Z", "2026-01-01T05:00:30Z"), {
      occurrenceAt: "2026-01-01T05:00:00.000Z",
      missed: minutes - 10 * 60
    })
  })

  it("keeps an occurrence that the rule would not have today", () => {
    assert.deepStrictEqual(due(daily("09:00:00"), "2026-01-02T08:00Z", "2026-01-02T08:30Z"), {
      occurrenceAt: "2026-01-02T08:00:00.000Z",
      missed: 0
    })
    assert.deepStrictEqual(due(daily("09:00:00"), "2026-01-02T08:00Z", "2026-01-02T09:30Z"), {
      occurrenceAt: "2026-01-02T09:00:00.000Z",
      missed: 1
    })
  })
})

describe("a rule of long delays", () => {
  it("takes delays that no timer holds", () => {
    const now = "2026-09-22T00:00Z"
    assert.strictEqual(parsed({ after_seconds: 2_592_000 }, now).scheduledAt, "2026-10-22T00:00:00.000Z")
    assert.strictEqual(parsed({ every_seconds: 2_592_000 }, now).scheduledAt, "2026-10-22T00:00:00.000Z")
    assert.strictEqual(parsed({ at: "2027-09-22T00:00:00Z" }, now).scheduledAt, "2027-09-22T00:00:00.000Z")
  })
})
