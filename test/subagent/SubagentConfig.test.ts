import * as SubagentConfig from "@afterturn/subagent/SubagentConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

const config = (options?: Partial<SubagentConfig.SubagentOptions>) =>
  Effect.provide(SubagentConfig.SubagentConfig, SubagentConfig.layer(options))

describe("SubagentConfig", () => {
  it.effect("has three levels, and takes what differs", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* config()).maxDepth, 3)
      assert.strictEqual((yield* config({ maxDepth: 1 })).maxDepth, 1)
    })
  )

  it.effect("refuses at start what could not work", () =>
    Effect.gen(function* () {
      for (const maxDepth of [0, -1, 1.5, Number.NaN, 17]) {
        assert.include((yield* Effect.flip(config({ maxDepth }))).message, "maxDepth must be an integer from 1 to 16")
      }
      const error = yield* Effect.flip(config({ noticePatience: Duration.zero }))
      assert.include(error.message, "noticePatience must be from 1ms to 1d")
      assert.include((yield* Effect.flip(config({ maxMessageWakes: -1 }))).message, "an integer from 0 on, got -1")
    })
  )
})
