import { assert, describe, it } from "@effect/vitest"
import * as Kills from "../../bench/hard/kills.js"
import { bundle } from "../support/afterturn.js"

describe("the command, killed while it runs a session", () => {
  it("loses nothing that it said, tells nothing twice, and leaves no process behind", {
    timeout: 120_000
  }, async () => {
    const report = await Kills.run({ command: bundle(), way: "mcp", seed: 5, rounds: 2 })
    assert.deepStrictEqual(report.faults, [])
    assert.strictEqual(report.rounds, 2)
    assert.isAbove(report.events, 10)
  })
})
