import * as GoalConfig from "@afterturn/goals/GoalConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

const build = (options?: Partial<GoalConfig.GoalOptions>) =>
  GoalConfig.GoalConfig.pipe(Effect.provide(GoalConfig.layer(options)))

describe("the configuration of goals", () => {
  it.effect("has defaults", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* build(), {
        defaultMaxGoalRounds: 256,
        maxObjectiveLength: 10_000,
        minRoundsBeforeBlocked: 3,
        noProgressRounds: 3,
        idleTools: ["get_goal", "create_goal", "update_goal"],
        maxJobWait: Duration.minutes(10),
        rearmOnResume: false
      })
    })
  )

  it.effect("fails at start on what could not work, and names it", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [Partial<GoalConfig.GoalOptions>, string]> = [
        [{ defaultMaxGoalRounds: 0 }, "defaultMaxGoalRounds"],
        [{ maxObjectiveLength: 1.5 }, "maxObjectiveLength"],
        [{ minRoundsBeforeBlocked: -1 }, "minRoundsBeforeBlocked"],
        [{ noProgressRounds: 17 }, "from 0 to 16"],
        [{ maxJobWait: Duration.infinity }, "maxJobWait"]
      ]
      for (const [options, text] of wrong) {
        const error = yield* Effect.flip(build(options))
        assert.include(error.message, text)
      }
    })
  )
})
