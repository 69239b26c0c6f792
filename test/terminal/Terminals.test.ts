/** Time and ownership, on terminals of no system. */
import { Jobs } from "@afterturn/jobs/Jobs"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { Terminals } from "@afterturn/terminal/Terminals"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { call, finished, layer, newAgent, owner, valueOf } from "./support/agents.js"
import type { FakeTerminal } from "./support/fake.js"
import * as Fake from "./support/fake.js"

const busy = { program: "make", isLeader: false, waits: false }
const shellWaits = { program: "bash", isLeader: true, waits: true }

/** Runs a test with an agent and one open shell at its prompt. */
const withShell = <A, E>(
  test: (
    fake: FakeTerminal,
    agent: Effect.Effect.Success<ReturnType<typeof newAgent>>
  ) => Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layer>> | Scope.Scope>,
  options?: Parameters<typeof layer>[1]
) =>
  Effect.suspend(() => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const agent = yield* newAgent()
      const opening = yield* Effect.fork(open)
      assert.strictEqual((yield* finished(opening)).id, "term-1")
      const fake = backend.terminals[0]!
      yield* fake.writes(Fake.prompt())
      return yield* test(fake, agent)
    }).pipe(Effect.scoped, Effect.provide(layer(backend.layer, options)))
  })

const open = Effect.flatMap(Terminals, (terminals) => terminals.open(owner, { type: "shell", cwd: "/tmp" }))

const sending = (text: string) =>
  Effect.fork(Effect.flatMap(Terminals, (terminals) => terminals.send(owner, "term-1", { text })))

describe("a wait", () => {
  it.effect("ends with the prompt, and tells the exit code and the lines of the command", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const waiting = yield* sending("make")
        yield* TestClock.adjust("10 millis")
        fake.front = busy
        yield* fake.writes(`make\r\n${Fake.begins}broken\r\n`)
        yield* TestClock.adjust("1 second")
        assert.isTrue((yield* Fiber.poll(waiting))._tag === "None")
        fake.front = shellWaits
        yield* fake.writes(Fake.prompt(2))
        const result = yield* finished(waiting)
        assert.deepInclude(result, { reason: "prompt", exitCode: 2, lines: ["$ make", "broken", "$ "] })
        assert.deepStrictEqual(fake.typed, ["make\r"])
      })
    )
  )

  it.effect("ends when a program waits for input, once it is quiet", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const waiting = yield* sending("./install")
        yield* TestClock.adjust("10 millis")
        yield* fake.writes(`./install\r\n${Fake.begins}Proceed? [y/N] `)
        fake.front = { program: "install", isLeader: false, waits: true }
        yield* TestClock.adjust("120 millis")
        assert.isTrue((yield* Fiber.poll(waiting))._tag === "None")
        const result = yield* finished(waiting)
        assert.strictEqual(result.reason, "input")
        assert.strictEqual(result.lines.at(-1), "Proceed? [y/N] ")
      })
    )
  )

  it.effect("takes a shell that reads in the middle of a command for input, not for a prompt", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const waiting = yield* sending("read x")
        yield* TestClock.adjust("10 millis")
        yield* fake.writes(`read x\r\n${Fake.begins}`)
        assert.strictEqual((yield* finished(waiting)).reason, "input")
      })
    )
  )

  it.effect("ends after silence, which each piece of output begins anew", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        fake.front = busy
        const waiting = yield* sending("make")
        for (let second = 0; second < 5; second += 2) {
          yield* TestClock.adjust("2 seconds")
          yield* fake.writes(".")
        }
        assert.isTrue((yield* Fiber.poll(waiting))._tag === "None")
        assert.strictEqual((yield* finished(waiting)).reason, "silence")
      })
    )
  )

  it.effect("ends when the time is over, however much is written", () =>
    withShell(
      (fake) =>
        Effect.gen(function* () {
          fake.front = busy
          const waiting = yield* sending("yes")
          for (let second = 0; second < 11; second++) {
            yield* fake.writes("y\r\n")
            yield* TestClock.adjust("1 second")
          }
          assert.strictEqual((yield* finished(waiting)).reason, "timeout")
        }),
      { terminal: { timeout: Duration.seconds(10) } }
    )
  )

  it.effect("ends with the program, and the terminal says from then on that it has exited", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        fake.front = busy
        const waiting = yield* sending("exit 3")
        yield* TestClock.adjust("10 millis")
        yield* fake.writes("exit 3\r\nbye")
        yield* fake.exits({ _tag: "Exited", code: 3 })
        const result = yield* finished(waiting)
        assert.strictEqual(result.reason, "exit")
        assert.strictEqual(result.lines.at(-1), "bye")
        const error = yield* Effect.flip(terminals.send(owner, "term-1", { text: "x" }))
        assert.strictEqual(error._tag, "TerminalExited")
        assert.include(error.message, "exit code: 3")
        assert.strictEqual((yield* terminals.read(owner, "term-1")).lines.at(-1), "bye")
      })
    )
  )

  it.effect("may be interrupted, which ends only the wait", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        fake.front = busy
        const waiting = yield* sending("make")
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(waiting)
        assert.deepStrictEqual(fake.signals, [])
        const [info] = yield* Effect.flatMap(Terminals, (terminals) => terminals.list(owner))
        assert.strictEqual(info?.state, "running")
      })
    )
  )

  it.effect("goes by the shell's prompt alone where the platform shows nothing", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        fake.front = { program: undefined, isLeader: undefined, waits: undefined }
        const waiting = yield* sending("make")
        yield* TestClock.adjust("1 second")
        assert.isTrue((yield* Fiber.poll(waiting))._tag === "None")
        yield* fake.writes(`make\r\n${Fake.begins}${Fake.prompt()}`)
        assert.strictEqual((yield* finished(waiting)).reason, "prompt")
      })
    )
  )
})

