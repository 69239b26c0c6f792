import * as Instant from "@afterturn/session-log/Instant"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"

const isInstant = Schema.is(Instant.Instant)

describe("an instant", () => {
  it("is UTC text with milliseconds and a year of four digits", () => {
    assert.strictEqual(Instant.format(0), "1970-01-01T00:00:00.000Z")
    assert.isTrue(isInstant("2026-03-09T06:30:00.123Z"))
    assert.isTrue(isInstant("2024-02-29T23:59:59.999Z"))
  })

  it("exists in the calendar and is written in one way", () => {
    for (const text of [
      "2026-02-29T00:00:00.000Z",
      "2026-13-01T00:00:00.000Z",
      "2026-03-09T24:00:00.000Z",
      "2026-03-09T06:30:60.000Z",
      "2026-03-09T06:30:00Z",
      "2026-03-09T06:30:00.000+01:00",
      "+002026-03-09T06:30:00.000Z",
      "2026-03-09",
      ""
    ]) {
      assert.isFalse(isInstant(text), text)
    }
  })

  it("is read back as the milliseconds that it was made of", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }),
        (millis) => Instant.toMillis(Instant.format(millis)) === millis && isInstant(Instant.format(millis))
      )
    )
    assert.isNaN(Instant.toMillis("yesterday"))
  })

  it.effect("is now by the clock", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_500)
      assert.strictEqual(yield* Instant.now, "1970-01-01T00:00:01.500Z")
    })
  )
})
