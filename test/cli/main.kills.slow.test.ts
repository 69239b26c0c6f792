import { assert, describe, it } from "@effect/vitest"
import * as Kills from "../../bench/hard/kills.js"
import { bundle } from "../support/afterturn.js"

describe("the command, killed six times while it serves a session", () => {
  it("loses nothing", { timeout: 300_000 }, async () => {
    const report = await Kills.run({ command: bundle(), way: "mcp", seed: 11, rounds: 6 })
    assert.deepStrictEqual(report.faults, [])
  })
})
