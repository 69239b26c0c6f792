import { InvalidRule, refuse } from "@afterturn/schedule/InvalidRule"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

describe("a refusal", () => {
  it("begins with the place, where there is one", () => {
    assert.deepStrictEqual(
      refuse("invalid_rule", "daily.time", "expected a time"),
      Either.left(
        new InvalidRule({
          code: "invalid_rule",
          path: "daily.time",
          message: "daily.time: expected a time",
          suggestions: []
        })
      )
    )
    assert.strictEqual(
      Either.getOrThrow(Either.flip(refuse("invalid_selector", "", "give one", ["at"]))).message,
      "give one"
    )
  })
})
