/** What is only seen in numbers: lost tails, and many terminals at once. */
import { readdirSync } from "node:fs"
import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import { Terminals } from "@afterturn/terminal/Terminals"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { layer, newAgent, owner } from "../support/agents.js"

const backend = Pty.make(process.platform)

const words = (command: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const terminal = yield* backend.open({
        command: "bash",
        args: ["-c", command],
        cwd: "/tmp",
        environment: { PATH: process.env.PATH ?? "/usr/bin:/bin" },
        size: { columns: 80, rows: 24 }
      })
      let size = 0
      for (let piece = yield* terminal.read; piece !== undefined; piece = yield* terminal.read) size += piece.length
      return size
    })
  )

describe("terminals", () => {
  it.live("lose nothing of 20 KB at the end, a hundred times, also when the host is busy", () =>
    Effect.gen(function* () {
      for (let time = 0; time < 100; time++) {
        const reading = yield* Effect.fork(words("printf 'hello%.0s' {1..4096}"))
        yield* Effect.yieldNow()
        if (time % 10 === 0) {
          // Longer than any patience that the library has.
          const until = performance.now() + 400
          while (performance.now() < until) Math.sqrt(time)
        }
        assert.strictEqual(yield* reading, 20_480)
      }
    })
  )

  it.live("can be open by the fifty, each with its own state, and are all gone at the end", () =>
    Effect.gen(function* () {
      const before = readdirSync("/proc/self/fd").length
      yield* Effect.gen(function* () {
        const terminals = yield* Terminals
        yield* newAgent()
        const ids = yield* Effect.forEach(
          Array.from({ length: 50 }),
          () => Effect.map(terminals.open(owner, { type: "shell", cwd: "/tmp" }), ({ id }) => id),
          { concurrency: 10 }
        )
        assert.strictEqual(new Set(ids).size, 50)
        yield* Effect.forEach(ids, (id) => terminals.send(owner, id, { text: `X=${id}` }), { concurrency: 10 })
        const shown = yield* Effect.forEach(ids, (id) => terminals.send(owner, id, { text: "echo is $X" }), {
          concurrency: 10
        })
        for (const [index, { lines, reason }] of shown.entries()) {
          assert.strictEqual(reason, "prompt")
          assert.include(lines, `is ${ids[index]}`)
        }
      }).pipe(Effect.scoped, Effect.provide(layer(Pty.layer)))
      assert.isAtMost(readdirSync("/proc/self/fd").length, before + 5)
    })
  )
})
