import type { GoalRecord } from "@afterturn/goals/Goal"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { s1 } from "./support/goals.js"

const goal = { objective: "ship it" } as GoalRecord
const ask = Effect.flatMap(GoalReferee.GoalReferee, (referee) => referee.judge(s1, goal))

describe("a referee", () => {
  it.effect("that is nobody agrees", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ask.pipe(Effect.provide(GoalReferee.layerNone)), { agrees: true })
    })
  )

  it.effect("judges the goal of a session", () =>
    Effect.gen(function* () {
      const judge: GoalReferee.Judge = (id, { objective }) =>
        Effect.succeed({ agrees: false, reason: `${id} ${objective}` })
      const verdict = yield* ask.pipe(Effect.provide(GoalReferee.layer(judge)))
      assert.deepStrictEqual(verdict, { agrees: false, reason: "s1 ship it" })
    })
  )
})
