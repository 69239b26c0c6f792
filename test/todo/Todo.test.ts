import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { EventTypes } from "@afterturn/session-log/EventTypes"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { TodoChange } from "@afterturn/todo/Todo"
import { layer as layerOpen, Todo } from "@afterturn/todo/Todo"
import type { TodoConfig } from "@afterturn/todo/TodoConfig"
import type { Todos } from "@afterturn/todo/TodoLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { todoLists } from "./support/arbitraries.js"
import {
  append,
  end,
  eventsOf,
  item,
  layerTodos,
  newSession,
  start,
  untyped,
  versionsOf,
  writesOf
} from "./support/todos.js"

const single = layerTodos()
const parallel = layerTodos({ allowParallelInProgress: true })

describe("Todo", () => {
  it.effect("stores the list as one event and shows it", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      assert.isNull(yield* todo.get(id))
      const list = [item("plan", "completed"), item("build", "in_progress"), item("test"), item("ship")]
      assert.deepStrictEqual(yield* todo.write(id, list), {
        todos: list,
        counts: { pending: 2, inProgress: 1, completed: 1 }
      })
      assert.deepStrictEqual(yield* todo.get(id), list)
      const events = yield* eventsOf(id)
      assert.deepStrictEqual(
        events.map(({ data, seq, type }) => ({ seq, type, data })),
        [{ seq: 0, type: "todo/write", data: { todos: list } }]
      )
    }).pipe(Effect.provide(single))
  )

  it.effect("replaces the whole list, also by an empty one", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* todo.write(id, [item("a"), item("b")])
      yield* todo.write(id, [item("c")])
      assert.deepStrictEqual(yield* todo.get(id), [item("c")])
      const cleared = yield* todo.write(id, [])
      assert.deepStrictEqual(cleared, { todos: [], counts: { pending: 0, inProgress: 0, completed: 0 } })
      assert.deepStrictEqual(yield* todo.get(id), [])
    }).pipe(Effect.provide(single))
  )

  it.effect("answers and stores contents trimmed", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      const { todos } = yield* todo.write(id, [item("  a  \n")])
      assert.deepStrictEqual(todos, [item("a")])
      assert.deepStrictEqual((yield* eventsOf(id))[0]?.data, { todos: [item("a")] })
    }).pipe(Effect.provide(single))
  )

  it.effect("stores nothing of a list that it refuses", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* todo.write(id, [item("a")])
      for (const [given, code] of [
        [{ content: "write report", status: "pending" }, "invalid_todo"],
        [null, "invalid_todo"],
        [[null], "invalid_todo"],
        [[42], "invalid_todo"],
        [[{ content: "a" }], "invalid_todo"],
        [[item("")], "invalid_todo"],
        [[item("a\nb")], "invalid_todo"],
        [[{ ...item("a"), id: 1 }], "invalid_todo"],
        [[item("b"), item("b\u200b")], "duplicate_content"],
        [[item("b", "in_progress"), item("c", "in_progress"), item("d")], "too_many_in_progress"],
        [Array.from({ length: 1001 }, (_, n) => item(`${n}`)), "invalid_todo"],
        [[item("x".repeat(10_001))], "invalid_todo"]
      ] as const) {
        const error = yield* Effect.flip(todo.write(id, untyped(given)))
        assert.strictEqual("code" in error ? error.code : error._tag, code)
        assert.deepStrictEqual(yield* todo.get(id), [item("a")])
      }
      assert.strictEqual((yield* eventsOf(id)).length, 1)
    }).pipe(Effect.provide(single))
  )

  it.effect("stores several in progress as sent where that is allowed", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      const list = [item("a", "in_progress"), item("b", "in_progress"), item("c")]
      yield* todo.write(id, list)
      assert.deepStrictEqual(yield* todo.get(id), list)
    }).pipe(Effect.provide(parallel))
  )

  it.effect("answers the list that is there the same and appends nothing", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      const list = [item("a"), item("b", "completed")]
      const first = yield* todo.write(id, list)
      const again = yield* todo.write(id, [item(" a "), item("b", "completed")])
      assert.deepStrictEqual(again, first)
      assert.strictEqual((yield* eventsOf(id)).length, 1)
      yield* todo.write(id, [item("b", "completed"), item("a")])
      yield* todo.write(id, list)
      assert.strictEqual((yield* eventsOf(id)).length, 3)
    }).pipe(Effect.provide(single))
  )

  it.effect("writes the same list again after it was cleared, and an empty one where there is none", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* todo.write(id, [])
      yield* todo.write(id, [])
      yield* todo.write(id, [item("a")])
      yield* append(id, start(1))
      assert.isNull(yield* todo.get(id))
      yield* todo.write(id, [item("a")])
      assert.strictEqual(writesOf(yield* eventsOf(id)).length, 3)
      assert.deepStrictEqual(yield* todo.get(id), [item("a")])
    }).pipe(Effect.provide(single))
  )

  it.effect("takes a list that a turn kept for the one that is there", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* todo.write(id, [item("a")])
      yield* append(id, start(1, { kind: "job-notice", jobs: ["bash-1"] }))
      yield* todo.write(id, [item("a")])
      assert.strictEqual(writesOf(yield* eventsOf(id)).length, 1)
      yield* append(id, end(1), start(2))
      yield* todo.write(id, [item("a")])
      assert.strictEqual(writesOf(yield* eventsOf(id)).length, 2)
    }).pipe(Effect.provide(layerTodos({ clearOn: "user-turn" })))
  )

  it.effect("clears at the next user turn after a cancelled one", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* append(id, start(1))
      yield* todo.write(id, [item("a"), item("b"), item("c")])
      yield* append(id, end(1, { kind: "aborted", cause: "the user cancelled" }))
      assert.strictEqual((yield* todo.get(id))?.length, 3)
      yield* append(id, start(2))
      assert.isNull(yield* todo.get(id))
    }).pipe(Effect.provide(layerTodos({ clearOn: "user-turn" })))
  )

  it.effect("keeps sessions apart", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const log = yield* SessionLog
      const parent = yield* newSession
      const five = ["a", "b", "c", "d", "e"].map((name) => item(name, name === "b" ? "in_progress" : "pending"))
      yield* todo.write(parent, five)
      const before = JSON.stringify(yield* todo.get(parent))
      const child = (yield* log.create({ parent, delegationDepth: 1 })).id
      const silent = (yield* log.create({ parent, delegationDepth: 1 })).id
      yield* append(child, start(1, { kind: "agent", sessionId: parent }))
      yield* todo.write(child, [item("x"), item("y")])
      assert.strictEqual(JSON.stringify(yield* todo.get(parent)), before)
      yield* append(child, end(1))
      assert.strictEqual(JSON.stringify(yield* todo.get(parent)), before)
      assert.strictEqual((yield* todo.get(child))?.length, 2)
      assert.isNull(yield* todo.get(silent))
    }).pipe(Effect.provide(single))
  )

  it.effect("keeps the list when the transcript is compacted", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      yield* Effect.flatMap(EventTypes, (types) => types.register(AgentEvents.ContextCompacted))
      const id = yield* newSession
      const list = [item("a", "completed"), item("b"), item("c"), item("d")]
      yield* append(id, start(1))
      yield* todo.write(id, list)
      yield* append(id, AgentEvents.ContextCompacted.make({ throughSeq: 1, summary: "much was done", kept: [] }))
      assert.deepStrictEqual(yield* todo.get(id), list)
    }).pipe(Effect.provide(single))
  )

  it.effect("fails typed for a session that does not exist", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = SessionId.make("nowhere")
      const tags = [
        yield* Effect.flip(todo.write(id, [])),
        yield* Effect.flip(todo.get(id)),
        yield* Effect.flip(Stream.runDrain(todo.history(id))),
        yield* Effect.flip(Stream.runDrain(todo.changes(id)))
      ].map((error) => error._tag)
      assert.deepStrictEqual(tags, Array(4).fill("SessionNotFound"))
    }).pipe(Effect.provide(single))
  )

  it.effect("begins a fork without a list, and tells the two apart from there", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const log = yield* SessionLog
      const parent = yield* newSession
      yield* append(parent, start(1))
      yield* todo.write(parent, [item("a")])
      yield* append(parent, end(1))
      const child = (yield* log.fork(parent)).id
      assert.isNull(yield* todo.get(child))
      yield* todo.write(child, [item("a")])
      yield* todo.write(child, [item("b")])
      yield* todo.write(parent, [item("c")])
      assert.deepStrictEqual(yield* todo.get(child), [item("b")])
      assert.deepStrictEqual(yield* todo.get(parent), [item("c")])
      assert.deepStrictEqual(
        (yield* versionsOf(child)).map(({ inherited, todos, turn }) => ({ inherited, todos, turn })),
        [
          { inherited: true, todos: [item("a")], turn: 1 },
          { inherited: false, todos: [item("a")], turn: null },
          { inherited: false, todos: [item("b")], turn: null }
        ]
      )
    }).pipe(Effect.provide(single))
  )

  it.effect("needs the configuration", () => {
    // @ts-expect-error: a composition without TodoConfig leaves it open, which a compiler must refuse
    const incomplete: Layer.Layer<Todo, never, Exclude<Layer.Layer.Context<typeof layerOpen>, TodoConfig>> = layerOpen
    return Effect.sync(() => assert.isDefined(incomplete))
  })
})

