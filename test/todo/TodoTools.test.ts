import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource, NewMessage } from "@afterturn/agent/AgentMessage"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { Todo } from "@afterturn/todo/Todo"
import type { ClearOn, TodoSettings } from "@afterturn/todo/TodoConfig"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import { TodoWrite } from "@afterturn/todo/TodoLog"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as Tool from "@effect/ai/Tool"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"
import { callTool, layer, newAgent } from "./support/agents.js"
import { eventsOf, item, writesOf } from "./support/todos.js"

const settings = (options?: Partial<TodoSettings>): TodoSettings => ({
  allowParallelInProgress: false,
  clearOn: "every-turn",
  maxItems: 1000,
  maxContentLength: 10_000,
  maxTotalLength: 1_000_000,
  ...options
})

const toolOf = (options?: Partial<TodoSettings>) => TodoTools.toolkit(settings(options)).tools.todo_write

const description = (options?: Partial<TodoSettings>) => toolOf(options).description ?? ""

const write = (...todos: ReadonlyArray<unknown>) => ({ name: "todo_write", input: { todos } })

const single = layer(FakeModel.replies().layer)
const parallel = layer(FakeModel.replies().layer, { allowParallelInProgress: true })

describe("the tool", () => {
  it("shows a model the same closed parameters under each policy", () => {
    for (const options of [{}, { allowParallelInProgress: true, clearOn: "user-turn" as const, maxItems: 3 }]) {
      const schema = JSON.parse(JSON.stringify(Tool.getJsonSchema(toolOf(options))))
      const todos = schema.properties.todos
      for (const described of [todos, todos.items, todos.items.properties.content, todos.items.properties.status]) {
        assert.match(described.description, /\w \w/)
        delete described.description
      }
      assert.deepStrictEqual(schema, {
        type: "object",
        required: ["todos"],
        properties: {
          todos: {
            type: "array",
            items: {
              type: "object",
              required: ["content", "status"],
              properties: {
                content: { type: "string" },
                status: { type: "string", enum: ["pending", "in_progress", "completed"] }
              },
              additionalProperties: false
            }
          }
        },
        additionalProperties: false
      })
    }
  })

  it("describes the policy of the deployment", () => {
    assert.match(description(), /exactly one todo in_progress/)
    assert.notMatch(description(), /in parallel/)
    assert.match(description({ allowParallelInProgress: true }), /several at once when they run in parallel/)
    assert.notMatch(description({ allowParallelInProgress: true }), /exactly one todo in_progress/)
    assert.notStrictEqual(description({ clearOn: "user-turn" }), description({ clearOn: "every-turn" }))
  })

  it("asks to reflect delegated and background work once that completes, and conceals nothing", () => {
    for (const allowParallelInProgress of [true, false]) {
      const text = description({ allowParallelInProgress })
      assert.match(text, /delegated or left running in the background completes, update the list/)
      assert.notMatch(text, /\b(secret|conceal|hide|do not (tell|mention)|don't (tell|mention))/i)
    }
  })

  it.scoped("is registered with what a catalog says of it", () =>
    Effect.gen(function* () {
      const all = yield* Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.tools())
      const registered = all.find(({ tool }) => tool.name === "todo_write")!
      assert.strictEqual(registered.info.package, "@afterturn/todo")
      assert.deepStrictEqual(registered.info.writes, ["todo/write"])
      assert.match(registered.info.note ?? "", /allowParallelInProgress: true/)
      const annotations = registered.tool.annotations
      assert.isFalse(Context.get(annotations, Tool.Destructive))
      assert.isFalse(Context.get(annotations, Tool.OpenWorld))
    }).pipe(Effect.provide(parallel))
  )
})

describe("a call", () => {
  it.scoped("answers the list and its counts, and reads as one short line", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent
      const todos = [item("plan", "completed"), item("build", "in_progress"), item("test")]
      const outcome = yield* callTool({ todos: [item(" plan ", "completed"), ...todos.slice(1)] }, agent)
      assert.deepStrictEqual(outcome, {
        callId: "call-1",
        name: "todo_write",
        ok: true,
        value: { todos, counts: { pending: 1, inProgress: 1, completed: 1 } },
        text: "3 todos: 1 completed, 1 in progress, 1 pending."
      })
      assert.deepStrictEqual(yield* Effect.flatMap(Todo, (todo) => todo.get(agent.id)), todos)
      assert.strictEqual((yield* callTool({ todos: [] }, agent)).text, "The todo list is empty.")
    }).pipe(Effect.provide(single))
  )

  it.scoped("takes the list as JSON text, and says so", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent
      const outcome = yield* callTool({ todos: '[{"content":"Test todo","status":"completed"}]' }, agent)
      assert.isTrue(outcome.ok)
      assert.deepStrictEqual(yield* Effect.flatMap(Todo, (todo) => todo.get(agent.id)), [
        item("Test todo", "completed")
      ])
      assert.match(outcome.text, /^1 todo: 1 completed, 0 in progress, 0 pending\.\n\(.*JSON.*\)$/)
    }).pipe(Effect.provide(single))
  )

  it.scoped("is refused with its place and leaves the list as it was", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent
      const todo = yield* Todo
      yield* callTool({ todos: [item("kept")] }, agent)
      for (const [input, code, place] of [
        [{ todos: "[{'content': 'a', 'status': 'pending'}]" }, "invalid_arguments", "todos"],
        [{ todos: '{"id":"1"}' }, "invalid_arguments", "todos"],
        [{ todos: { content: "write report", status: "pending" } }, "invalid_arguments", "todos"],
        [{}, "invalid_arguments", "todos"],
        [{ todos: null }, "invalid_arguments", "todos"],
        [{ todos: [null] }, "invalid_arguments", "todos[0]"],
        [{ todos: [42] }, "invalid_arguments", "todos[0]"],
        [{ todos: [{ content: "a" }] }, "invalid_arguments", "todos[0].status"],
        [{ todos: [{ content: "a", status: "done" }] }, "invalid_arguments", "todos[0].status"],
        [{ todos: [{ ...item("a"), priority: "high" }] }, "invalid_arguments", "priority"],
        [{ todos: [item("a")], merge: true }, "invalid_arguments", "merge"],
        [{ todos: [item("")] }, "invalid_todo", "todos[0].content"],
        [{ todos: [item("a"), item("b\nc")] }, "invalid_todo", "todos[1].content"],
        [{ todos: [item("a"), item("a\u200b")] }, "duplicate_content", "todos[1].content"],
        [{ todos: [item("a", "in_progress"), item("b", "in_progress"), item("c")] }, "too_many_in_progress", "todos[1]"]
      ] as const) {
        const outcome = yield* callTool(input, agent)
        assert.isFalse(outcome.ok)
        assert.strictEqual(outcome.error?.code, code, JSON.stringify(input))
        assert.include(outcome.text, place)
        assert.deepStrictEqual(yield* callTool(input, agent), outcome)
        assert.deepStrictEqual(yield* todo.get(agent.id), [item("kept")])
      }
      assert.strictEqual(writesOf(yield* eventsOf(agent.id)).length, 1)
    }).pipe(Effect.provide(single))
  )

  it.scoped("names who is in progress beside whom, and says that nothing changed", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent
      const todos = [item("first", "in_progress"), item("second", "in_progress"), item("third")]
      const { text } = yield* callTool({ todos }, agent)
      assert.match(text, /^error too_many_in_progress: .*got 2: todos\[0\] "first", todos\[1\] "second"; .*unchanged$/)
    }).pipe(Effect.provide(single))
  )

  it.scoped("stores several in progress where that is allowed", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent
      const todos = [item("first", "in_progress"), item("second", "in_progress"), item("third")]
      const outcome = yield* callTool({ todos }, agent)
      assert.deepStrictEqual(outcome.value, { todos, counts: { pending: 1, inProgress: 2, completed: 0 } })
    }).pipe(Effect.provide(parallel))
  )

  it.effect("is refused outside an agent", () =>
    Effect.gen(function* () {
      const outcome = yield* callTool({ todos: [item("a")] })
      assert.strictEqual(outcome.error?.code, "no_owning_session")
      assert.match(outcome.text, /outside/)
    }).pipe(Effect.provide(single))
  )

  it.effect("is answered as a result, not failed, where tools run without our pipeline", () =>
    Effect.gen(function* () {
      const toolkit = yield* Effect.provide(TodoTools.toolkit(settings()), TodoTools.layerHandlers(settings()))
      const { encodedResult, isFailure } = yield* toolkit.handle("todo_write", { todos: [] })
      assert.isTrue(isFailure)
      assert.deepInclude(encodedResult, { code: "no_owning_session" })
    }).pipe(Effect.provide(single))
  )

  it.scoped("acts on the session of its agent alone", () =>
    Effect.gen(function* () {
      const todo = yield* Todo
      const parent = yield* newAgent
      const child = yield* newAgent
      const five = ["a", "b", "c", "d", "e"].map((name) => item(name))
      yield* callTool({ todos: five }, parent)
      yield* callTool({ todos: [item("x"), item("y")] }, child)
      const stolen = yield* callTool({ todos: [item("z")], session_id: parent.id }, child)
      assert.isFalse(stolen.ok)
      assert.deepStrictEqual(yield* todo.get(parent.id), five)
      assert.deepStrictEqual(yield* todo.get(child.id), [item("x"), item("y")])
    }).pipe(Effect.provide(single))
  )

  it.scoped("says so when the list was fine and the store was not", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent
      const full = new SessionStoreError({ reason: "full", message: "no space is left on the device" })
      const broken = Layer.succeed(Todo, {
        write: () => Effect.fail(full),
        get: () => Effect.fail(full),
        history: () => Stream.fail(full),
        changes: () => Stream.fail(full)
      })
      const tool = TodoTools.layer.pipe(
        Layer.provide(broken),
        Layer.provide(TodoConfig.layer({ allowParallelInProgress: true })),
        Layer.provideMerge(ToolRegistry.layer)
      )
      const outcome = yield* Effect.provide(callTool({ todos: [] }, agent), tool)
      assert.deepStrictEqual(outcome.error, {
        code: "not_stored",
        message: "no space is left on the device; the list is unchanged"
      })
    }).pipe(Effect.provide(single))
  )
})

