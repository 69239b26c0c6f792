import * as Pty from "@afterturn/terminal/TerminalBackend/Pty"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

const backend = Pty.make(process.platform)

const request = (command: string, ...args: ReadonlyArray<string>) => ({
  command,
  args,
  cwd: "/tmp",
  environment: { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C.UTF-8" },
  size: { columns: 80, rows: 24 }
})

/** Everything that a program writes, and how it ends. */
const run = (command: string, ...args: ReadonlyArray<string>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const terminal = yield* backend.open(request(command, ...args))
      const pieces: Array<Uint8Array> = []
      for (let piece = yield* terminal.read; piece !== undefined; piece = yield* terminal.read) pieces.push(piece)
      return { output: Buffer.concat(pieces).toString("utf8"), exit: yield* terminal.exit }
    })
  )

describe("a program in a terminal of this machine", () => {
  it.live("has all that it wrote read by the time that its end is told (B25)", () =>
    Effect.gen(function* () {
      for (let time = 0; time < 10; time++) {
        const { exit, output } = yield* run("bash", "-c", "printf 'hello%.0s' {1..4096}; exit 7")
        assert.strictEqual(output.length, 20_480)
        assert.deepStrictEqual(exit, { _tag: "Exited", code: 7 })
      }
    })
  )

  it.live("is told from one that a signal ended", () =>
    Effect.gen(function* () {
      const { exit } = yield* run("bash", "-c", "kill -TERM $$")
      assert.deepStrictEqual(exit, { _tag: "Signaled", signal: "SIGTERM" })
    })
  )

  it.live("does not have to wait for what it leaves behind (B30)", () =>
    Effect.gen(function* () {
      for (const program of [
        ["-c", "sleep 30 & echo done"],
        ["--norc", "-ic", "sleep 30 & echo done; exit"]
      ]) {
        const [took, { output }] = yield* Effect.timed(run("bash", ...program))
        assert.include(output, "done\r\n")
        assert.isBelow(Duration.toMillis(took), 10_000)
      }
    })
  )

  it.live("has no terminal but its own open", () =>
    Effect.scoped(
      Effect.gen(function* () {
        yield* backend.open(request("sleep", "60"))
        const { output } = yield* run("bash", "-c", "ls -l /proc/$$/fd | grep -c ptmx; true")
        assert.strictEqual(output.trim(), "0")
      })
    )
  )

  it.live("is refused with a reason when it or its folder is not there", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(run("no-such-program"))
      assert.deepInclude(missing, { _tag: "TerminalOpenFailed", code: "open_failed" })
      assert.include(missing.message, '"no-such-program"')
      const folder = yield* Effect.flip(Effect.scoped(backend.open({ ...request("bash"), cwd: "/no/such/folder" })))
      assert.include(folder.message, "does not exist")
      const system = yield* Effect.flip(Effect.scoped(Pty.make("win32").open(request("bash"))))
      assert.include(system.message, "not supported on win32")
    })
  )

  it.live("can be found by a later host by its mark, and is ended", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const terminal = yield* backend.open(request("bash", "-c", "trap '' HUP; sleep 300"))
        yield* Effect.sleep("200 millis")
        assert.match(yield* backend.reap({ ...terminal.process, pid: 1 }), /were ended$|was ended$/)
        assert.strictEqual(yield* backend.reap(terminal.process), "nothing of it was running")
      })
    )
  )
})
