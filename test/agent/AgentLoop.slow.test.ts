import { assert, describe, it } from "@effect/vitest"
import { run } from "../../bench/crash/rounds.js"
import { bundle } from "../../bench/support/bundle.js"

describe("AgentLoop, its process killed 200 times", () => {
  const life = bundle("crash/life.ts")

  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) {
    it.concurrent(`loses nothing: seed ${seed}`, async () => {
      const report = await run({ life: await life, seed, kills: 20 })
      assert.deepStrictEqual(report.faults, [])
      assert.strictEqual(report.kills, 20)
    })
  }
})
