import * as TimeZone from "@afterturn/schedule/TimeZone"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const read = (name: unknown) => Either.getOrThrow(TimeZone.parse(name))

const refused = (name: unknown) => Either.getOrThrow(Either.flip(TimeZone.parse(name)))

describe("a name", () => {
  it("is UTC or has a slash, and stays the one that was given", () => {
    for (const name of [
      "UTC",
      "Asia/Kolkata",
      "Asia/Calcutta",
      "US/Pacific",
      "Etc/GMT+5",
      "America/Argentina/Ushuaia"
    ]) {
      assert.strictEqual(read(name), name)
    }
  })

  it("is answered in the letter case of the database", () => {
    for (const name of [
      ...Intl.supportedValuesOf("timeZone").filter((it) => it.includes("/")),
      "America/Port_of_Spain",
      "America/Knox_IN",
      "Antarctica/DumontDUrville",
      "Antarctica/McMurdo",
      "Australia/LHI",
      "Brazil/DeNoronha",
      "Chile/EasterIsland",
      "Etc/GMT0",
      "Etc/UTC",
      "Mexico/BajaNorte",
      "Canada/Newfoundland",
      "US/East-Indiana"
    ]) {
      assert.strictEqual(read(name.toLowerCase()), name)
      assert.strictEqual(read(name.toUpperCase()), name)
    }
    assert.strictEqual(read("utc"), "UTC")
  })

  it("is refused with what may have been meant", () => {
    for (const [name, ...suggestions] of [
      ["America/New_Yrok", "America/New_York"],
      ["Europe/Budapesst", "Europe/Budapest"],
      ["Asia/Kolkatta", "Asia/Kolkata"],
      ["Asia/Berlin", "Europe/Berlin"],
      ["Berlin", "Europe/Berlin"],
      ["new york", "America/New_York"],
      ["UTC+3", "Etc/GMT-3"],
      ["GMT-5", "Etc/GMT+5"],
      ["+02:00", "Etc/GMT-2"],
      ["+0000", "UTC"],
      ["+05:30", "Asia/Kolkata"],
      ["-03:30", "America/St_Johns"],
      ["EST", "America/New_York", "America/Panama"],
      ["EST5EDT", "America/New_York"],
      ["GMT", "UTC", "Europe/London"],
      ["Z", "UTC"],
      ["SystemV/EST5"],
      ["Mars/Olympus_Mons"],
      ["+26:00"],
      ["UTC "],
      [""]
    ] as const) {
      const error = refused(name)
      assert.strictEqual(error.code, "invalid_time_zone")
      if (name !== "UTC ") assert.deepStrictEqual(error.suggestions, suggestions, name)
      for (const suggestion of error.suggestions) assert.include(error.message, suggestion)
    }
  })

  it("is refused when it is no text, and never thrown about", () => {
    for (const name of [
      undefined,
      null,
      5,
      {},
      [],
      "x".repeat(1_000_000),
      "Europe/Berlin\0",
      "Europe/",
      "/",
      "a/b/c/d"
    ]) {
      assert.strictEqual(refused(name).code, "invalid_time_zone")
    }
  })
})

describe("offsetAt", () => {
  it("is what the zone's clocks differ from UTC by", () => {
    const minutes = (zone: string, at: string) => (TimeZone.offsetAt(zone, Date.parse(at)) ?? Number.NaN) / 60_000
    assert.strictEqual(minutes("UTC", "2026-07-01"), 0)
    assert.strictEqual(minutes("America/New_York", "2026-03-08T06:59:59.999Z"), -300)
    assert.strictEqual(minutes("America/New_York", "2026-03-08T07:00Z"), -240)
    assert.strictEqual(minutes("Asia/Kathmandu", "2026-01-01"), 345)
    assert.strictEqual(minutes("Africa/Monrovia", "1970-01-01"), -44.5)
    assert.isUndefined(TimeZone.offsetAt("Mars/Olympus_Mons", 0))
  })

  it("knows summers of a week", () => {
    for (const [zone, standard] of [
      ["America/Boa_Vista", -4],
      ["America/Recife", -3],
      ["America/Noronha", -2]
    ] as const) {
      const hours = ["2000-10-08", "2000-10-11T12:00Z", "2000-10-16"].map(
        (at) => (TimeZone.offsetAt(zone, Date.parse(at)) ?? Number.NaN) / 3_600_000
      )
      assert.deepStrictEqual(hours, [standard, standard + 1, standard])
    }
  })
})
