/** What the tools ask, refuse and say, on terminals of no system. */
import type { ApprovalRequest } from "@afterturn/agent/Approval"
import * as Approval from "@afterturn/agent/Approval"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { call, finished, layer, newAgent } from "./support/agents.js"
import * as Fake from "./support/fake.js"

/** Calls a tool and lets time go by until it has answered. */
const answered = (...args: Parameters<typeof call>) => Effect.flatMap(Effect.fork(call(...args)), finished)

describe("approval", () => {
  it.effect("is asked for each text, in a form in which rules cannot be got around by keys", () => {
    const backend = Fake.make()
    const asked: Array<ApprovalRequest> = []
    const approval = Approval.layer({
      policy: "ask",
      rules: [{ tool: "terminal_send", prefix: "git", decision: "allow" }],
      ask: (request) =>
        Effect.sync(() => {
          asked.push(request)
          return { _tag: "no" }
        })
    })
    return Effect.gen(function* () {
      const agent = yield* newAgent()
      yield* answered("terminal_open", { type: "shell" }, agent)
      const send = (text: string) => answered("terminal_send", { sessionId: "term-1", text }, agent)
      assert.isTrue((yield* send("git status")).ok)
      for (const text of ["rm -rf x", "git \u0015rm -rf x", "git status\rrm -rf x"]) {
        assert.include((yield* send(text)).text, "approval_denied", text)
      }
      assert.deepStrictEqual(
        asked.map(({ action }) => action),
        ["rm -rf x", 'keys "git \\u0015rm -rf x"', "git status\nrm -rf x"]
      )
      assert.deepStrictEqual(backend.terminals[0]?.typed, ["git status\r"])
    }).pipe(Effect.scoped, Effect.provide(layer(backend.layer, { approval })))
  })
})

describe("the tools", () => {
  it.effect("say where a terminal stands, in the last line", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const agent = yield* newAgent()
      assert.strictEqual((yield* answered("terminal_list", {}, agent)).text, "no terminals are open")
      const opened = yield* answered("terminal_open", { type: "shell", name: "main", cwd: "sub" }, agent)
      assert.match(opened.text, /^term-1 \(shell, "main"\) at its prompt, program: bash, opened in \/tmp\/sub at /)
      assert.strictEqual(backend.terminals[0]?.request.cwd, "/tmp/sub")
      yield* backend.terminals[0]!.writes("a\r\nb")
      const read = yield* answered("terminal_read", { sessionId: "term-1", count: 1 }, agent)
      assert.match(read.text, /^b\n\[term-1 .*; lines 2 to 2 of 2; offset 1 reads those before\]$/)
      const sent = yield* answered("terminal_send", { sessionId: "term-1", text: "x" }, agent)
      assert.match(sent.text, /^b\n\[term-1: at its prompt\]$/)
      const closed = yield* answered("terminal_close", { sessionId: "term-1" }, agent)
      assert.strictEqual(closed.text, "term-1 is closed")
    }).pipe(Effect.scoped, Effect.provide(layer(backend.layer)))
  })

  it.effect("refuse what cannot be, with what was expected", () =>
    Effect.gen(function* () {
      const outside = yield* answered("terminal_list", {})
      assert.include(outside.text, "no_owning_session")
      const agent = yield* newAgent()
      assert.include((yield* answered("terminal_open", { type: "fish" }, agent)).text, "one of shell")
      assert.include(
        (yield* answered("terminal_signal", { sessionId: "term-1", signal: "SIGUSR1" }, agent)).text,
        "invalid_arguments"
      )
      assert.include((yield* answered("terminal_close", { sessionId: "term-1" }, agent)).text, "terminal_not_found")
    }).pipe(Effect.scoped, Effect.provide(layer(Fake.make().layer)))
  )
})