describe("what is typed", () => {
  it.effect("has Enter for each line end and one at the end, and keys as they are", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        const inputs = [{ text: "a\nb\r\nc\n" }, { text: "\\x03", submit: false }, { text: "\u0003", submit: false }]
        for (const input of inputs) {
          const sent = yield* Effect.fork(terminals.send(owner, "term-1", input))
          yield* finished(sent)
        }
        assert.deepStrictEqual(fake.typed, ["a\rb\rc\r", "\\x03", "\u0003"])
      })
    )
  )

  it.effect("is refused when it is too long, and nothing of it is typed", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        const error = yield* Effect.flip(terminals.send(owner, "term-1", { text: "ä".repeat(40_000) }))
        assert.strictEqual(error._tag, "TerminalRefused")
        assert.include(error.message, "80000 bytes")
        assert.deepStrictEqual(fake.typed, [])
      })
    )
  )

  it.effect("answers what a program asks of the terminal", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        yield* fake.writes("\u001b[2;5H\u001b[6n")
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(fake.typed, ["\u001b[2;5R"])
      })
    )
  )

  it.effect("may be keys by name, in the form that the program asked for", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        const press = (...keys: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            const pressing = yield* Effect.fork(terminals.press(owner, "term-1", keys))
            return yield* finished(pressing)
          })
        yield* press("up", "ctrl-c")
        yield* fake.writes("\u001b[?1h")
        yield* press("up")
        assert.deepStrictEqual(fake.typed, ["\u001b[A\u0003", "\u001bOA"])
        const error = yield* Effect.flip(terminals.press(owner, "term-1", ["enter", "hyper"]))
        assert.include(error.message, '"hyper"')
        assert.lengthOf(fake.typed, 2)
      })
    )
  )
})

