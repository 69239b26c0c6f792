import { JobSpool, layerMemory } from "@afterturn/jobs/JobSpool"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { bytes, key, spoolContract, text } from "./support/spoolContract.js"

spoolContract("a spool in memory", (maxSpoolBytes) => layerMemory({ maxSpoolBytes }), 200)

describe("a spool in memory", () => {
  it.effect("forgets the output of jobs that ended first, not of those that run", () =>
    Effect.gen(function* () {
      const spool = yield* JobSpool
      yield* spool.append(key("bash-99"), bytes("runs"))
      for (let index = 1; index <= 10; index++) {
        yield* spool.append(key(`bash-${index}`), bytes("x".repeat(500)))
        yield* spool.end(key(`bash-${index}`))
      }
      assert.isUndefined(yield* spool.read(key("bash-1"), 0, 10))
      assert.strictEqual(text(yield* spool.read(key("bash-10"), 0, 3)), "xxx")
      assert.strictEqual(text(yield* spool.read(key("bash-99"), 0, 10)), "runs")
    }).pipe(Effect.provide(layerMemory({ maxTotalBytes: 5000 })))
  )

  it.effect("counts what an entry costs, so that tiny outputs are bounded as well", () =>
    Effect.gen(function* () {
      const spool = yield* JobSpool
      for (let index = 1; index <= 1000; index++) {
        yield* spool.append(key(`bash-${index}`), bytes("x"))
        yield* spool.end(key(`bash-${index}`))
      }
      const kept = yield* Effect.filter(
        Array.from({ length: 1000 }, (_, index) => key(`bash-${index + 1}`)),
        (job) => Effect.map(spool.size(job), (size) => size !== undefined)
      )
      assert.isAtMost(kept.length, 10)
      assert.isAtLeast(kept.length, 1)
    }).pipe(Effect.provide(layerMemory({ maxTotalBytes: 5000 })))
  )

  it.effect("copies what it keeps", () =>
    Effect.gen(function* () {
      const spool = yield* JobSpool
      const buffer = bytes("before")
      yield* spool.append(key(), buffer)
      buffer.fill(0x2e)
      assert.strictEqual(text(yield* spool.read(key(), 0, 10)), "before")
    }).pipe(Effect.provide(layerMemory()))
  )
})
