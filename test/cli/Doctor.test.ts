import { examine, node } from "@afterturn/cli/Doctor"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

describe("node", () => {
  it("asks for a newer one where it is too old", () => {
    assert.deepStrictEqual(node("18.20.1"), { check: "node", ok: false, detail: "18.20.1; expected 20 or newer" })
    assert.deepStrictEqual(node("22.1.0"), { check: "node", ok: true, detail: "22.1.0" })
  })
})

describe("examine", () => {
  it.live("looks at a database in memory, which has neither a disk nor output of jobs", () =>
    Effect.gen(function* () {
      const findings = yield* examine(":memory:")
      assert.deepStrictEqual(
        findings.map(({ check, ok }) => [check, ok]),
        ["node", "database", "sessions", "models", "time zones"].map((check) => [check, true])
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )
})
