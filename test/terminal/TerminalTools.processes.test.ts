/** The tools on terminals of the system. */
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { call, layer, newAgent, openShell, send, textOf, valueOf } from "./support/agents.js"

type Services = Layer.Layer.Success<ReturnType<typeof layer>>

const live = <A, E>(test: Effect.Effect<A, E, Services | Scope.Scope>, options?: Parameters<typeof layer>[1]) =>
  Effect.provide(Effect.scoped(test), layer(Pty.layer, options))

describe("a shell", () => {
  it.live(
    "smoke",
    () =>
      live(
        Effect.gen(function* () {
          const agent = yield* newAgent()
          const t0 = performance.now()
          const id = yield* openShell(agent)
          const log = (l: string, x: unknown) => console.log(l, Math.round(performance.now() - t0), JSON.stringify(x))
          log("open", id)
          log("cd", yield* send(agent, id, "cd /usr && X=1"))
          log("false", yield* send(agent, id, "pwd; echo $X; false"))
          log("sleep", yield* send(agent, id, "sleep 1; echo done"))
          log("cat", yield* send(agent, id, "cat"))
          log("cat2", yield* send(agent, id, "hallo"))
          log("eof", yield* send(agent, id, "\u0004", { submit: false }))
          log("read", yield* send(agent, id, "read x"))
          log("read2", yield* send(agent, id, "abc"))
          log("python", yield* send(agent, id, "python3 -q"))
          log("py1", yield* send(agent, id, "1+1"))
          log("py2", yield* send(agent, id, "exit()"))
          log("node", yield* send(agent, id, "node"))
          log("n1", yield* send(agent, id, "1+1"))
          log("n2", yield* send(agent, id, ".exit"))
          log("less", yield* send(agent, id, "less /etc/services"))
          console.log(textOf(yield* call("terminal_read", { sessionId: id, count: 5 }, agent)))
          log("q", yield* send(agent, id, "q", { submit: false }))
          log("vim", valueOf(yield* call("terminal_send", { sessionId: id, text: "vim -u NONE" }, agent)).reason)
          console.log(textOf(yield* call("terminal_list", {}, agent)))
          log("vimq", yield* send(agent, id, "\u001b:q!"))
          log("sleep", yield* send(agent, id, "sleep 100"))
          log("int", valueOf(yield* call("terminal_signal", { sessionId: id, signal: "SIGINT" }, agent)))
          console.log(textOf(yield* call("terminal_read", { sessionId: id, count: 8 }, agent)))
          console.log(
            textOf(yield* call("terminal_send", { sessionId: id, text: "sleep 50 & sleep 1; exit 3" }, agent))
          )
          console.log(textOf(yield* call("terminal_list", {}, agent)))
          console.log(textOf(yield* call("terminal_send", { sessionId: id, text: "x" }, agent)))
          console.log(textOf(yield* call("terminal_close", { sessionId: id }, agent)))
          console.log(textOf(yield* call("terminal_close", { sessionId: id }, agent)))
          log("end", 0)
          assert.isTrue(true)
        })
      ),
    60000
  )
})
