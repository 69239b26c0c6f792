import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import type { Message } from "@effect/ai/Prompt"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const system = (prompt: ReadonlyArray<Message> | undefined): string => {
  const [first] = prompt ?? []
  return first?.role === "system" ? first.content : ""
}

describe("the system prompt", () => {
  it.effect("holds sections in their order, the latest of each key, and none that is empty", () => {
    const model = FakeModel.replies()
    return Effect.gen(function* () {
      const prompt = yield* SystemPrompt
      yield* prompt.section({ key: "b", order: 20, text: () => Effect.succeed("second") })
      yield* prompt.section({ key: "a", order: 10, text: (agent) => Effect.succeed(`first of ${agent.id}`) })
      yield* prompt.section({ key: "b", order: 20, text: () => Effect.succeed("second, revised") })
      yield* prompt.section({ key: "c", order: 30, text: () => Effect.succeed("") })
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      const [introduction, first, second, time] = system(model.prompts[0]).split("\n\n")
      assert.strictEqual(introduction, "You are a test.")
      assert.strictEqual(first, `first of ${agent.id}`)
      assert.strictEqual(second, "second, revised")
      assert.match(time ?? "", /^It is /)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer, { introduction: "You are a test." })))
  })

  it.effect("tells the time of the turn's start in UTC and in the user's zone", () => {
    const model = FakeModel.replies()
    return Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-07-01T22:30:00.000Z"))
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      const text = system(model.prompts[0])
      assert.include(text, "2026-07-01T22:30:00.000Z")
      assert.match(text, /Europe\/Berlin, it is Thursday,? 2 July 2026 at 00:30 GMT\+02:00/)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })
})
