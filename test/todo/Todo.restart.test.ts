import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Host from "@afterturn/session-log/Host"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import { SessionStore, SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as MemoryStore from "@afterturn/session-log/SessionStore/Memory"
import { Todo } from "@afterturn/todo/Todo"
import type { TodoOptions } from "@afterturn/todo/TodoConfig"
import type { TodoItem } from "@afterturn/todo/TodoItem"
import { TodoWrite } from "@afterturn/todo/TodoLog"
import { FileSystem } from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { append, end, eventsOf, item, layerOn, start, versionsOf, writesOf } from "./support/todos.js"

/** What a process has around its store, so that each `run` below is a process of its own. */
const aroundStore = SessionLog.layer({ pollInterval: Duration.infinity, leaseTtl: Duration.infinity }).pipe(
  Layer.provide(Host.layer({ host: "memory", bootId: "", pid: 0, startedAt: "" })),
  Layer.provideMerge(EventTypes.layer)
)

type Services = Todo | SessionLog.SessionLog | Projections | EventTypes.EventTypes | SessionStore

/** A store that outlives processes and can be out of space, and a way to run something in a process of its own over it. */
const makeStore = Effect.gen(function* () {
  const state = { full: false }
  const memory = Context.get(yield* Layer.build(MemoryStore.layer), SessionStore)
  const full = new SessionStoreError({ reason: "full", message: "no space is left on the device" })
  const store = Layer.succeed(SessionStore, {
    ...memory,
    commit: (requests) => Effect.suspend(() => (state.full ? Effect.fail(full) : memory.commit(requests)))
  })
  const log = aroundStore.pipe(Layer.provideMerge(store))
  const run = <A, E>(options: Partial<TodoOptions>, effect: Effect.Effect<A, E, Services>) =>
    Effect.provide(effect, Layer.fresh(layerOn(log, options)))
  return { state, run }
})

const id = SessionId.make("s")
const create = Effect.flatMap(SessionLog.SessionLog, (log) => log.create({ id }))
const get = Effect.flatMap(Todo, (todo) => todo.get(id))
const write = (...todos: ReadonlyArray<TodoItem>) => Effect.flatMap(Todo, (todo) => todo.write(id, todos))
const snapshot = Effect.flatMap(Projections, (projections) => projections.snapshot(id))

describe("Todo after a restart", () => {
  it.scoped("shows the list that was there, and goes on", () =>
    Effect.gen(function* () {
      const { run } = yield* makeStore
      yield* run({}, Effect.all([create, append(id, start(1)), write(item("a"), item("b", "in_progress"))]))
      yield* run(
        {},
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* get, [item("a"), item("b", "in_progress")])
          // A turn that the process left open is closed as interrupted: the list stays visible.
          yield* append(id, end(1, { kind: "interrupted" }))
          yield* write(item("a"), item("b", "in_progress"))
          assert.strictEqual(writesOf(yield* eventsOf(id)).length, 1)
          yield* write(item("b", "completed"))
        })
      )
      const versions = yield* run({}, versionsOf(id))
      assert.deepStrictEqual(
        versions.map(({ todos, turn }) => ({ todos, turn })),
        [
          { todos: [item("a"), item("b", "in_progress")], turn: 1 },
          { todos: [item("b", "completed")], turn: null }
        ]
      )
    })
  )

  it.scoped("goes on from a snapshot, but never from that of the other policy", () =>
    Effect.gen(function* () {
      const { run } = yield* makeStore
      yield* run(
        { clearOn: "user-turn" },
        Effect.all([
          create,
          write(item("a")),
          append(id, start(1, { kind: "job-notice", jobs: ["bash-1"] }), end(1)),
          get,
          snapshot
        ])
      )
      assert.deepStrictEqual(yield* run({ clearOn: "user-turn" }, get), [item("a")])
      assert.isNull(yield* run({ clearOn: "every-turn" }, Effect.zipLeft(get, snapshot)))
      assert.deepStrictEqual(yield* run({ clearOn: "user-turn" }, get), [item("a")])
    })
  )

  it.scoped("reads what a looser policy wrote, and holds new lists to the one of today", () =>
    Effect.gen(function* () {
      const { run } = yield* makeStore
      const old = [item("a", "in_progress"), item("b", "in_progress"), item("long enough")]
      yield* run({ allowParallelInProgress: true }, Effect.all([create, write(...old)]))
      const strict = { allowParallelInProgress: false, maxItems: 2, maxContentLength: 3 }
      yield* run(
        strict,
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* get, old)
          assert.deepStrictEqual((yield* versionsOf(id)).at(-1)?.todos, old)
          const error = yield* Effect.flip(write(...old))
          assert.strictEqual(error._tag, "TodoLimitExceeded")
          assert.deepStrictEqual(yield* get, old)
          yield* write(item("a", "in_progress"), item("b"))
        })
      )
      assert.deepStrictEqual(yield* run({}, get), [item("a", "in_progress"), item("b")])
    })
  )

  it.scoped("reads what no policy would write", () =>
    Effect.gen(function* () {
      const { run } = yield* makeStore
      const odd: ReadonlyArray<TodoItem> = [item("a\nb"), item("a\nb"), item(""), item("x".repeat(20_000), "completed")]
      yield* run({}, Effect.all([create, append(id, TodoWrite.make({ todos: odd }))]))
      assert.deepStrictEqual(yield* run({}, get), odd)
    })
  )

  it.scoped("names the event of a damaged log, and does not die of it", () =>
    Effect.gen(function* () {
      const { run } = yield* makeStore
      yield* run({}, Effect.all([create, write(item("a"))]))
      const damaged = { type: "todo/write", time: 0, data: '{"todos":[{"content":"b"}]}', sourceEventSeqs: null }
      yield* run(
        {},
        Effect.flatMap(SessionStore, (store) =>
          store.commit([
            { sessionId: id, expectedSeq: 0, epoch: undefined, now: 0, events: [{ ...damaged, ignorable: false }] }
          ])
        )
      )
      yield* run(
        {},
        Effect.gen(function* () {
          const todo = yield* Todo
          const errors = [
            yield* Effect.flip(get),
            yield* Effect.flip(write(item("c"))),
            yield* Effect.flip(Stream.runDrain(todo.history(id))),
            yield* Effect.flip(Stream.runDrain(todo.changes(id)))
          ]
          for (const error of errors) {
            assert.strictEqual(error._tag, "SessionLogCorrupt")
            assert.match(error.message, /at seq 1: event "todo\/write": /)
          }
        })
      )
    })
  )

  it.scoped("keeps the list as it was when the store refuses, and takes the next write", () =>
    Effect.gen(function* () {
      const { run, state } = yield* makeStore
      yield* run(
        {},
        Effect.gen(function* () {
          yield* create
          yield* write(item("a"))
          state.full = true
          const error = yield* Effect.flip(write(item("b")))
          assert.strictEqual(error._tag, "SessionStoreError")
          assert.deepStrictEqual(yield* get, [item("a")])
          state.full = false
          assert.deepStrictEqual(yield* get, [item("a")])
          yield* write(item("b"))
        })
      )
      assert.deepStrictEqual(yield* run({}, get), [item("b")])
    })
  )

  it.scopedLive("goes on in a file that another process wrote", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.flatMap(FileSystem, (files) => files.makeTempDirectoryScoped())
      const run = <A, E>(effect: Effect.Effect<A, E, Todo | SessionLog.SessionLog | Projections>) =>
        Effect.provide(effect, Layer.fresh(layerOn(layerSqlite({ filename: `${folder}/sessions.db` }))))
      const list = [item("a", "completed"), item("ü 漢字 👩‍👧", "in_progress")]
      yield* run(Effect.all([create, append(id, start(1)), write(item("a")), write(...list), snapshot]))
      assert.deepStrictEqual(yield* run(get), list)
      yield* run(Effect.all([append(id, end(1)), write(...list), write(item("b"))]))
      const versions = yield* run(versionsOf(id))
      assert.deepStrictEqual(
        versions.map(({ seq, todos, turn }) => ({ seq, todos, turn })),
        [
          { seq: 1, todos: [item("a")], turn: 1 },
          { seq: 2, todos: list, turn: 1 },
          { seq: 4, todos: [item("b")], turn: null }
        ]
      )
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})
