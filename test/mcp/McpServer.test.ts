import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as McpInbox from "@afterturn/mcp/McpInbox"
import { assert, describe, it } from "@effect/vitest"
import type { CallToolResult } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Events from "../support/agents.js"
import * as Session from "./support/session.js"

const { call, sleepsUntil, texts } = Session

type Services = Layer.Layer.Success<typeof Session.layer> | Scope.Scope

const test = (name: string, body: Effect.Effect<void, unknown, Services>) =>
  it.effect(name, () => body.pipe(Effect.scoped, Effect.provide(Session.layer)))

describe("a client", () => {
  test(
    "is told what there is: tools, inbox, prompts, and how the session works",
    Effect.gen(function* () {
      const { server } = yield* Session.served({ name: "mine", version: "1.2.3" })
      const client = yield* Session.connect(server)
      assert.deepInclude(client.getServerVersion(), { name: "mine", version: "1.2.3" })
      assert.match(client.getInstructions() ?? "", /^A test session\.\n\nBackground jobs: /)
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["todo_write", "job_output", "job_list", "job_kill"]
      )
      const { resources } = yield* Effect.promise(() => client.listResources())
      assert.deepStrictEqual(
        resources.map(({ uri }) => uri),
        [McpInbox.uri]
      )
      const { prompts } = yield* Effect.promise(() => client.listPrompts())
      assert.deepStrictEqual(
        prompts.map(({ name }) => name),
        ["todo"]
      )
      const asked = yield* Effect.promise(() => client.getPrompt({ name: "todo", arguments: { item: " milk " } }))
      assert.deepStrictEqual(asked.messages, [{ role: "user", content: { type: "text", text: "s1: milk" } }])
    })
  )

  test(
    "acts as the session's agent, in a turn that a quiet minute ends",
    Effect.gen(function* () {
      const { agent, server } = yield* Session.served()
      const client = yield* Session.connect(server)
      const todos = [{ content: "Read", status: "in_progress" }]
      const written = yield* call(client, "todo_write", { todos })
      assert.deepStrictEqual(
        [written.isError, texts(written)],
        [false, ["1 todo: 0 completed, 1 in progress, 0 pending."]]
      )
      const [answer] = yield* Events.dataOf(Session.id, AgentEvents.AssistantMessage)
      assert.strictEqual(answer?.route, "mcp:tester")
      yield* sleepsUntil(60_000)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* agent.status, "idle")
      assert.deepStrictEqual(yield* Events.turnEnds(Session.id), [{ kind: "completed" }])
    })
  )

  test(
    "gets an answer that says what was wrong, whatever it sends",
    Effect.gen(function* () {
      const { server } = yield* Session.served()
      const client = yield* Session.connect(server)
      const wrong = yield* call(client, "todo_write", { todos: "none" })
      assert.isTrue(wrong.isError)
      assert.match(texts(wrong)[0] ?? "", /^error invalid_arguments: todo_write: todos must be an array/)
      const unknown = yield* call(client, "todo_wirte")
      assert.match(texts(unknown)[0] ?? "", /^error unknown_tool: .*the tools are todo_write, job_output/)
      const none = (yield* Effect.promise(() => client.callTool({ name: "job_list" }))) as CallToolResult
      assert.deepStrictEqual(texts(none), ["no background jobs"])
      const resource = yield* Effect.flip(
        Effect.tryPromise(() => client.readResource({ uri: "afterturn://session/other" }))
      )
      assert.include(String(resource.error), McpInbox.uri)
      const prompt = yield* Effect.flip(Effect.tryPromise(() => client.getPrompt({ name: "missing" })))
      assert.include(String(prompt.error), "expected one of todo")
    })
  )
})

