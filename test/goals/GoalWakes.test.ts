import { Wakes } from "@afterturn/agent/Wakes"
import { GoalChange } from "@afterturn/goals/GoalEvents"
import { Goals } from "@afterturn/goals/Goals"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeModel from "../support/FakeModel.js"
import { layer, ref, s1 } from "./support/goals.js"

const wakes = Effect.flatMap(Wakes, ({ of }) => of(s1))
const session = Effect.flatMap(SessionLog, (log) => log.create({ id: s1 }))

describe("a goal in the ledger of wakes", () => {
  it.effect("is there until it is complete, with what is left of its rounds and budgets", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      assert.deepStrictEqual(yield* wakes, [])
      yield* goals.create(s1, { objective: "ship it", maxGoalRounds: 5, maxTokens: 9, maxDurationMs: 60_000 })
      assert.deepStrictEqual(yield* wakes, [
        {
          kind: "goal",
          id: "goal-1",
          summary: "goal-1 at revision 1: active, 0 of 5 rounds started",
          detail: {
            revision: 1,
            objective: "ship it",
            phase: "active",
            activation: "armed",
            roundsLeft: 5,
            maxGoalRounds: 5,
            tokensLeft: 9,
            activeMsLeft: 60_000
          }
        }
      ])
      yield* goals.complete(s1, ref(1))
      assert.deepStrictEqual(yield* wakes, [])
    }).pipe(Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("says when it cannot be read, and hides nothing else", () =>
    Effect.gen(function* () {
      yield* session
      const bad = GoalChange.make({ version: 1, operation: "clear", tombstone: ref(7) })
      yield* Effect.flatMap(SessionLog, (log) => log.append(s1, [bad]))
      assert.deepStrictEqual(
        (yield* wakes).map(({ detail }) => detail),
        [{ code: "corrupt_goal_log", seq: 0 }]
      )
    }).pipe(Effect.provide(layer(FakeModel.replies())))
  )
})
