import { PassThrough } from "node:stream"
import * as McpStdio from "@afterturn/mcp/McpStdio"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as fc from "fast-check"
import { breathe } from "../support/breathe.js"
import { jsonTexts, nearly, nearlyText, runs, strings } from "../support/hostile.js"
import * as Session from "./support/session.js"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1" } }
}

const messages = [
  initialize,
  { jsonrpc: "2.0", id: "two", method: "tools/list", params: {} },
  {
    jsonrpc: "2.0",
    id: 3,
    method: "tools/call",
    params: { name: "todo_write", arguments: { todos: [{ content: "a", status: "pending" }] } }
  },
  { jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "job_output", arguments: { job_id: "work-1" } } },
  { jsonrpc: "2.0", id: 5, method: "resources/read", params: { uri: "afterturn://inbox" } },
  { jsonrpc: "2.0", id: 6, method: "prompts/get", params: { name: "todo", arguments: { item: "x" } } },
  { jsonrpc: "2.0", id: 7, method: "ping" },
  { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 3, reason: "enough" } },
  { jsonrpc: "2.0", method: "notifications/initialized" },
  { jsonrpc: "2.0", id: 8, result: {} }
]

const last = JSON.stringify({ jsonrpc: "2.0", id: "the last", method: "ping" })

/** Serves these bytes to their end; what was written. */
const served = (bytes: Buffer) =>
  Effect.gen(function* () {
    const { server } = yield* Session.served()
    const input = new PassThrough()
    const output = new PassThrough()
    let text = ""
    output.setEncoding("utf8").on("data", (piece: string) => {
      text += piece
    })
    const fiber = yield* Effect.fork(
      Effect.scoped(McpStdio.serve(server, { input, output, maxLineBytes: 100_000, drain: "10 seconds" }))
    )
    for (let from = 0; from < bytes.length; from += 60_000) {
      input.write(bytes.subarray(from, from + 60_000))
      yield* Effect.promise(breathe)
    }
    yield* Session.eventually(Effect.sync(() => text.includes('"the last"')))
    input.end()
    yield* Fiber.join(fiber)
    return text
  }).pipe(Effect.scoped, Effect.provide(Session.layer))

const lines = fc.oneof(
  { weight: 4, arbitrary: nearly(messages).map((value) => JSON.stringify(value) ?? "") },
  { weight: 2, arbitrary: nearlyText(messages.map((message) => JSON.stringify(message))) },
  { weight: 1, arbitrary: nearly(messages).map((value) => JSON.stringify([value, value])) }
)

describe("whatever lines come in", () => {
  it.live("each line that goes out is JSON-RPC, and the next request is answered", () =>
    Effect.gen(function* () {
      const hostile = [
        ...strings,
        ...jsonTexts.flatMap((json) => [
          json,
          `{"jsonrpc":"2.0","id":${json},"method":"ping"}`,
          `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":${json}}`,
          `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"todo_write","arguments":${json}}}`,
          `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"todo_write","arguments":{"todos":${json}}}}`
        ]),
        "x".repeat(5_000_000),
        ...fc.sample(lines, runs(60, 3_000))
      ]
      const bytes = Buffer.concat([
        Buffer.from(`${JSON.stringify(initialize)}\r\n`),
        Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a]),
        Buffer.from(`${hostile.join("\n")}\n${last}\n`)
      ])
      const text = yield* served(bytes)
      assert.isTrue(text.endsWith("\n"))
      for (const line of text.split("\n")) {
        if (line === "") continue
        assert.isBelow(line.length, 200_000)
        const message = JSON.parse(line)
        assert.strictEqual(message.jsonrpc, "2.0", line)
        assert.notInclude(line, "internal_error")
        assert.notMatch(line, /RangeError|TypeError|at .*\.ts:\d+/)
      }
    })
  )
})
