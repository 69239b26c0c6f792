import * as McpHttp from "@afterturn/mcp/McpHttp"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Session from "./support/session.js"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1" } }
}

const post = (body: unknown, headers: Record<string, string> = {}, url = "http://localhost:1234/mcp") =>
  new Request(url, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: {
      Host: new URL(url).host,
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...headers
    }
  })

const serving = <A, E, R>(
  body: (ask: (request: Request) => Effect.Effect<Response>) => Effect.Effect<A, E, R>,
  options?: McpHttp.HttpOptions
) =>
  Effect.gen(function* () {
    const { server } = yield* Session.served()
    const fetch = yield* McpHttp.make(server, options)
    return yield* body((request) => Effect.promise(() => fetch(request)))
  }).pipe(Effect.scoped, Effect.provide(Session.layer))

describe("a server over HTTP", () => {
  it.live("answers at its path only", () =>
    serving((ask) =>
      Effect.gen(function* () {
        assert.strictEqual((yield* ask(post(initialize, {}, "http://localhost/other"))).status, 404)
        assert.strictEqual((yield* ask(post(initialize))).status, 200)
      })
    )
  )

  it.live("refuses names and pages that are not its own, which a rebound name would have", () =>
    serving(
      (ask) =>
        Effect.gen(function* () {
          const status = (headers: Record<string, string>) =>
            Effect.map(ask(post(initialize, headers)), (response) => response.status)
          assert.strictEqual(yield* status({ Host: "evil.example" }), 403)
          assert.strictEqual(yield* status({ Origin: "http://evil.example" }), 403)
          assert.strictEqual(yield* status({ Origin: "null" }), 403)
          assert.strictEqual(yield* status({ Origin: "http://localhost:3000" }), 200)
          assert.strictEqual(yield* status({ Host: "127.0.0.1:1234" }), 200)
          assert.strictEqual(yield* status({ Host: "box.example:1234", Origin: "https://box.example" }), 200)
        }),
      { allowedHosts: ["box.example"] }
    )
  )

  it.live("asks for its token, and takes no other", () =>
    serving(
      (ask) =>
        Effect.gen(function* () {
          const answer = (authorization?: string) =>
            ask(post(initialize, authorization === undefined ? {} : { Authorization: authorization }))
          const refused = yield* answer()
          assert.strictEqual(refused.status, 401)
          assert.match(refused.headers.get("www-authenticate") ?? "", /^Bearer/)
          for (const wrong of [
            "Bearer",
            "Bearer ",
            "Bearer secre",
            "Bearer secrets",
            "Bearer SECRET",
            "Basic secret"
          ]) {
            assert.strictEqual((yield* answer(wrong)).status, 401, wrong)
          }
          assert.strictEqual((yield* answer("Bearer secret")).status, 200)
          assert.strictEqual((yield* answer("bearer secret")).status, 200)
        }),
      { token: Redacted.make("secret") }
    )
  )

  it.live("names the connections of earlier revisions, and forgets those that are ended or too many", () =>
    serving(
      (ask) =>
        Effect.gen(function* () {
          const open = Effect.map(
            Effect.suspend(() => ask(post(initialize))),
            (response) => response.headers.get("mcp-session-id") ?? ""
          )
          const tools = { jsonrpc: "2.0", id: 2, method: "tools/list" }
          const use = (id: string) =>
            Effect.map(
              ask(post(tools, { "Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25" })),
              ({ status }) => status
            )
          const first = yield* open
          assert.match(first, /^[0-9a-f]{32}$/)
          assert.strictEqual((yield* ask(post(tools))).status, 400)
          assert.strictEqual(yield* use("nobody"), 404)
          assert.strictEqual(yield* use(first), 200)
          const second = yield* open
          const third = yield* open
          assert.deepStrictEqual([yield* use(first), yield* use(second), yield* use(third)], [404, 200, 200])
          const end = new Request("http://localhost:1234/mcp", {
            method: "DELETE",
            headers: { Host: "localhost", "Mcp-Session-Id": third, "MCP-Protocol-Version": "2025-11-25" }
          })
          assert.strictEqual((yield* ask(end)).status, 200)
          assert.deepStrictEqual([yield* use(second), yield* use(third)], [200, 404])
        }),
      { maxConnections: 2 }
    )
  )

  it.live("refuses bodies that are no JSON, or too large", () =>
    serving((ask) =>
      Effect.gen(function* () {
        const garbage = yield* ask(post("{half"))
        assert.isAtLeast(garbage.status, 400)
        const large = yield* ask(post({ ...initialize, filler: "x".repeat(5 * 1024 * 1024) }))
        assert.isAtLeast(large.status, 400)
      })
    )
  )
})
