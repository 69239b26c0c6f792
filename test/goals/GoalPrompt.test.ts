import { Agents } from "@afterturn/agent/Agents"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import { GoalChange } from "@afterturn/goals/GoalEvents"
import { Goals } from "@afterturn/goals/Goals"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FakeModel from "../support/FakeModel.js"
import { layer, ref, s1 } from "./support/goals.js"

describe("the section of the prompt", () => {
  it.effect("states the goal, and is not there without one", () =>
    Effect.gen(function* () {
      const prompt = yield* SystemPrompt
      const goals = yield* Goals
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id: s1 }))
      assert.notInclude(yield* prompt.render(agent), "goal")
      yield* agent.runMaintenance(Effect.zipRight(goals.create(s1, { objective: "ship it" }), goals.disarm(s1)))
      const text = yield* prompt.render(agent)
      assert.include(text, "The goal of this session as this turn starts: goal-1 at revision 1: active")
      assert.include(text, "ship it")
      yield* goals.clear(s1, ref(1))
      assert.notInclude(yield* prompt.render(agent), "ship it")
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("is left out when the goal cannot be read: the turn goes on", () =>
    Effect.gen(function* () {
      const prompt = yield* SystemPrompt
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id: s1 }))
      const bad = GoalChange.make({ version: 1, operation: "clear", tombstone: ref(7) })
      yield* Effect.flatMap(SessionLog, (log) => log.append(s1, [bad]))
      assert.notInclude(yield* prompt.render(agent), "goal")
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )
})
