import * as Http from "node:http"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as HttpNode from "@afterturn/mcp/McpHttp/Node"
import * as McpInbox from "@afterturn/mcp/McpInbox"
import type { McpServer } from "@afterturn/mcp/McpServer"
import { assert, describe, it } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as FormerClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Events from "../../support/agents.js"
import * as Session from "../support/session.js"

const listening = <A, E, R>(
  body: (url: URL, server: McpServer) => Effect.Effect<A, E, R>,
  options?: Partial<HttpNode.ListenOptions>
) =>
  Effect.gen(function* () {
    const { server } = yield* Session.served()
    const { url } = yield* HttpNode.listen(server, { port: 0, ...options })
    return yield* body(new URL(url), server)
  }).pipe(Effect.scoped, Effect.provide(Session.layer))

const todos = { todos: [{ content: "Read", status: "pending" }] }

interface Result {
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

const texts = (result: unknown) => (result as Result).content.map(({ text }) => text ?? "")

const connecting = <C extends { readonly close: () => Promise<void> }>(open: () => Promise<C>) =>
  Effect.acquireRelease(Effect.promise(open), (client) => Effect.promise(() => client.close()))

describe("the official clients over HTTP", () => {
  it.live("of the present revision: tools, progress, and word of what waits", () =>
    listening((url) =>
      Effect.gen(function* () {
        const client = yield* connecting(async () => {
          const client = new Client({ name: "present", version: "1" }, { versionNegotiation: { mode: "auto" } })
          await client.connect(new StreamableHTTPClientTransport(url))
          return client
        })
        assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
        assert.deepStrictEqual(
          texts(yield* Effect.promise(() => client.callTool({ name: "todo_write", arguments: todos }))),
          ["1 todo: 0 completed, 0 in progress, 1 pending."]
        )
        const updated: Array<string> = []
        client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri))
        const listening = yield* Effect.promise(() => client.listen({ resourceSubscriptions: [McpInbox.uri] }))
        const job = yield* Session.startJob
        yield* job.end
        yield* Session.eventually(Effect.sync(() => updated.includes(McpInbox.uri)))
        const { contents } = yield* Effect.promise(() => client.readResource({ uri: McpInbox.uri }))
        assert.include(JSON.stringify(contents), "work-1")
        yield* Effect.promise(() => listening.close())
        const [, block] = texts(yield* Effect.promise(() => client.callTool({ name: "job_list", arguments: {} })))
        assert.match(block ?? "", /job notice: work-1/)
      })
    )
  )

  it.live("of the revision before: connections, over which notices are announced", () =>
    listening((url) =>
      Effect.gen(function* () {
        const heard: Array<string> = []
        const client = yield* connecting(async () => {
          const client = new FormerClient({ name: "former", version: "1" })
          client.fallbackNotificationHandler = async ({ method }) => void heard.push(method)
          await client.connect(new FormerTransport(url) as Parameters<typeof client.connect>[0])
          return client
        })
        yield* Effect.promise(() => client.subscribeResource({ uri: McpInbox.uri }))
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.strictEqual(tools.length, 4)
        const job = yield* Session.startJob
        yield* job.end
        yield* Session.eventually(Effect.sync(() => heard.length >= 2))
        assert.deepStrictEqual([...heard].sort(), ["notifications/message", "notifications/resources/updated"])
        const wrong = yield* Effect.promise(() => client.callTool({ name: "todo_write", arguments: { todos: 1 } }))
        assert.isTrue(wrong.isError)
        const [, block] = texts(wrong)
        assert.match(block ?? "", /job notice: work-1/)
      })
    )
  )

  for (const mode of ["auto", "legacy"] as const) {
    it.live(`cancel a wait, and are answered at once afterwards (${mode})`, () =>
      listening((url) =>
        Effect.gen(function* () {
          yield* Session.startJob
          const client = yield* connecting(async () => {
            const client = new Client({ name: "impatient", version: "1" }, { versionNegotiation: { mode } })
            await client.connect(new StreamableHTTPClientTransport(url))
            return client
          })
          const wait = { job_id: "work-1", wait: true, timeout_ms: 300_000 }
          const waiting = yield* Effect.fork(
            Effect.promise((signal) => client.callTool({ name: "job_output", arguments: wait }, { signal }))
          )
          const logged = (type: { readonly type: string }) =>
            Effect.map(Events.types(Session.id), (types) => types.includes(type.type))
          yield* Session.eventually(logged(AgentEvents.ToolCall))
          yield* Fiber.interrupt(waiting)
          yield* Session.eventually(logged(AgentEvents.ToolResult))
          const [result] = yield* Events.dataOf(Session.id, AgentEvents.ToolResult)
          assert.strictEqual(result?.error?.code, "TOOL_CANCELLED")
          const [list] = texts(yield* Effect.promise(() => client.callTool({ name: "job_list", arguments: {} })))
          assert.match(list ?? "", /^work-1 .*running/)
        })
      )
    )
  }

  it.live("that present no token or a wrong one do not come in", () =>
    listening(
      (url) =>
        Effect.gen(function* () {
          const connect = (token: string) =>
            Effect.tryPromise(async () => {
              const client = new FormerClient({ name: "former", version: "1" })
              const requestInit = { headers: { Authorization: `Bearer ${token}` } }
              await client.connect(new FormerTransport(url, { requestInit }) as Parameters<typeof client.connect>[0])
              await client.close()
            })
          yield* Effect.flip(connect("guess"))
          yield* connect("secret")
        }),
      { token: Redacted.make("secret") }
    )
  )
})

describe("listening", () => {
  it.live("beyond loopback needs a token", () =>
    Effect.gen(function* () {
      const { server } = yield* Session.served()
      const refused = yield* Effect.flip(HttpNode.listen(server, { port: 0, host: "0.0.0.0" }))
      assert.strictEqual(refused._tag, "TokenRequired")
      assert.deepStrictEqual(
        ["localhost", "127.0.0.1", "127.1.2.3", "::1", "0.0.0.0", "127.0.0.1.evil.example", "10.0.0.1"].map(
          HttpNode.isLoopback
        ),
        [true, true, true, true, false, false, false]
      )
    }).pipe(Effect.scoped, Effect.provide(Session.layer))
  )

  it.live("refuses what is addressed in a way that could be misread, and goes on", () =>
    listening((url) =>
      Effect.gen(function* () {
        const status = (path: string, host: string) =>
          Effect.async<number>((resume) => {
            const { hostname, port } = url
            Http.get({ hostname, port, path, headers: { Host: host }, agent: false }, (response) => {
              response.resume()
              resume(Effect.succeed(response.statusCode ?? 0))
            })
          })
        for (const [path, host] of [
          ["/mcp", "localhost@evil.example"],
          ["/mcp", "[::1"],
          ["/mcp", ""],
          ["/mcp", "localhost/evil"],
          ["http://evil.example/mcp", "localhost"]
        ] as const) {
          assert.strictEqual(yield* status(path, host), 400, `${path} ${host}`)
        }
        assert.strictEqual(yield* status("/mcp", "evil.example"), 403)
        assert.strictEqual(yield* status("/other", "[::1]:80"), 404)
        assert.strictEqual(yield* status("//", "localhost"), 404)
      })
    )
  )

  it.live("on a port that is taken says so", () =>
    listening((url, server) =>
      Effect.gen(function* () {
        const refused = yield* Effect.flip(HttpNode.listen(server, { port: Number(url.port) }))
        assert.match(refused.message, /^cannot listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE/)
      })
    )
  )
})
