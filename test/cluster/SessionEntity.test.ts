import { Agents } from "@afterturn/agent/Agents"
import * as Cluster from "@afterturn/cluster/Cluster"
import { Session } from "@afterturn/cluster/SessionProtocol"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { agents, session, sessionId } from "./support.js"

const cluster = Cluster.layerTest().pipe(Layer.provideMerge(agents))

describe("a session as an entity", () => {
  it.scopedLive("answers for the agent, its todos, jobs, reminders, goal and wakes, and lets it be followed", () =>
    Effect.gen(function* () {
      const client = yield* session
      const watching = yield* Deferred.make<void>()
      const said = yield* client.Output().pipe(
        Stream.tap(() => Deferred.succeed(watching, undefined)),
        Stream.filter(({ _tag }) => _tag === "Event"),
        Stream.takeUntil((output) => output._tag === "Event" && output.event.type === "turn/end"),
        Stream.runCount,
        Effect.fork
      )
      // An output begins with its subscription: asked until it hears something.
      yield* client
        .Followup({ text: "hello" })
        .pipe(Effect.delay("20 millis"), Effect.forever, Effect.raceFirst(Deferred.await(watching)))
      assert.isAbove(yield* said, 0)
      yield* client.Settle()
      assert.isNull(yield* client.Todos())
      yield* client.Followup({ text: "plan it" })
      yield* client.Settle()
      assert.deepStrictEqual(yield* client.Todos(), [{ content: "Write it down", status: "pending" }])

      yield* client.Followup({ text: "a long one" })
      const log = yield* SessionLog
      yield* log.changes(sessionId).pipe(
        Stream.filter(({ type }) => type === "job/start"),
        Stream.take(1),
        Stream.runDrain
      )
      const output = yield* Stream.runHead(client.JobOutput({ id: "bash-1" }))
      assert.strictEqual(Option.getOrUndefined(output)?.text.trim(), "begun")
      assert.include(["cancellation-requested", "already-finished"], yield* client.KillJob({ id: "bash-1" }))
      yield* client.Settle()
      assert.strictEqual((yield* client.Jobs())[0]?.status, "killed")

      const reminder = yield* client.CreateReminder({ title: "tea", prompt: "Pour.", rule: { every_seconds: 3600 } })
      assert.deepStrictEqual(yield* client.Reminders(), [reminder])
      assert.isTrue((yield* client.Wakes()).some(({ kind, id }) => kind === "reminder" && id === reminder.id))
      assert.isTrue(yield* client.DeleteReminder({ id: reminder.id }))
      assert.deepStrictEqual(yield* client.Reminders(), [])
      assert.isNull(yield* client.Goal())
      yield* client.Cancel({ cause: "enough" })
    }).pipe(Effect.provide(cluster))
  )

  it.scopedLive("answers what cannot be done with a code, and stays", () =>
    Effect.gen(function* () {
      const client = yield* Session.client
      const none = yield* Effect.flip(client("nobody").Followup({ text: "hello" }))
      assert.deepInclude(none, { _tag: "SessionRefused", code: "session_not_found" })
      const known = yield* session
      assert.deepInclude(yield* Effect.flip(known.KillJob({ id: "bash-9" })), { code: "job_not_found" })
      assert.deepInclude(yield* Effect.flip(known.PauseGoal()), { code: "no_goal" })
      assert.deepInclude(yield* Effect.flip(known.CreateReminder({ title: "t", prompt: "p", rule: { never: 1 } })), {
        code: "invalid_selector"
      })
      yield* known.Followup({ text: "hello" })
    }).pipe(Effect.provide(cluster))
  )

  it.scopedLive("opens one agent for many messages at once", () =>
    Effect.gen(function* () {
      const client = yield* session
      const list = yield* Agents
      assert.deepStrictEqual(yield* list.list, [])
      yield* Effect.all(
        Array.from({ length: 20 }, (_, index) => client.Followup({ text: `hello ${index}` })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual((yield* list.list).length, 1)
      yield* client.Settle()
      const log = yield* SessionLog
      const turns = yield* Stream.runCount(log.read(sessionId, { types: ["turn/end"] }))
      assert.strictEqual(turns, 20)
    }).pipe(Effect.provide(cluster))
  )
})