describe("history", () => {
  it.effect("gives every list its turn and time, and where it was cleared", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* append(id, start(1))
      yield* TestClock.adjust("1 minute")
      yield* todo.write(id, [item("a")])
      yield* todo.write(id, [item("a")])
      yield* TestClock.adjust("1 minute")
      yield* todo.write(id, [item("a", "completed")])
      yield* append(id, end(1))
      yield* TestClock.adjust("1 minute")
      yield* append(id, start(2))
      assert.deepStrictEqual(yield* versionsOf(id), [
        { seq: 1, time: "1970-01-01T00:01:00.000Z", turn: 1, todos: [item("a")], inherited: false },
        { seq: 2, time: "1970-01-01T00:02:00.000Z", turn: 1, todos: [item("a", "completed")], inherited: false },
        { seq: 4, time: "1970-01-01T00:03:00.000Z", turn: 2, todos: null, inherited: false }
      ])
    }).pipe(Effect.provide(single))
  )

  it.effect("is empty for a session that never had a list", () =>
    Effect.gen(function* () {
      const id = yield* newSession
      yield* append(id, start(1), end(1))
      assert.deepStrictEqual(yield* versionsOf(id), [])
    }).pipe(Effect.provide(single))
  )

  it.effect("has every list of a session, also of one that takes several pages", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      for (let n = 0; n < 600; n++) yield* todo.write(id, [item(`${n}`)])
      assert.deepStrictEqual(
        (yield* versionsOf(id)).map(({ todos }) => todos),
        Array.from({ length: 600 }, (_, n) => [item(`${n}`)])
      )
    }).pipe(Effect.provide(single))
  )

  const step = fc.oneof(
    todoLists.map((todos) => ({ _tag: "write" as const, todos })),
    fc.constantFrom("user" as const, "system" as const).map((kind) => ({ _tag: "turn" as const, kind }))
  )

  it.effect.prop(
    "replays to what is shown, whatever was written",
    [fc.array(step, { maxLength: 20 })],
    ([steps]) =>
      Effect.gen(function* () {
        const todo = yield* Todo
        const id = yield* newSession
        let expected: Todos = null
        for (const [index, step] of steps.entries()) {
          if (step._tag === "write") {
            const { todos } = yield* todo.write(id, step.todos)
            assert.deepStrictEqual(todos, step.todos)
            expected = step.todos
          } else {
            yield* append(id, start(index, { kind: step.kind }))
            expected = null
          }
          assert.deepStrictEqual(yield* todo.get(id), expected)
        }
        const versions = yield* versionsOf(id)
        assert.deepStrictEqual(versions.at(-1)?.todos ?? null, expected)
        for (const [index, version] of versions.entries()) {
          assert.notDeepEqual(version.todos, versions[index - 1]?.todos ?? null)
        }
      }).pipe(Effect.provide(parallel)),
    { fastCheck: { numRuns: 25 } }
  )
})

