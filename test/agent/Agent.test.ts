import { CurrentAgent, isRoot } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

describe("an agent", () => {
  it.effect("is a root when people talk to it", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const root = yield* agents.create()
      const child = yield* agents.create({ parent: root.id, delegationDepth: 1 })
      assert.deepStrictEqual([isRoot(root), isRoot(child)], [true, false])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("shows that it runs from the moment a waking message is accepted until it is quiet", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      const seen = yield* Effect.fork(Stream.runCollect(Stream.take(agent.statusChanges, 3)))
      yield* Effect.yieldNow()
      yield* agent.followup(AgentMessage.user("hi"))
      assert.strictEqual(yield* agent.status, "running")
      yield* agent.whenIdle
      assert.deepStrictEqual([...(yield* Fiber.join(seen))], ["idle", "running", "idle"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("is absent outside of its turns", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* Effect.serviceOption(CurrentAgent)))
    })
  )
})
