import { ToolResult } from "@afterturn/agent/AgentEvents"
import * as Agents from "@afterturn/agent/Agents"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as TerminalLog from "@afterturn/terminal/TerminalLog"
import { Terminals } from "@afterturn/terminal/Terminals"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { finished, layer, newAgent, owner } from "./support/agents.js"
import * as Fake from "./support/fake.js"

const opened = (sessionId: string, name = "terminal_open") =>
  ToolResult.make({ callId: sessionId, name, ok: true, value: { sessionId }, text: "" })

describe("the ids of terminals", () => {
  it.effect("are taken from what the session was shown, and an earlier run's are said to be gone", () =>
    Effect.gen(function* () {
      const agents = yield* Agents.Agents
      const log = yield* SessionLog
      yield* Effect.scoped(newAgent())
      yield* log.append(owner, [opened("term-2"), opened("term-9", "other_tool"), opened("term-1")])
      const projected = yield* Effect.flatMap(Projections, (projections) =>
        projections.get(owner, TerminalLog.lastNumber)
      )
      assert.strictEqual(projected.value, 2)
      yield* agents.resume(owner)
      const terminals = yield* Terminals
      const opening = yield* Effect.fork(terminals.open(owner, { type: "shell", cwd: "/tmp" }))
      assert.strictEqual((yield* finished(opening)).id, "term-3")
      const gone = yield* Effect.flip(terminals.read(owner, "term-2"))
      assert.deepInclude(gone, { ended: true })
      assert.include(gone.message, "ended with the host")
      assert.deepInclude(yield* Effect.flip(terminals.read(owner, "term-9")), { ended: false })
    }).pipe(Effect.scoped, Effect.provide(layer(Fake.make().layer)))
  )
})

describe("a number", () => {
  it("is only in an id", () => {
    assert.strictEqual(TerminalLog.numberOf("term-12"), 12)
    for (const id of ["term-0", "term-01", "terminal-1", "term-1 ", ""]) assert.isUndefined(TerminalLog.numberOf(id))
  })
})
