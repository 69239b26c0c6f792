import { CallPatience, limit } from "@afterturn/agent/CallPatience"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

describe("limit", () => {
  it.effect("is what was wanted where nobody is in a hurry", () =>
    Effect.gen(function* () {
      assert.strictEqual(Duration.toMillis(yield* limit("10 minutes")), 600_000)
    })
  )

  it.effect("is no longer than the caller waits", () =>
    Effect.gen(function* () {
      assert.strictEqual(Duration.toMillis(yield* limit("10 minutes")), 45_000)
      assert.strictEqual(Duration.toMillis(yield* limit("5 seconds")), 5_000)
      assert.strictEqual(Duration.toMillis(yield* limit(0)), 0)
    }).pipe(Effect.provideService(CallPatience, Duration.seconds(45)))
  )
})
