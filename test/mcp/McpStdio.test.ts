import { PassThrough } from "node:stream"
import * as McpStdio from "@afterturn/mcp/McpStdio"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Session from "./support/session.js"

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "tester", version: "1" } }
}

const tools = { jsonrpc: "2.0", id: "two", method: "tools/list" }

/** A pair of streams, and each line that was written so far, which must be JSON-RPC. */
const streams = () => {
  const input = new PassThrough()
  const output = new PassThrough()
  let text = ""
  output.setEncoding("utf8").on("data", (piece: string) => {
    text += piece
  })
  return {
    input,
    output,
    send: (...messages: ReadonlyArray<unknown>) => {
      for (const message of messages) input.write(`${JSON.stringify(message)}\n`)
    },
    answers: () => {
      assert.isTrue(text === "" || text.endsWith("\n"), "the last line is whole")
      return text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const message = JSON.parse(line)
          assert.strictEqual(message.jsonrpc, "2.0")
          return message
        })
    }
  }
}

type Streams = ReturnType<typeof streams>

/** Serves a session over streams until they end. */
const serving = <A, E, R>(body: (io: Streams) => Effect.Effect<A, E, R>, options?: Partial<McpStdio.StdioOptions>) =>
  Effect.gen(function* () {
    const { server } = yield* Session.served()
    const io = streams()
    const fiber = yield* Effect.fork(Effect.scoped(McpStdio.serve(server, { ...io, ...options })))
    yield* body(io)
    yield* Fiber.join(fiber)
    return io.answers()
  }).pipe(Effect.scoped, Effect.provide(Session.layer))

const ended = (io: Streams) => Effect.sync(() => io.input.end())

const codes = (answers: ReadonlyArray<{ readonly id: unknown; readonly error?: { readonly code: number } }>) =>
  answers.map(({ error, id }) => [id, error?.code ?? "ok"])

describe("a server over streams", () => {
  it.live("answers what was asked before its input ended, string ids too", () =>
    Effect.gen(function* () {
      const answers = yield* serving((io) => {
        io.send(initialize, tools)
        return ended(io)
      })
      assert.deepStrictEqual(codes(answers), [
        [1, "ok"],
        ["two", "ok"]
      ])
      assert.strictEqual(answers[0].result.protocolVersion, "2025-11-25")
      assert.strictEqual(answers[1].result.tools.length, 4)
    })
  )

  it.live("answers garbage as JSON-RPC does, and goes on", () =>
    Effect.gen(function* () {
      const answers = yield* serving((io) => {
        io.input.write('garbage\n\n  \n{"a":1}\n[1,2]\n\r\nnull\n')
        io.send(initialize, tools)
        io.input.write('{"jsonrpc":"2.0","id":3,"meth')
        return ended(io)
      })
      assert.deepStrictEqual(codes(answers), [
        [null, -32_700],
        [null, -32_600],
        [null, -32_600],
        [null, -32_600],
        [1, "ok"],
        ["two", "ok"]
      ])
    })
  )

  it.live("refuses a line that is too long without keeping it, in whatever pieces it comes", () =>
    Effect.gen(function* () {
      const answers = yield* serving(
        (io) => {
          io.send(initialize)
          for (let piece = 0; piece < 200; piece++) io.input.write("x".repeat(100))
          io.input.write(`\n${JSON.stringify(tools).slice(0, 10)}`)
          io.input.write(`${JSON.stringify(tools).slice(10)}\r\n`)
          return ended(io)
        },
        { maxLineBytes: 10_000 }
      )
      assert.deepStrictEqual(
        codes(answers).sort(),
        [
          [1, "ok"],
          [null, -32_700],
          ["two", "ok"]
        ].sort()
      )
    })
  )

  it.live("ends at once when the input was closed, having said nothing", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* serving(ended), [])
    })
  )

  it.live("ends when nobody reads its output any more", () =>
    Effect.gen(function* () {
      yield* serving((io) => Effect.sync(() => io.output.destroy(new Error("EPIPE"))))
    })
  )

  it.live("does not wait for the answer to a request that was cancelled, nor for ever for another", () =>
    Effect.gen(function* () {
      const wait = (id: number) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "job_output", arguments: { job_id: "work-1", wait: true } }
      })
      const { server } = yield* Session.served()
      yield* Session.startJob
      for (const cancels of [true, false]) {
        const io = streams()
        const drain = cancels ? "1 hour" : "10 millis"
        const fiber = yield* Effect.fork(Effect.scoped(McpStdio.serve(server, { ...io, drain })))
        io.send(initialize, wait(7))
        if (cancels) io.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 7 } })
        // Neither an unknown id nor one that was answered ends anything.
        io.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 99 } })
        io.input.end()
        yield* Fiber.join(fiber)
        assert.deepStrictEqual(codes(io.answers()), [[1, "ok"]])
      }
    }).pipe(Effect.scoped, Effect.provide(Session.layer))
  )
})

describe("a session that cannot be served", () => {
  it.live("is refused with the reason, request by request, until the input ends", () =>
    Effect.gen(function* () {
      const io = streams()
      const fiber = yield* Effect.fork(
        Effect.scoped(McpStdio.refuse({ code: "session_leased", message: "somebody else drives it" }, io))
      )
      io.send(initialize, { jsonrpc: "2.0", method: "notifications/initialized" }, tools)
      io.input.end()
      yield* Fiber.join(fiber)
      const error = { code: -32_000, message: "somebody else drives it", data: { code: "session_leased" } }
      assert.deepStrictEqual(
        io.answers().map(({ error, id }) => ({ id, error })),
        [
          { id: 1, error },
          { id: "two", error }
        ]
      )
    })
  )
})
