import { CurrentAgent, isRoot } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as AiError from "@effect/ai/AiError"
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

  it.effect("gives back what waits when it is asked to, and no turn opens for what is gone", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      const round = AgentMessage.text({ kind: "goal-round", goalId: "g", revision: 1, round: 1 }, "go on")
      const notice = AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "ended")
      yield* agent.inject(notice)
      // Stored and not claimed: maintenance holds the idle phase.
      yield* agent.runMaintenance(
        Effect.gen(function* () {
          yield* agent.followup(round)
          const gone = yield* agent.withdraw(({ source }) => source.kind === "goal-round")
          assert.deepStrictEqual(gone, [{ ...round, id: "msg-2" }])
          assert.deepStrictEqual(yield* agent.withdraw(({ source }) => source.kind === "goal-round"), [])
        })
      )
      assert.strictEqual(yield* agent.status, "idle")
      assert.deepStrictEqual(yield* Support.types(agent.id), Array(3).fill("agent/inbox/spliced"))
      // The notice waits for whatever turn comes.
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      const claimed = yield* Support.dataOf(agent.id, AgentEvents.UserMessage)
      assert.deepStrictEqual(
        claimed.map(({ id }) => id),
        ["msg-1", "msg-3"]
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("gives nothing back when the log has moved on since the decision", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      yield* agent.inject(AgentMessage.text({ kind: "system" }, "one"))
      const conflict = yield* Effect.flip(agent.withdraw(() => true, { expectedSeq: -1 }))
      assert.strictEqual(conflict._tag, "SessionConflict")
      assert.strictEqual((yield* agent.withdraw(() => true, { expectedSeq: 0 })).length, 1)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("withdraws a round that waits when a person speaks", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      yield* agent.runMaintenance(
        Effect.gen(function* () {
          yield* agent.followup(AgentMessage.text({ kind: "goal-round", goalId: "g", revision: 1, round: 1 }, "go on"))
          yield* agent.followup(AgentMessage.text({ kind: "system" }, "news"))
          yield* agent.followup(AgentMessage.user("wait"))
        })
      )
      yield* agent.whenIdle
      const starts = yield* Support.dataOf(agent.id, AgentEvents.TurnStart)
      assert.deepStrictEqual(
        starts.map(({ source }) => source.kind),
        ["system", "user"]
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("does not put a round back whose turn failed before an answer", () => {
    const rejected = new AiError.MalformedOutput({ module: "test", method: "test", description: "no" })
    const model = FakeModel.replies({ fail: rejected })
    return Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      yield* agent.followup(AgentMessage.text({ kind: "goal-round", goalId: "g", revision: 1, round: 1 }, "go on"))
      yield* agent.whenIdle
      const [end] = yield* Support.turnEnds(agent.id)
      assert.strictEqual(end?.kind, "error")
      assert.deepStrictEqual(yield* agent.withdraw(() => true), [])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer, { maxRetries: 0 })))
  })

  it.effect("is absent outside of its turns", () =>
    Effect.gen(function* () {
      assert.isTrue(Option.isNone(yield* Effect.serviceOption(CurrentAgent)))
    })
  )
})
