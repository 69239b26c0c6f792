import * as Approve from "@afterturn/cli/Approve"
import { assert, describe, it } from "@effect/vitest"
import * as Option from "effect/Option"

describe("resolve", () => {
  it("trusts what a script says, asks about any other model, and obeys what was given", () => {
    assert.strictEqual(Approve.resolve(Option.none(), "scripted:demo.json"), "allow")
    assert.strictEqual(Approve.resolve(Option.none(), "anthropic:scripted:x"), "ask")
    for (const policy of Approve.policies) {
      assert.strictEqual(Approve.resolve(Option.some(policy), "scripted:demo.json"), policy)
      assert.strictEqual(Approve.resolve(Option.some(policy), "openai:x"), policy)
    }
  })
})
