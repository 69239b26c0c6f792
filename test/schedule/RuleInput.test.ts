import * as RuleInput from "@afterturn/schedule/RuleInput"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import { cron, daily, instant, parsed, refused, weekly } from "./support/rules.js"

const codeOf = (input: unknown, now?: string) => refused(input, now).code

describe("the choice of a rule", () => {
  const oneOf = "give exactly one of after_seconds, at, every_seconds, daily, weekly, cron"

  it("has to be of exactly one, whatever its value", () => {
    const { cron: rule } = cron("0 9 * * *")
    for (const [input, rest] of [
      [{ after_seconds: 0, at: "", cron: rule }, "got after_seconds, at, cron"],
      [{ after_seconds: 60, cron: rule }, "got after_seconds, cron"],
      [{}, "got none"],
      [null, "got null"],
      [[], "got an array"],
      ["daily", 'got "daily"'],
      [{ corn: rule }, 'got the key "corn"']
    ] as const) {
      assert.strictEqual(refused(input).message, `${oneOf}, ${rest}`)
      assert.strictEqual(codeOf(input), "invalid_selector")
    }
  })

  it("takes null for absent", () => {
    const { cron: rule } = cron("0 9 * * *")
    const input = { at: null, after_seconds: null, every_seconds: null, daily: null, weekly: undefined, cron: rule }
    assert.deepStrictEqual(parsed(input, "2026-09-22").rule, { cron: rule })
  })

  it("survives values that are no JSON", () => {
    const throwing = { enumerable: true, get: () => assert.fail("read") }
    assert.strictEqual(codeOf(Object.defineProperty({}, "at", throwing)), "invalid_selector")
    fc.assert(
      fc.property(fc.anything({ withDate: true, withBigInt: true, withNullPrototype: true }), (value) => {
        for (const key of ["after_seconds", "at", "every_seconds", "daily", "weekly", "cron"]) {
          RuleInput.parse({ [key]: value }, { now: instant("2026-01-01") })
        }
      })
    )
  })
})

describe("seconds", () => {
  it("are whole and positive", () => {
    for (const value of [0, -1, -5, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "90", "", "abc", true, {}, 2 ** 53]) {
      assert.strictEqual(codeOf({ after_seconds: value }), "invalid_rule", String(value))
      assert.strictEqual(codeOf({ every_seconds: value }), "invalid_rule", String(value))
    }
    assert.strictEqual(
      refused({ after_seconds: 0 }).message,
      "after_seconds: expected a whole number of seconds from 1, got 0"
    )
  })

  it("stay within the years with four digits, and say how many that allows", () => {
    const error = refused({ every_seconds: 1e12 }, "2026-09-22")
    assert.strictEqual(error.code, "time_out_of_range")
    assert.include(error.message, "expected seconds from 1 to 251612265599")
    assert.strictEqual(parsed({ after_seconds: 251_612_265_599 }, "2026-09-22").scheduledAt, "9999-12-31T23:59:59.000Z")
  })

  it("of a rhythm are as many as the deployment allows at least", () => {
    const error = refused({ every_seconds: 59 })
    assert.strictEqual(error.code, "frequency_too_high")
    assert.deepStrictEqual(error.suggestions, ["60"])
    assert.strictEqual(refused({ every_seconds: 299 }, "2026-09-22", 300).code, "frequency_too_high")
    assert.deepStrictEqual(parsed({ every_seconds: 300 }, "2026-09-22", 300), {
      rule: { every_seconds: 300 },
      scheduledAt: "2026-09-22T00:05:00.000Z"
    })
    assert.deepStrictEqual(parsed({ every_seconds: 1 }, "2026-09-22", 1).rule, { every_seconds: 1 })
  })
})

