import { assert, describe, it } from "@effect/vitest"
import * as Power from "../../../bench/hard/power.js"
import { bundle } from "../../../bench/support/bundle.js"

describe("a database as sixty losses of power leave it", () => {
  it("opens and goes on", async () => {
    const report = await Power.run({ writer: await bundle("hard/writer.ts"), seed: 7, rounds: 60 })
    assert.deepStrictEqual(report.faults, [])
  })
})
