import { assert, describe, it } from "@effect/vitest"
import { run } from "../../bench/crash/rounds.js"
import { bundle } from "../../bench/support/bundle.js"

describe("AgentLoop, its process killed", () => {
  it("loses nothing, closes what was open and delivers what waited", { timeout: 60_000 }, async () => {
    const report = await run({ life: await bundle("crash/life.ts"), seed: 11, kills: 4, killsPerSession: 2 })
    assert.deepStrictEqual(report.faults, [])
    assert.strictEqual(report.kills, 4)
    // What the kills met depends on the machine, but a session in which nothing happened proves nothing.
    assert.isAbove(report.messages, 2)
    assert.isAbove(report.events, 20)
  })
})
