import * as AgentModel from "@afterturn/agent/AgentModel"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

describe("parseRoute", () => {
  it("splits at the first colon", () => {
    assert.deepStrictEqual(Either.getOrThrow(AgentModel.parseRoute("scripted:C:/a.json")), {
      provider: "scripted",
      name: "C:/a.json"
    })
  })

  it("says what it expected", () => {
    for (const route of ["", "opus", ":x", "anthropic:", "gemini:pro"]) {
      const refused = AgentModel.parseRoute(route)
      assert.isTrue(Either.isLeft(refused), route)
      if (Either.isLeft(refused)) assert.include(refused.left.message, "expected anthropic:NAME")
    }
  })
})