const sources: ReadonlyArray<readonly [MessageSource, keepsUnderUserTurn: boolean]> = [
  [{ kind: "user" }, false],
  [{ kind: "job-notice", jobs: ["bash-1"] }, true],
  [{ kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] }, true],
  [{ kind: "goal-round", goalId: "goal-1", revision: 1, round: 1 }, true]
]

describe("a turn", () => {
  it.scoped("logs the call, the list and the answer, whose text is the tool's alone", () => {
    const model = FakeModel.replies({ calls: [write(item("a", "in_progress"), item("b"))] }, { text: "started" })
    return Effect.gen(function* () {
      const agent = yield* newAgent
      yield* agent.followup(AgentMessage.user("do a and b"))
      yield* agent.whenIdle
      const events = yield* eventsOf(agent.id)
      const types = events.map(({ type }) => type).filter((type) => /^(todo|tool)\//.test(type))
      assert.deepStrictEqual(types, ["tool/call", "todo/write", "tool/result"])
      const [result] = yield* Support.dataOf(agent.id, AgentEvents.ToolResult)
      assert.strictEqual(result?.text, "2 todos: 0 completed, 1 in progress, 1 pending.")
      // Nobody ticks a todo off but the model.
      assert.deepStrictEqual(yield* Effect.flatMap(Todo, (todo) => todo.get(agent.id)), [
        item("a", "in_progress"),
        item("b")
      ])
    }).pipe(Effect.provide(layer(model.layer)))
  })

  it.scoped("with two calls in one step stores both; what the log has last is shown", () => {
    const model = FakeModel.replies({ calls: [write(item("a")), write(item("b"))] })
    return Effect.gen(function* () {
      const agent = yield* newAgent
      yield* agent.followup(AgentMessage.user("go"))
      yield* agent.whenIdle
      const writes = yield* Support.dataOf(agent.id, TodoWrite)
      assert.strictEqual(writes.length, 2)
      assert.deepStrictEqual(yield* Effect.flatMap(Todo, (todo) => todo.get(agent.id)), writes[1]?.todos)
    }).pipe(Effect.provide(layer(model.layer)))
  })

  for (const clearOn of ["every-turn", "user-turn"] as const satisfies ReadonlyArray<ClearOn>) {
    for (const [source, keeps] of sources) {
      it.scoped(`cancelled in the middle, then one opened by ${source.kind}, follows ${clearOn}`, () => {
        const list = [item("a"), item("b"), item("c")]
        const model = FakeModel.replies({ calls: [write(...list)] }, { hang: true }, { text: "on with it" })
        const opening: NewMessage = AgentMessage.text(source, "something else")
        return Effect.gen(function* () {
          const todo = yield* Todo
          const agent = yield* newAgent
          yield* agent.followup(AgentMessage.user("do a, b and c"))
          yield* model.asked(1)
          yield* agent.cancel("the user cancelled")
          assert.deepStrictEqual(yield* todo.get(agent.id), list)
          yield* agent.followup(opening)
          yield* agent.whenIdle
          assert.deepStrictEqual(yield* todo.get(agent.id), keeps && clearOn === "user-turn" ? list : null)
        }).pipe(Effect.provide(layer(model.layer, { clearOn })))
      })
    }
  }
})
