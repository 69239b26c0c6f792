import * as path from "node:path"
import { storeLayer } from "@afterturn/cli/Compose"
import * as Cluster from "@afterturn/cluster/Cluster"
import { Session } from "@afterturn/cluster/SessionProtocol"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { start } from "../support/afterturn.js"
import { freshSchemaUrl, withPostgres } from "../support/postgres.js"
import { scriptFile } from "./support.js"

/** A database, and a client of the runners on it. */
const place = Effect.gen(function* () {
  const url = Redacted.value(yield* freshSchemaUrl)
  const script = yield* scriptFile
  const client = yield* Layer.build(Cluster.layerClient().pipe(Layer.provideMerge(storeLayer(url))))
  const runner = Effect.gen(function* () {
    const started = yield* start(["runner", "--model", `scripted:${script}`, "--approve", "allow"], {
      env: { AFTERTURN_DB: url, XDG_DATA_HOME: path.join(path.dirname(script), "data") }
    })
    yield* started.said("a runner at")
    return started
  })
  return { client, runner }
})

const ids = (count: number) => Array.from({ length: count }, (_, index) => SessionId.make(`s${index}`))

const each = <A, E, R>(all: ReadonlyArray<SessionId>, body: (id: SessionId) => Effect.Effect<A, E, R>) =>
  Effect.forEach(all, body, { concurrency: 4 })

/** Waits until the log of a session holds an event. */
const until = (id: SessionId, isIt: (event: SessionEvent) => boolean) =>
  Effect.flatMap(SessionLog, (log) => Stream.runDrain(Stream.take(Stream.filter(log.changes(id), isIt), 1)))

const eventsOf = (id: SessionId) =>
  Effect.flatMap(SessionLog, (log) => Effect.map(Stream.runCollect(log.read(id)), Chunk.toReadonlyArray))

/** The pid of the runner that drives a session. */
const holderOf = (id: SessionId) =>
  Effect.flatMap(SessionStore, (store) => Effect.map(store.lease(id), (lease) => Option.getOrUndefined(lease)?.pid))

const isDispatch = ({ data, type }: SessionEvent) =>
  type === "schedule/change" && (data as { readonly operation: string }).operation === "dispatch"

const isLost = ({ data, type }: SessionEvent) =>
  type === "job/settle" && /^lost/.test((data as { readonly detail?: string }).detail ?? "")

const isNoticed = ({ data, type }: SessionEvent) =>
  type === "user/message" && (data as { readonly source: { readonly kind: string } }).source.kind === "job-notice"

/** Waits until both runners have their half: a call that is under way while its session moves is interrupted. */
const spread = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const halves = sql<{ readonly least: number }>`SELECT count(*)::int AS least FROM afterturn_cluster_locks
    GROUP BY address ORDER BY least`
  let rows = yield* halves
  while (rows.length < 2 || rows.reduce((sum, { least }) => sum + least, 0) < 300 || (rows[0]?.least ?? 0) < 100) {
    rows = yield* Effect.delay(halves, "200 millis")
  }
})

/** In each session a job that runs, and a reminder that is due in a while. */
const occupy = (all: ReadonlyArray<SessionId>, afterSeconds: number) =>
  Effect.gen(function* () {
    yield* spread
    const client = yield* Session.client
    yield* each(all, (id) =>
      Effect.gen(function* () {
        yield* client(id).Create({ cwd: "/tmp" })
        yield* client(id).Followup({ text: "a long one" })
        yield* until(id, ({ type }) => type === "job/start")
        yield* client(id).CreateReminder({ title: "tea", prompt: "Pour.", rule: { after_seconds: afterSeconds } })
      })
    )
  })

/** Says something to a session; again, when it moved meanwhile. */
const greet = (id: SessionId) =>
  Effect.gen(function* () {
    const session = (yield* Session.client)(id)
    while (Exit.isInterrupted(yield* Effect.exit(session.Followup({ text: "hi" })))) yield* Effect.yieldNow()
  })

/** Nothing twice, and the log is whole. */
const assertOnce = (all: ReadonlyArray<SessionId>) =>
  each(all, (id) =>
    Effect.map(eventsOf(id), (events) => {
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index)
      )
      assert.strictEqual(events.filter(isDispatch).length, 1, `reminders of ${id}`)
      assert.strictEqual(events.filter(({ type }) => type === "job/start").length, 1, `jobs of ${id}`)
      const settled = events.filter(({ type }) => type === "job/settle")
      assert.isAtMost(settled.length, 1)
    })
  )

const report = (what: string, took: Duration.Duration) =>
  Effect.sync(() => process.stdout.write(`${what}: ${Duration.toMillis(took)} ms\n`))

withPostgres(() => {
  describe("a cluster of runners", () => {
    it.scopedLive(
      "goes on elsewhere when a runner is killed: jobs are told as lost, reminders delivered once",
      () =>
        Effect.gen(function* () {
          const { client, runner } = yield* place
          yield* Effect.gen(function* () {
            const [doomed] = [yield* runner, yield* runner]
            const all = ids(12)
            yield* occupy(all, 20)
            const moved = []
            for (const id of all) if ((yield* holderOf(id)) === doomed.child.pid) moved.push(id)
            assert.isAbove(moved.length, 0)
            assert.isBelow(moved.length, all.length)
            doomed.child.kill("SIGKILL")
            const [took] = yield* Effect.timed(
              each(moved, (id) => Effect.zipRight(until(id, isLost), until(id, isNoticed)))
            )
            yield* report(`${moved.length} sessions moved from a killed runner, their jobs told as lost`, took)
            yield* each(all, (id) => until(id, isDispatch))
            yield* assertOnce(all)
          }).pipe(Effect.provide(client))
        }),
      180_000
    )

    it.scopedLive(
      "goes on when every connection to the database is cut",
      () =>
        Effect.gen(function* () {
          const { client, runner } = yield* place
          yield* Effect.gen(function* () {
            yield* runner
            yield* runner
            const all = ids(12)
            const sql = yield* SqlClient.SqlClient
            const cut = sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
              WHERE application_name = current_schema() AND pid <> pg_backend_pid()`
            yield* occupy(all, 5)
            yield* Effect.repeatN(Effect.delay(cut, "500 millis"), 3)
            yield* each(all, (id) => until(id, isDispatch))
            yield* each(all, greet)
            yield* assertOnce(all)
          }).pipe(Effect.provide(client))
        }),
      180_000
    )

    it.scopedLive(
      "hands its sessions over when a runner is asked to end",
      () =>
        Effect.gen(function* () {
          const { client, runner } = yield* place
          yield* Effect.gen(function* () {
            const [leaving] = [yield* runner, yield* runner]
            const all = ids(12)
            yield* occupy(all, 15)
            const moved = []
            for (const id of all) if ((yield* holderOf(id)) === leaving.child.pid) moved.push(id)
            assert.isAbove(moved.length, 0)
            leaving.child.kill("SIGTERM")
            const [took, { code }] = yield* Effect.timed(leaving.finished)
            assert.strictEqual(code, 143)
            yield* report(`a runner with ${moved.length} sessions ended`, took)
            yield* each(moved, (id) => until(id, ({ type }) => type === "job/settle"))
            yield* each(all, (id) => until(id, isDispatch))
            yield* each(moved, (id) => until(id, isNoticed))
            yield* assertOnce(all)
          }).pipe(Effect.provide(client))
        }),
      180_000
    )
  })
})
