import { assert, describe, it } from "@effect/vitest"
import * as Power from "../../../bench/hard/power.js"
import { bundle } from "../../../bench/support/bundle.js"

describe("a database as a loss of power leaves it", () => {
  it("opens, holds what was acknowledged, and goes on; torn, it ends at a whole commit", {
    timeout: 120_000
  }, async () => {
    const report = await Power.run({ writer: await bundle("hard/writer.ts"), seed: 3, rounds: 12 })
    assert.deepStrictEqual(report.faults, [])
    assert.isAbove(report.torn, 0)
    assert.isAbove(report.events, 100)
  })
})