describe("a long wait", () => {
  const wait = { job_id: "work-1", wait: true, timeout_ms: 300_000 }

  test(
    "is answered before a client gives up that did not ask for progress",
    Effect.gen(function* () {
      const { server } = yield* Session.served()
      const client = yield* Session.connect(server)
      yield* Session.startJob
      const waiting = yield* Effect.fork(call(client, "job_output", wait))
      yield* sleepsUntil(45_000)
      yield* TestClock.adjust("45 seconds")
      assert.deepStrictEqual(texts(yield* Fiber.join(waiting)), ["hello\n[status: running]"])
    })
  )

  test(
    "tells its progress to a client that asked for it, and takes as long as it was to",
    Effect.gen(function* () {
      const { server } = yield* Session.served()
      const client = yield* Session.connect(server)
      const job = yield* Session.startJob
      const told: Array<number> = []
      const onprogress = ({ progress }: { readonly progress: number }) => void told.push(progress)
      const waiting = yield* Effect.fork(call(client, "job_output", wait, { onprogress }))
      for (const seconds of [5, 10, 15]) {
        yield* sleepsUntil(seconds * 1_000)
        yield* TestClock.adjust("5 seconds")
        yield* Session.eventually(Effect.sync(() => told.length * 5 === seconds))
      }
      yield* TestClock.adjust("1 minute")
      yield* job.end
      const result = yield* Fiber.join(waiting)
      assert.match(texts(result)[0] ?? "", /\[status: completed/)
      assert.deepStrictEqual(told.slice(0, 3), [5, 10, 15])
    })
  )

  test(
    "ends when the client cancels it, and the job goes on",
    Effect.gen(function* () {
      const { server } = yield* Session.served()
      const client = yield* Session.connect(server)
      yield* Session.startJob
      const waiting = yield* Effect.fork(call(client, "job_output", wait))
      yield* sleepsUntil(45_000)
      yield* Fiber.interrupt(waiting)
      yield* Session.eventually(
        Effect.map(Events.dataOf(Session.id, AgentEvents.ToolResult), ([result]) => result !== undefined)
      )
      const [result] = yield* Events.dataOf(Session.id, AgentEvents.ToolResult)
      assert.strictEqual(result?.error?.code, "TOOL_CANCELLED")
      const [list] = texts(yield* call(client, "job_list"))
      assert.match(list ?? "", /^work-1 .*running/)
    })
  )
})

describe("what comes while nobody calls", () => {
  test(
    "is announced, can be read, and comes beside the next result",
    Effect.gen(function* () {
      const { server } = yield* Session.served()
      const client = yield* Session.connect(server)
      const stranger = yield* Session.connect(server)
      const logged: Array<unknown> = []
      const updated: Array<string> = []
      const unasked: Array<string> = []
      client.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params.data))
      client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri))
      stranger.setNotificationHandler("notifications/resources/updated", ({ params }) => void unasked.push(params.uri))
      yield* Effect.promise(() => client.subscribeResource({ uri: McpInbox.uri }))
      const job = yield* Session.startJob
      yield* job.end
      yield* Session.eventually(Effect.sync(() => logged.length > 0 && updated.length > 0))
      assert.match(String(logged[0]), /^waiting for this session: msg-1, job notice: work-1; handed over/)
      const { contents } = yield* Effect.promise(() => client.readResource({ uri: McpInbox.uri }))
      const inbox = JSON.parse((contents[0] as { readonly text: string }).text)
      assert.deepStrictEqual(
        [inbox.session, inbox.waiting[0].source, inbox.waiting[0].opensTurn],
        ["s1", { kind: "job-notice", jobs: ["work-1"] }, true]
      )
      const [result, block, ...more] = texts(yield* call(client, "todo_write", { todos: [] }))
      assert.match(result ?? "", /^0 todos|^The list is|todo/)
      assert.match(block ?? "", /^A message came .*\n\n\[msg-1, job notice: work-1\]\nA background job finished/)
      assert.deepStrictEqual(more, [])
      assert.lengthOf(texts(yield* call(client, "job_list")), 1)
      const empty = yield* Effect.promise(() => client.readResource({ uri: McpInbox.uri }))
      assert.deepStrictEqual(JSON.parse((empty.contents[0] as { readonly text: string }).text).waiting, [])
      const starts = yield* Events.dataOf(Session.id, AgentEvents.TurnStart)
      assert.deepStrictEqual(
        starts.map(({ source }) => source.kind),
        ["user", "job-notice"]
      )
      assert.deepStrictEqual(unasked, [])
    })
  )
})