describe("lines", () => {
  it.effect("are paged from the newest, in reading order", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        yield* fake.writes(`\r${Array.from({ length: 100 }, (_, line) => `line ${line + 1}`).join("\r\n")}`)
        const newest = yield* terminals.read(owner, "term-1", { count: 2 })
        assert.deepStrictEqual(newest.lines, ["line 99", "line 100"])
        assert.strictEqual(newest.total, 100)
        const before = yield* terminals.read(owner, "term-1", { offset: 2, count: 2 })
        assert.deepStrictEqual(before.lines, ["line 97", "line 98"])
        assert.deepStrictEqual((yield* terminals.read(owner, "term-1", { offset: 100 })).lines, [])
      })
    )
  )

  it.effect("are whole however pieces are split, and broken bytes are shown as such", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        for (const bytes of [
          [0x0d, 0xe2, 0x94],
          [0x80, 0x0d, 0x0a, 0xf0, 0x9f],
          [0x8e, 0x89, 0xff, 0x6f]
        ]) {
          yield* fake.writes(new Uint8Array(bytes))
          const { lines } = yield* terminals.read(owner, "term-1")
          assert.isFalse(lines.some((line) => line.includes("\ufffd") && !line.includes("\ufffdo")))
        }
        yield* fake.writes(new Uint8Array([0xe2, 0x94]))
        yield* fake.exits({ _tag: "Exited", code: 0 })
        assert.deepStrictEqual((yield* terminals.read(owner, "term-1")).lines, ["─ ", "🎉\ufffdo\ufffd"])
      })
    )
  )

  it.effect("are those of the program that has the whole screen, and the former ones are back when it has left", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        yield* fake.writes("\u001b[?1049h\u001b[H\u001b[2Jan editor")
        const full = yield* terminals.read(owner, "term-1")
        assert.deepStrictEqual(full.lines, ["an editor"])
        assert.isTrue(full.terminal.isFullScreen)
        yield* fake.writes("\u001b[?1049l")
        assert.deepStrictEqual((yield* terminals.read(owner, "term-1")).lines, ["$ "])
      })
    )
  )

  it.effect("are broken anew by another size, of which the program is told", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        yield* fake.writes(`${"x".repeat(130)}\r\n`)
        const info = yield* terminals.resize(owner, "term-1", { columns: 40, rows: 10 })
        assert.deepStrictEqual(info.size, { columns: 40, rows: 10 })
        assert.deepStrictEqual(fake.sizes, [{ columns: 40, rows: 10 }])
        assert.deepStrictEqual((yield* terminals.read(owner, "term-1")).lines, [`$ ${"x".repeat(130)}`])
        const error = yield* Effect.flip(terminals.resize(owner, "term-1", { columns: 0, rows: 10 }))
        assert.include(error.message, "columns")
      })
    )
  )
})

describe("owners", () => {
  it.effect("do not see the terminals of others", () =>
    withShell(() =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        const other = SessionId.make("session-b")
        const agent = yield* newAgent(other)
        assert.deepStrictEqual(yield* terminals.list(other), [])
        for (const sessionId of ["term-1", "term-99"]) {
          for (const [name, more] of [
            ["terminal_read", {}],
            ["terminal_send", { text: "x" }],
            ["terminal_signal", { signal: "SIGINT" }],
            ["terminal_close", {}]
          ] as const) {
            const outcome = yield* call(name, { sessionId, ...more }, agent)
            assert.include(outcome.text, `there is no terminal "${sessionId}"`, name)
          }
        }
      })
    )
  )

  it.effect("have their terminals closed with their agent, and get new ids from the next one", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const terminals = yield* Terminals
      const scope = yield* Scope.make()
      yield* Scope.extend(newAgent(), scope)
      const opening = yield* Effect.fork(open)
      yield* finished(opening)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* finished(closing)
      assert.deepStrictEqual(backend.terminals[0]?.signals, ["all SIGHUP"])
      assert.deepStrictEqual(yield* terminals.list(owner), [])
      const error = yield* Effect.flip(open)
      assert.strictEqual(error._tag, "TerminalOwnerAbsent")
    }).pipe(Effect.scoped, Effect.provide(layer(backend.layer)))
  })

  it.effect("may have so many terminals, and are told what to do about it", () =>
    withShell(
      () =>
        Effect.gen(function* () {
          const error = yield* Effect.flip(open)
          assert.strictEqual(error._tag, "TerminalLimitReached")
          assert.include(error.message, "terminal_close")
          yield* Effect.flatMap(Terminals, (terminals) => terminals.close(owner, "term-1"))
          const opening = yield* Effect.fork(open)
          assert.strictEqual((yield* finished(opening)).id, "term-2")
        }),
      { terminal: { maxTerminalsPerOwner: 1 } }
    )
  )
})