describe("an absolute time with an offset", () => {
  it("is RFC 3339 with up to three fractional digits", () => {
    for (const [text, at] of [
      ["2026-01-01T10:00:00Z", "2026-01-01T10:00:00.000Z"],
      ["2026-01-01t10:00:00z", "2026-01-01T10:00:00.000Z"],
      ["2026-01-01T10:00:00.5+05:30", "2026-01-01T04:30:00.500Z"],
      ["2026-01-01T10:00:00.123-23:59", "2026-01-02T09:59:00.123Z"],
      ["2028-02-29T23:59:59-00:00", "2028-02-29T23:59:59.000Z"]
    ] as const) {
      assert.deepStrictEqual(parsed({ at: text }, "2025-09-22"), { rule: { at: text }, scheduledAt: at })
    }
  })

  it("is refused where it does not exist", () => {
    for (const [text, problem] of [
      ["2026-02-30T10:00:00Z", "there is no day 2026-02-30"],
      ["2026-13-01T10:00:00Z", "there is no day 2026-13-01"],
      ["2026-01-01T24:00:00Z", "there is no time 24:00:00"],
      ["2026-06-30T23:59:60Z", "there is no time 23:59:60"],
      ["2026-01-01T10:00:00+24:00", "expected an offset up to ±23:59"],
      ["2026-01-01T10:00:00+05:60", "expected an offset up to ±23:59"]
    ] as const) {
      assert.strictEqual(codeOf({ at: text }, "2025-09-22"), "invalid_rule")
      assert.include(refused({ at: text }, "2025-09-22").message, problem)
    }
  })

  it("is refused in other spellings, with the one that is meant", () => {
    for (const [text, suggestions] of [
      ["2026-01-01 10:00:00Z", ["2026-01-01T10:00:00Z"]],
      ["2026-01-01T10:00:00+0530", ["2026-01-01T10:00:00+05:30"]],
      ["2026-01-01T10:00:00+05", ["2026-01-01T10:00:00+05:00"]],
      ["2026-01-01T10:00Z", ["2026-01-01T10:00:00Z"]],
      ["2026-01-01T10:00:00.1234Z", ["2026-01-01T10:00:00.123Z"]],
      ["2026-01-01T10:00:00", ["2026-01-01T10:00:00Z"]],
      ["tomorrow", []],
      ["", []]
    ] as const) {
      const error = refused({ at: text }, "2025-09-22")
      assert.strictEqual(error.code, "invalid_rule")
      assert.deepStrictEqual(error.suggestions, suggestions, text)
      for (const suggestion of suggestions) parsed({ at: suggestion }, "2025-09-22")
    }
  })

  it("lies strictly in the future, in a year of four digits", () => {
    assert.strictEqual(codeOf({ at: "2026-09-22T00:00:00Z" }), "not_future")
    assert.strictEqual(codeOf({ at: "2026-09-22T01:59:59.999+02:00" }), "not_future")
    assert.strictEqual(parsed({ at: "2026-09-22T00:00:00.001Z" }, "2026-09-22").scheduledAt, "2026-09-22T00:00:00.001Z")
    assert.strictEqual(codeOf({ at: "9999-12-31T23:00:00-02:00" }), "time_out_of_range")
    assert.strictEqual(codeOf({ at: "0000-01-01T00:00:00+02:00" }), "time_out_of_range")
  })

  it("says now and the instant that was meant", () => {
    const error = refused({ at: "2026-09-21T23:00:00Z" })
    assert.include(error.message, "2026-09-22T00:00:00.000Z")
    assert.include(error.message, "2026-09-21T23:00:00.000Z")
  })
})

describe("an absolute local time", () => {
  const at = (date: string, time: string, time_zone: string) => ({ at: { date, time, time_zone } })

  it("becomes an instant for good", () => {
    assert.deepStrictEqual(parsed(at("2026-06-01", "09:00:00", "America/Los_Angeles"), "2026-01-01"), {
      rule: at("2026-06-01", "09:00:00", "America/Los_Angeles"),
      scheduledAt: "2026-06-01T16:00:00.000Z"
    })
  })

  it("is its first instant when clocks show it twice", () => {
    for (const [rule, now, scheduledAt] of [
      [at("2026-11-01", "01:30:00", "America/New_York"), "2026-10-01", "2026-11-01T05:30:00.000Z"],
      [at("2026-10-25", "02:30:00", "Europe/Berlin"), "2026-10-01", "2026-10-25T00:30:00.000Z"]
    ] as const) {
      assert.strictEqual(parsed(rule, now).scheduledAt, scheduledAt)
    }
  })

  it("is past when its first instant is, and the second has a spelling", () => {
    const error = refused(at("2026-11-01", "01:30:00", "America/New_York"), "2026-11-01T06:00Z")
    assert.strictEqual(error.code, "not_future")
    assert.deepStrictEqual(error.suggestions, ["2026-11-01T01:30:00-05:00"])
    assert.strictEqual(
      parsed({ at: error.suggestions[0] }, "2026-11-01T06:00Z").scheduledAt,
      "2026-11-01T06:30:00.000Z"
    )
    const london = refused(at("2026-09-27", "19:50:00", "Europe/London"), "2026-09-27T19:00Z")
    assert.strictEqual(london.code, "not_future")
    assert.include(london.message, "2026-09-27T18:50:00.000Z")
  })

  it("is refused where clocks skip it, with the times beside the gap", () => {
    for (const [rule, now, suggestions] of [
      [at("2026-03-08", "02:30:00", "America/New_York"), "2026-01-01", ["2026-03-08T01:59:59", "2026-03-08T03:00:00"]],
      [at("2026-04-24", "00:30:00", "Africa/Cairo"), "2026-01-01", ["2026-04-23T23:59:59", "2026-04-24T01:00:00"]],
      [at("2011-12-30", "10:00:00", "Pacific/Apia"), "2011-01-01", ["2011-12-29T23:59:59", "2011-12-31T00:00:00"]]
    ] as const) {
      const error = refused(rule, now)
      assert.strictEqual(error.code, "invalid_rule")
      assert.deepStrictEqual(error.suggestions, suggestions)
      for (const suggestion of suggestions) {
        const [date = "", time = ""] = suggestion.split("T")
        parsed(at(date, time, rule.at.time_zone), now)
      }
    }
  })

  it("is exact in its fields and has no others", () => {
    for (const [rule, code] of [
      [at("2026-02-30", "09:00:00", "UTC"), "invalid_rule"],
      [at("26-02-03", "09:00:00", "UTC"), "invalid_rule"],
      [at("2027-02-03", "9:00", "UTC"), "invalid_rule"],
      [at("2027-02-03", "09:00:00", "Mars/Base"), "invalid_time_zone"],
      [{ at: { date: "2027-02-03", time: "09:00:00" } }, "invalid_rule"],
      [{ at: { ...at("2027-02-03", "09:00:00", "UTC").at, offset: "Z" } }, "invalid_rule"],
      [{ at: 1_800_000_000 }, "invalid_rule"]
    ] as const) {
      assert.strictEqual(codeOf(rule), code, JSON.stringify(rule))
    }
  })
})