const observe = (id: SessionId) =>
  Effect.gen(function* () {
    const todo = yield* Todo
    const seen = yield* Queue.unbounded<TodoChange>()
    yield* Effect.forkScoped(Stream.runForEach(todo.changes(id), (change) => Queue.offer(seen, change)))
    return Queue.take(seen)
  })

describe("changes", () => {
  it.scoped("begins with the present list and follows with what differs", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* todo.write(id, [item("a"), item("b")])
      const next = yield* observe(id)
      assert.deepStrictEqual(yield* next, {
        asOfSeq: 0,
        todos: [item("a"), item("b")],
        added: [item("a"), item("b")],
        removed: [],
        statusChanged: []
      })
      yield* todo.write(id, [item("a", "in_progress"), item("c")])
      assert.deepStrictEqual(yield* next, {
        asOfSeq: 1,
        todos: [item("a", "in_progress"), item("c")],
        added: [item("c")],
        removed: [item("b")],
        statusChanged: [{ content: "a", from: "pending", to: "in_progress" }]
      })
      yield* todo.write(id, [item("c"), item("a", "in_progress")])
      assert.deepStrictEqual(yield* next, {
        asOfSeq: 2,
        todos: [item("c"), item("a", "in_progress")],
        added: [],
        removed: [],
        statusChanged: []
      })
    }).pipe(Effect.provide(single))
  )

  it.scoped("tells a clear from an empty list, and nothing for a write that changes nothing", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      const next = yield* observe(id)
      assert.isNull((yield* next).todos)
      yield* todo.write(id, [item("a")])
      yield* todo.write(id, [item("a")])
      yield* append(id, start(1), end(1))
      yield* append(id, start(2), end(2))
      yield* todo.write(id, [])
      assert.deepStrictEqual((yield* next).added, [item("a")])
      const cleared = yield* next
      assert.isNull(cleared.todos)
      assert.deepStrictEqual(cleared.removed, [item("a")])
      const emptied = yield* next
      assert.deepStrictEqual(emptied.todos, [])
      assert.strictEqual(emptied.asOfSeq, 5)
    }).pipe(Effect.provide(single))
  )
})

