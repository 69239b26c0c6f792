import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Wakes from "@afterturn/agent/Wakes"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const tea = (summary = "tea"): Wakes.Wake => ({ kind: "kettle", summary, detail: {} })

const kinds = (wakes: ReadonlyArray<Wakes.Wake>) => wakes.map(({ kind, summary }) => `${kind} ${summary}`)

const runtime = Support.layer(FakeModel.replies().layer)

describe("the ledger of wakes", () => {
  it.effect("has the messages that wait, and whether each opens a turn", () =>
    Effect.gen(function* () {
      const wakes = yield* Wakes.Wakes
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      yield* agent.inject(AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "ended\nin two lines"))
      // Stored and not claimed: maintenance holds the idle phase.
      yield* agent.runMaintenance(
        Effect.gen(function* () {
          yield* agent.followup(AgentMessage.user("x".repeat(100)))
          const all = yield* wakes.of(agent.id)
          assert.deepStrictEqual(
            all.map(({ detail: { list, opensTurn }, id, kind }) => [kind, id, list, opensTurn]),
            [
              ["inbox", "msg-2", "nextTurn", true],
              ["inbox", "msg-1", "nextStep", false]
            ]
          )
          assert.deepStrictEqual(
            all.map(({ summary }) => summary),
            [`user: ${"x".repeat(79)}…`, "job-notice: ended"]
          )
          assert.deepStrictEqual(all[1]?.detail.source, { kind: "job-notice", jobs: ["bash-1"] })
        })
      )
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* wakes.of(agent.id), [])
    }).pipe(Effect.scoped, Effect.provide(runtime))
  )

  it.effect("asks each source, in the order in which they came, for as long as its scope is open", () =>
    Effect.gen(function* () {
      const { contribute, of } = yield* Wakes.Wakes
      const { id } = yield* Effect.flatMap(SessionLog, (log) => log.create())
      const scope = yield* Scope.make()
      const source: Wakes.WakeSource = (session) => Effect.succeed([tea(session)])
      yield* Scope.extend(contribute(source), scope)
      yield* contribute(() => Effect.succeed([tea("green"), tea("black")]))
      // The same function again is a source of its own.
      yield* contribute(source)
      assert.deepStrictEqual(kinds(yield* of(id)), [`kettle ${id}`, "kettle green", "kettle black", `kettle ${id}`])
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(kinds(yield* of(id)), ["kettle green", "kettle black", `kettle ${id}`])
    }).pipe(Effect.scoped, Effect.provide(runtime))
  )

  it.effect("answers for a session that no host holds, without an agent runtime", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const { of } = yield* Wakes.Wakes
      const { id } = yield* log.create()
      assert.deepStrictEqual(kinds(yield* of(id)), ["kettle tea"])
      const missing = yield* Effect.flip(of("nobody" as typeof id))
      assert.strictEqual(missing._tag, "SessionNotFound")
    }).pipe(
      Effect.provide(
        Wakes.layerSource(Effect.succeed(() => Effect.succeed([tea()]))).pipe(
          Layer.provideMerge(Wakes.layer),
          Layer.provideMerge(layerMemory)
        )
      )
    )
  )

  it("has an open shape: kinds that are not known yet are read", () => {
    const wake = { kind: "comet", id: "1", summary: "s", at: "2061-07-28T00:00:00.000Z", detail: { tail: [1] } }
    assert.deepStrictEqual(Schema.decodeUnknownSync(Wakes.Wake)(wake), wake)
    assert.throws(() => Schema.decodeUnknownSync(Wakes.Wake)({ ...wake, at: "tomorrow" }))
  })
})