describe("an end", () => {
  it.effect("goes from SIGHUP to SIGKILL, and the terminal is gone", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        fake.isStubborn = true
        const closing = yield* Effect.fork(terminals.close(owner, "term-1"))
        assert.strictEqual((yield* finished(closing)).id, "term-1")
        assert.deepStrictEqual(fake.signals, ["all SIGHUP", "all SIGKILL"])
        const error = yield* Effect.flip(terminals.close(owner, "term-1"))
        assert.isTrue(error._tag === "TerminalNotFound" && error.ended)
      })
    )
  )

  it.effect("by SIGKILL is not for the terminal's own program", () =>
    withShell((fake) =>
      Effect.gen(function* () {
        const terminals = yield* Terminals
        const error = yield* Effect.flip(terminals.signal(owner, "term-1", "SIGKILL"))
        assert.include(error.message, "terminal_close")
        assert.deepStrictEqual(fake.signals, [])
      })
    )
  )
})

describe("a text in the background", () => {
  const start = (text: string, agent: Parameters<typeof call>[2]) =>
    Effect.map(call("terminal_send", { sessionId: "term-1", text, run_in_background: true }, agent), valueOf)

  it.effect("is a job that ends with the prompt, whatever the silence, and whose output is plain text", () =>
    withShell((fake, agent) =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
        const answer = yield* start("make", agent)
        assert.deepInclude(answer, { job_id: "terminal-1", status: "running" })
        fake.front = busy
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(fake.typed, ["make\r"])
        yield* fake.writes(`make\r\n${Fake.begins}\u001b[31mred\u001b[0m\r\n10%\r20%\r\n`)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* jobs.get("terminal-1", owner)).status, "running")
        fake.front = shellWaits
        yield* fake.writes(Fake.prompt(1))
        yield* TestClock.adjust("2 seconds")
        const { output, snapshot } = yield* jobs.read("terminal-1", owner)
        assert.strictEqual(snapshot.status, "completed")
        assert.strictEqual(snapshot.detail, "terminal term-1 is at its prompt, exit code: 1")
        assert.strictEqual(output, "make\nred\n10%\n20%\n$ ")
      })
    )
  )

  it.effect("is interrupted by the end of its job, and the terminal stays", () =>
    withShell((fake, agent) =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
        fake.front = busy
        yield* start("make", agent)
        yield* TestClock.adjust("1 second")
        fake.onSignal = (signal) =>
          Effect.sync(() => {
            if (signal === "SIGKILL") fake.front = shellWaits
          })
        yield* jobs.kill("terminal-1", owner)
        yield* TestClock.adjust("5 seconds")
        const job = yield* jobs.get("terminal-1", owner)
        assert.deepInclude(job, { status: "killed" })
        assert.include(String(job.detail), "killed, for SIGINT did not end it")
        assert.deepStrictEqual(fake.signals, ["SIGINT", "SIGKILL"])
        assert.lengthOf(yield* Effect.flatMap(Terminals, (terminals) => terminals.list(owner)), 1)
      })
    )
  )

  it.effect("ends with its terminal", () =>
    withShell((fake, agent) =>
      Effect.gen(function* () {
        const jobs = yield* Jobs
        fake.front = busy
        yield* start("make", agent)
        yield* TestClock.adjust("1 second")
        yield* fake.exits({ _tag: "Signaled", signal: "SIGHUP" })
        yield* TestClock.adjust("2 seconds")
        const job = yield* jobs.get("terminal-1", owner)
        assert.deepInclude(job, { status: "completed", detail: "terminal term-1 exited, ended by SIGHUP" })
      })
    )
  )
})
