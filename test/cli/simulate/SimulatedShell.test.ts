import * as SimulatedShell from "@afterturn/cli/simulate/SimulatedShell"
import { ShellBackend } from "@afterturn/shell/ShellBackend"
import * as Dice from "@afterturn/testing/Dice"
import * as VirtualClock from "@afterturn/testing/VirtualClock"
import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assert } from "vitest"

const request = { shell: "bash", workdir: "/", environment: {} }

/** A machine with a host that may die. */
const machine = Effect.map(SimulatedShell.make, (made) => {
  let isAlive = true
  const layer = made.layer({ name: "a", pid: 1, isAlive: () => isAlive, dice: Dice.make(1), count: () => {} })
  const use = <A, E, R>(work: (backend: (typeof ShellBackend)["Service"]) => Effect.Effect<A, E, R>) =>
    Effect.provide(Effect.flatMap(ShellBackend, work), layer)
  const die = () => {
    isAlive = false
  }
  return { running: made.running, use, die }
})

describe("simulated processes", () => {
  it.live("say what they are told, after their time, and end with their code", () =>
    VirtualClock.run(
      Effect.gen(function* () {
        const { running, use } = yield* machine
        yield* use((backend) =>
          Effect.gen(function* () {
            const shell = yield* backend.spawn(request)
            yield* shell.start("echo one two; sleep 60; echo end; exit 3")
            assert.strictEqual(Buffer.from((yield* shell.read) ?? []).toString(), "one two\n")
            assert.deepStrictEqual(yield* shell.members, { alive: 1, unreaped: 0 })
            yield* VirtualClock.advance("1 minute")
            assert.deepStrictEqual(yield* shell.exit, { _tag: "Exited", code: 3 })
            assert.strictEqual(Buffer.from(yield* shell.rest).toString(), "end\n")
            assert.isUndefined(yield* shell.read)
          })
        )
        assert.deepStrictEqual(yield* running, [])
      }).pipe(Effect.scoped)
    )
  )

  it.live("end by signals, some only by the last one", () =>
    VirtualClock.run(
      Effect.gen(function* () {
        const { use } = yield* machine
        yield* use((backend) =>
          Effect.gen(function* () {
            const shell = yield* backend.spawn(request)
            yield* shell.start("trap '' TERM; sleep 60")
            yield* VirtualClock.settle
            yield* shell.signal("SIGTERM")
            assert.strictEqual((yield* shell.members).alive, 1)
            yield* shell.signal("SIGKILL")
            assert.deepStrictEqual(yield* shell.exit, { _tag: "Signaled", signal: "SIGKILL" })
          })
        )
      }).pipe(Effect.scoped)
    )
  )

  it.live("outlive their host, and are found by the next one; a shell without a command does not", () =>
    VirtualClock.run(
      Effect.gen(function* () {
        const { die, running, use } = yield* machine
        const scope = yield* Scope.make()
        const [working, waiting] = yield* use((backend) =>
          Effect.all([backend.spawn(request), backend.spawn(request)])
        ).pipe(Scope.extend(scope))
        yield* working.start("sleep 600")
        die()
        yield* Scope.close(scope, Exit.void)
        yield* working.signal("SIGKILL")
        assert.deepStrictEqual(yield* running, [`process ${working.process.pid}`])
        assert.strictEqual((yield* use((backend) => backend.find(working.process)))._tag, "Found")
        assert.strictEqual((yield* use((backend) => backend.find(waiting.process)))._tag, "Gone")
      }).pipe(Effect.scoped)
    )
  )
})