describe("a calendar rule", () => {
  it("is kept as it was given, its zone in the database's letter case", () => {
    assert.deepStrictEqual(parsed(daily("09:00:00.5", "america/new_york"), "2026-09-22"), {
      rule: daily("09:00:00.5", "America/New_York"),
      scheduledAt: "2026-09-22T13:00:00.500Z"
    })
    assert.deepStrictEqual(
      parsed(daily("09:00:00", "Asia/Kolkata"), "2026-09-22").rule,
      daily("09:00:00", "Asia/Kolkata")
    )
    assert.deepStrictEqual(
      parsed(cron(" 37  4\t* * * ", "Europe/Zurich"), "2026-06-29").rule,
      cron("37 4 * * *", "Europe/Zurich")
    )
    assert.strictEqual(
      parsed(cron("37 4 * * *", "Europe/Zurich"), "2026-06-29").scheduledAt,
      "2026-06-29T02:37:00.000Z"
    )
  })

  it("keeps no reference to what it was made from", () => {
    const input = weekly([1, 3], "09:00:00")
    const { rule } = parsed(input, "2026-09-22")
    ;(input.weekly.weekdays as Array<number>).length = 0
    assert.deepStrictEqual(rule, weekly([1, 3], "09:00:00"))
  })

  it("has times of a day with seconds", () => {
    for (const time of ["9:00:00", "09:00", "24:00:00", "23:59:60", "09:00:00.1234", "09:00:00Z", "", 9, null]) {
      assert.strictEqual(codeOf({ daily: { time, time_zone: "UTC" } }), "invalid_rule", String(time))
    }
    assert.deepStrictEqual(refused(daily("9:00")).suggestions, ["09:00:00"])
  })

  it("has different weekdays from 1 to 7, at least one", () => {
    for (const weekdays of [[], [0], [8], [1, 1], [1.5], ["1"], "mon", { 0: 1 }]) {
      assert.strictEqual(codeOf({ weekly: { time: "09:00:00", time_zone: "UTC", weekdays } }), "invalid_rule")
    }
    assert.strictEqual(refused(weekly([1, 9], "09:00:00")).path, "weekly.weekdays[1]")
  })

  it("has no other keys and all of its own", () => {
    for (const input of [
      { daily: "09:00:00" },
      { daily: { time: "09:00:00" } },
      { daily: { time: "09:00:00", time_zone: "UTC", weekdays: [1] } },
      { cron: "0 9 * * *" },
      { cron: { expression: "0 9 * * *", zone: "UTC" } },
      { cron: { expression: 5, time_zone: "UTC" } }
    ]) {
      assert.strictEqual(codeOf(input), "invalid_rule", JSON.stringify(input))
    }
  })

  it("is refused without a search when its date never comes", () => {
    for (const expression of ["0 0 30 2 *", "0 0 31 4 *", "0 0 31 2,4,6 *"]) {
      assert.include(refused(cron(expression)).message, "never occurs")
    }
  })

  it("is refused when clocks skip its time on each of its days", () => {
    assert.include(refused(cron("0 0 8-14 3 */7", "America/Havana")).message, "never occurs")
  })

  it("is out of range when nothing is left of the years", () => {
    assert.strictEqual(codeOf(daily("01:00:00"), "9999-12-31T02:00Z"), "time_out_of_range")
  })
})
