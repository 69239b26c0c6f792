import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

const built = (options?: Partial<JobsConfig.JobsOptions>) =>
  Effect.provide(JobsConfig.JobsConfig, JobsConfig.layer(options))

describe("layer", () => {
  it.effect("has these defaults, and takes what differs", () =>
    Effect.gen(function* () {
      const { killGrace, ...limits } = yield* built()
      assert.deepStrictEqual(limits, { maxConcurrentJobsPerOwner: 10, outputLimitBytes: 30_000, keepFinished: 100 })
      assert.strictEqual(Duration.toSeconds(killGrace), 10)
      assert.strictEqual((yield* built({ keepFinished: 7 })).keepFinished, 7)
    })
  )

  it.effect("fails at start for what could not work", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<Partial<JobsConfig.JobsOptions>> = [
        { maxConcurrentJobsPerOwner: 0 },
        { maxConcurrentJobsPerOwner: Number.POSITIVE_INFINITY },
        { outputLimitBytes: -1 },
        { keepFinished: 1.5 },
        { keepFinished: Number.MAX_SAFE_INTEGER + 1 }
      ]
      for (const options of wrong) {
        const error = yield* Effect.flip(built(options))
        assert.match(error.message, /^jobs configuration: \w+ must be a positive integer, got /)
      }
      for (const killGrace of [Duration.infinity, Duration.days(2)]) {
        assert.match((yield* Effect.flip(built({ killGrace }))).message, /killGrace must be at most a day/)
      }
    })
  )
})
