import { Agents } from "@afterturn/agent/Agents"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as MemoryStore from "@afterturn/session-log/SessionStore/Memory"
import { Subagents } from "@afterturn/subagent/Subagents"
import { flatten } from "@afterturn/subagent/SubagentTree"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as Sub from "./support/subagents.js"

const { root } = Sub

const script = {
  rules: [
    Sub.task("dig", Sub.works(10), { text: "I dug." }),
    Sub.task("nest", { calls: [Sub.delegates("hold on")] }, { text: "Nested." }),
    Sub.task("hold on", Sub.works(60), { text: "I held on." }),
    Sub.task("go on", { text: "I went on." })
  ],
  otherwise: [{ text: "I see." }]
}

const sharedStore = Effect.map(Layer.build(MemoryStore.layer), (context) => Context.get(context, SessionStore))

const resume = Effect.flatMap(Agents, (agents) => agents.resume(root))

describe("after a crash", () => {
  it.scoped("children that worked are interrupted, all the way down, and parents are told", () =>
    Effect.gen(function* () {
      const store = yield* sharedStore
      const first = yield* Sub.makeHost(store, 1, { script })
      const { dug, held, nested } = yield* Effect.gen(function* () {
        const agent = yield* Sub.create()
        const dug = yield* Sub.delegate(agent, "dig")
        yield* TestClock.adjust("20 minutes")
        const nested = yield* Sub.delegate(agent, "nest")
        yield* TestClock.adjust("5 minutes")
        const [held] = yield* Sub.childIds(nested.agentId)
        return { dug: dug.agentId, nested: nested.agentId, held: held! }
      }).pipe(Effect.provide(first))

      const second = yield* Sub.makeHost(store, 2, { script, dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const agent = yield* resume
        yield* TestClock.adjust("1 minute")
        const lost = yield* Sub.get("subagent-2")
        assert.deepStrictEqual([lost.status, lost.detail], ["failed", "lost: the host stopped"])
        assert.deepStrictEqual(yield* Support.turnEnds(held), [{ kind: "interrupted" }])
        // What was told of its child's end came back to work by itself, as a job that the root is told of as well.
        assert.deepStrictEqual(yield* Sub.told(nested), [["subagent-1"]])
        assert.deepStrictEqual(yield* Sub.told(), [["subagent-1"], ["subagent-2"], ["subagent-3"]])
        const { below, send } = yield* Subagents
        assert.deepStrictEqual(
          flatten(yield* below(root)).map(({ id, interrupted, job, status }) => [id, status, job.status, interrupted]),
          [
            [dug, "inactive", "completed", false],
            [nested, "inactive", "completed", false],
            [held, "inactive", "failed", true]
          ]
        )
        for (const id of [dug, nested, held]) assert.isFalse(yield* Sub.isAlive(id))
        yield* send(agent, nested, "go on")
        yield* Sub.settle
        assert.strictEqual(yield* Sub.output("subagent-4"), "I went on.")
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("a child that did nothing is left alone until it is spoken to", () =>
    Effect.gen(function* () {
      const store = yield* sharedStore
      const first = yield* Sub.makeHost(store, 1, { script })
      const id = yield* Effect.gen(function* () {
        const agent = yield* Sub.create()
        const { agentId } = yield* Sub.delegate(agent, "dig")
        yield* TestClock.adjust("20 minutes")
        return agentId
      }).pipe(Effect.provide(first))
      const second = yield* Sub.makeHost(store, 2, { script, dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const before = yield* Support.events(id)
        const agent = yield* resume
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* Support.events(id), before)
        const subagents = yield* Subagents
        const sent = yield* subagents.send(agent, id, "go on")
        assert.strictEqual(sent.delivery, "continued")
        yield* Sub.settle
        assert.strictEqual(yield* Sub.output("subagent-2"), "I went on.")
      }).pipe(Effect.provide(second))
    })
  )
})

describe("the end of a parent", () => {
  it.scoped("stops its children and theirs, whose jobs end as killed, and leaves nothing alive", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const agent = yield* Scope.extend(Sub.create(), scope)
      const nested = yield* Sub.delegate(agent, "nest")
      const digging = yield* Sub.delegate(agent, "dig")
      yield* TestClock.adjust("5 minutes")
      const [held] = yield* Sub.childIds(nested.agentId)
      yield* Scope.close(scope, Exit.void)
      const agents = yield* Agents
      assert.deepStrictEqual(yield* agents.list, [])
      for (const [owner, count] of [
        [root, 2],
        [nested.agentId, 1]
      ] as const) {
        const ends = yield* Support.dataOf(owner, JobEvents.JobSettle)
        assert.deepStrictEqual(
          ends.map(({ reason, status }) => [status, reason]),
          Array.from({ length: count }, () => ["killed", "session ended"])
        )
      }
      for (const id of [held!, digging.agentId]) {
        const [end] = yield* Support.turnEnds(id)
        assert.strictEqual(end?.kind, "aborted")
      }
      yield* resume
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* agents.list).length, 1)
    }).pipe(Effect.provide(Sub.layer({ script })))
  )
})