describe("writes that meet", () => {
  it.effect("come from a hundred fibers: each is stored whole, and the last stored one is shown", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      const lists = Array.from({ length: 100 }, (_, n) => [item(`writer ${n}`), item("shared", "in_progress")])
      const answers = yield* Effect.forEach(lists, (list) => todo.write(id, list), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers.map(({ todos }) => todos),
        lists
      )
      const events = yield* eventsOf(id)
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        lists.map((_, seq) => seq)
      )
      const stored = events.map(({ data }) => data as { readonly todos: unknown })
      assert.sameDeepMembers(
        stored.map(({ todos }) => todos),
        lists
      )
      assert.deepStrictEqual(yield* todo.get(id), stored.at(-1)?.todos)
    }).pipe(Effect.provide(single))
  )

  it.effect("store one event when all of them say the same", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      yield* Effect.replicateEffect(todo.write(id, [item("a")]), 100, { concurrency: "unbounded", discard: true })
      assert.strictEqual((yield* eventsOf(id)).length, 1)
    }).pipe(Effect.provide(single))
  )

  it.effect("leave all or nothing when they are interrupted", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const id = yield* newSession
      const interrupted = new Set<number>()
      for (let round = 0; round < 100; round++) {
        const fiber = yield* Effect.fork(todo.write(id, [item(`round ${round}`), item("and more")]))
        for (let yields = 0; yields < round * 2; yields++) yield* Effect.yieldNow()
        const exit = yield* Fiber.interrupt(fiber)
        const events = yield* eventsOf(id)
        const last = events.at(-1)?.data as { readonly todos: unknown } | undefined
        assert.deepStrictEqual(yield* todo.get(id), last?.todos ?? null)
        if (Exit.isSuccess(exit)) assert.deepStrictEqual(last?.todos, exit.value.todos)
        else interrupted.add(round)
      }
      const events = yield* eventsOf(id)
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index)
      )
      // The test would say nothing if none or all of them got through.
      assert.isAbove(interrupted.size, 0)
      assert.isBelow(interrupted.size, 100)
      assert.deepStrictEqual((yield* todo.write(id, [item("after")])).todos, [item("after")])
    }).pipe(Effect.provide(single))
  )
})
