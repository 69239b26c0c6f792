import * as AgentConfig from "@afterturn/agent/AgentConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

describe("AgentConfig", () => {
  it.effect("has the documented defaults", () =>
    Effect.gen(function* () {
      const { timeZone, ...config } = yield* AgentConfig.AgentConfig
      assert.deepStrictEqual(config, {
        maxStepsPerTurn: 64,
        maxResultBytes: 50_000,
        toolConcurrency: 8,
        maxRetries: 5,
        retryDelay: Duration.seconds(1),
        maxRetryDelay: Duration.minutes(1),
        modelSilence: Duration.minutes(2),
        maxHistoryTokens: 150_000
      })
      assert.strictEqual(timeZone, Intl.DateTimeFormat().resolvedOptions().timeZone)
    }).pipe(Effect.provide(AgentConfig.layer()))
  )

  it.effect("changes what is named and nothing else", () =>
    Effect.gen(function* () {
      const config = yield* AgentConfig.AgentConfig
      assert.strictEqual(config.toolConcurrency, 1)
      assert.strictEqual(config.timeZone, "Asia/Tokyo")
      assert.strictEqual(config.maxStepsPerTurn, 64)
    }).pipe(Effect.provide(AgentConfig.layer({ toolConcurrency: 1, timeZone: "Asia/Tokyo" })))
  )
})
