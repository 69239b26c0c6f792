import type { JobContext } from "@afterturn/jobs/Job"
import { JobId } from "@afterturn/jobs/Job"
import * as Shell from "@afterturn/shell/Shell"
import type { ShellOptions } from "@afterturn/shell/ShellConfig"
import * as ShellConfig from "@afterturn/shell/ShellConfig"
import { ShellNotFound } from "@afterturn/shell/ShellError"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { FakeBackend } from "./support/fake.js"
import * as Fake from "./support/fake.js"
import { owner } from "./support/processes.js"

const over = (backend: FakeBackend, options?: Partial<ShellOptions>) =>
  Shell.layer.pipe(
    Layer.provide(backend.layer),
    Layer.provide(ShellConfig.layer(options)),
    Layer.provide(Layer.setConfigProvider(ConfigProvider.fromMap(new Map([["HOME", "/home/u"]])))),
    Layer.orDie
  )

const command = { command: "make all", workdir: "/w", owner }

/** A job as the runtime would run it, in the test's hands. */
const run = Effect.fnUntraced(function* (given: Shell.ShellCommand = command) {
  const shell = yield* Shell.Shell
  const job = yield* shell.job(given)
  const seen = { output: "", detail: undefined as string | undefined }
  const context: JobContext = {
    id: JobId.make("bash-1"),
    write: (chunk) =>
      Effect.sync(() => {
        seen.output += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk)
      }),
    setDetail: (detail) =>
      Effect.sync(() => {
        seen.detail = detail
      }),
    killReason: Effect.succeed(undefined)
  }
  const fiber = yield* Effect.fork(
    Effect.scoped(
      Effect.flatMap(job.spec.prepare(context.id), ({ held, process }) =>
        Effect.zipRight(
          Effect.sync(() => assert.strictEqual(process?.pid, held.shell.process.pid)),
          job.spec.run(context, held)
        )
      )
    )
  )
  return { fiber, seen, job, exit: Fiber.await(fiber) }
})

describe("a command as a job", () => {
  it.effect("is a job of kind bash, named by its command, within the limit of the configuration", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { spec } = yield* (yield* Shell.Shell).job(command)
      assert.strictEqual(spec.kind, "bash")
      assert.strictEqual(spec.label, "make all")
      assert.strictEqual(spec.owner, owner)
      assert.strictEqual(spec.outputLimitBytes, 77)
      assert.strictEqual(backend.processes.length, 0)
    }).pipe(Effect.provide(over(backend, { outputLimitBytes: 77 })))
  })

  it.effect("gets its shell up with its environment, and its command only when it runs", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { spec } = yield* (yield* Shell.Shell).job(command)
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* spec.prepare(JobId.make("bash-7"))
          const [process] = backend.processes
          assert.deepStrictEqual(process?.request, {
            shell: "bash",
            workdir: "/w",
            environment: {
              PATH: "/usr/local/bin:/usr/bin:/bin",
              HOME: "/home/u",
              AFTERTURN_SESSION_ID: "s1",
              AFTERTURN_JOB_ID: "bash-7"
            }
          })
          assert.deepStrictEqual(process?.commands, [])
        })
      )
      assert.deepStrictEqual(backend.processes[0]?.commands, [])
      assert.deepStrictEqual(backend.processes[0]?.signals, ["SIGTERM"])
      assert.isTrue(backend.processes[0]?.isClosed())
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("is completed whatever its exit code, which its detail and its end tell", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { exit, job, seen } = yield* run()
      const process = yield* backend.running
      assert.deepStrictEqual(process.commands, ["make all"])
      assert.deepStrictEqual(yield* job.end, Option.none())
      yield* process.write("out")
      yield* TestClock.adjust("1500 millis")
      yield* process.exit(3)
      assert.deepStrictEqual(yield* exit, Exit.void)
      assert.strictEqual(seen.output, "out")
      assert.strictEqual(seen.detail, "exit code: 3, after 1s 500ms")
      assert.deepStrictEqual(Option.getOrThrow(yield* job.end).exit, { _tag: "Exited", code: 3 })
      assert.deepStrictEqual(process.signals, [])
      assert.isTrue(process.isClosed())
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("fails with what kept its shell from coming up, and leaves nothing", () => {
    const backend = Fake.make()
    backend.failure = new ShellNotFound({ code: "shell_not_found", shell: "bash" })
    return Effect.gen(function* () {
      const { exit } = yield* run()
      assert.deepStrictEqual(yield* exit, Exit.fail(backend.failure))
      assert.strictEqual(backend.processes.length, 0)
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("is no job when it is empty or holds what no shell takes", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const shell = yield* Shell.Shell
      for (const text of ["", " \n\t", "echo a\0b"]) {
        const refused = yield* Effect.flip(shell.job({ ...command, command: text }))
        assert.strictEqual(refused._tag, "InvalidCommand")
      }
    }).pipe(Effect.provide(over(backend)))
  })
})

describe("processes that hold the output open", () => {
  it.effect("are waited for no longer than the grace, left running and reported", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { exit, fiber, seen } = yield* run()
      const process = yield* backend.running
      yield* process.write("done\n")
      yield* process.exit(0, 2)
      process.rest = "tail"
      yield* TestClock.adjust("249 millis")
      yield* process.write("late\n")
      yield* Effect.yieldNow()
      assert.deepStrictEqual(yield* Fiber.poll(fiber), Option.none())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* exit, Exit.void)
      assert.strictEqual(seen.output, "done\nlate\ntail")
      assert.strictEqual(seen.detail, "exit code: 0, after 250ms, 2 processes of its group are still running")
      assert.deepStrictEqual(process.signals, [])
      assert.strictEqual(process.members, 2)
      assert.isTrue(process.isClosed())
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("are not waited for once they have closed it", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { exit, seen } = yield* run()
      const process = yield* backend.running
      yield* process.exit(0, 0)
      process.members = 1
      assert.deepStrictEqual(yield* exit, Exit.void)
      assert.match(seen.detail ?? "", /^exit code: 0, after 0ms, 1 process of its group is still running$/)
    }).pipe(Effect.provide(over(backend)))
  })
})

describe("a job that is asked to end", () => {
  it.effect("ends its group and keeps what that still says", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { exit, fiber, job, seen } = yield* run()
      const process = yield* backend.running
      yield* process.write("bye")
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.interruptFork(fiber)
      const end = yield* exit
      assert(Exit.isInterrupted(end))
      assert.deepStrictEqual(process.signals, ["SIGTERM"])
      assert.strictEqual(process.members, 0)
      assert.strictEqual(seen.output, "bye")
      assert.strictEqual(seen.detail, "signal: SIGTERM, after 3s")
      assert.deepStrictEqual(yield* job.end, Option.none())
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("is killed when it does not end within the grace", () => {
    const backend = Fake.make()
    backend.manners = "ignores-term"
    return Effect.gen(function* () {
      const { exit, fiber, seen } = yield* run()
      const process = yield* backend.running
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1490 millis")
      assert.deepStrictEqual(process.signals, ["SIGTERM"])
      yield* TestClock.adjust("100 millis")
      assert(Exit.isInterrupted(yield* exit))
      assert.deepStrictEqual(process.signals, ["SIGTERM", "SIGKILL"])
      assert.match(seen.detail ?? "", /^signal: SIGKILL, SIGTERM did not end it within 1s 500ms, after 1s/)
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("does not count as ended while its group cannot be ended", () => {
    const backend = Fake.make()
    backend.manners = "unkillable"
    return Effect.gen(function* () {
      const { exit, fiber, seen } = yield* run()
      const process = yield* backend.running
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Fiber.poll(fiber), Option.none())
      process.manners = "polite"
      yield* TestClock.adjust("1 second")
      assert(Exit.isInterrupted(yield* exit))
      assert.strictEqual(process.members, 0)
      assert.match(seen.detail ?? "", /^signal: SIG/)
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("keeps the end that its shell came to before", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { exit, fiber, seen } = yield* run()
      const process = yield* backend.running
      yield* process.exit(0, 1)
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("1 second")
      yield* exit
      assert.match(seen.detail ?? "", /^exit code: 0, .*1 process of its group is still running$/)
      assert.deepStrictEqual(process.signals, [])
    }).pipe(Effect.provide(over(backend)))
  })
})

describe("a command without a job that cannot be ended", () => {
  it.effect("is given up, and says so", () => {
    const backend = Fake.make()
    backend.manners = "unkillable"
    return Effect.gen(function* () {
      const shell = yield* Shell.Shell
      const details: Array<string> = []
      const fiber = yield* Effect.fork(
        shell.run(command, {
          write: () => Effect.void,
          setDetail: (words) => Effect.sync(() => void details.push(words))
        })
      )
      yield* backend.running
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust("10 seconds")
      assert(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(details, ["even SIGKILL did not end it, 2 processes of its group are still running"])
    }).pipe(Effect.provide(over(backend)))
  })
})

describe("a shell that something else ended", () => {
  it.effect("makes its job killed, says so, and takes its group with it", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const { exit, job, seen } = yield* run()
      const process = yield* backend.running
      yield* process.endBySignal("SIGTERM", 1)
      yield* TestClock.adjust("1 second")
      assert(Exit.isInterrupted(yield* exit))
      assert.match(seen.detail ?? "", /^ended by SIGTERM from outside, after/)
      assert.deepStrictEqual(process.signals, ["SIGTERM"])
      assert.strictEqual(process.members, 0)
      assert.deepStrictEqual(Option.getOrThrow(yield* job.end).exit, { _tag: "Signaled", signal: "SIGTERM" })
    }).pipe(Effect.provide(over(backend)))
  })
})

describe("output that cannot be kept", () => {
  it.effect("fails the job and ends its group", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const shell = yield* Shell.Shell
      const fiber = yield* Effect.fork(
        shell.run(command, { write: () => Effect.dieMessage("disk is gone"), setDetail: () => Effect.void })
      )
      const process = yield* backend.running
      yield* process.write("x")
      const exit = yield* Fiber.await(fiber)
      assert(Exit.isFailure(exit) && !Exit.isInterrupted(exit))
      assert.deepStrictEqual(process.signals, ["SIGTERM"])
      assert.strictEqual(process.members, 0)
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("is held up by one piece at a time", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const shell = yield* Shell.Shell
      const room = yield* Deferred.make<void>()
      const taken: Array<string> = []
      const fiber = yield* Effect.fork(
        shell.run(command, {
          write: (chunk) =>
            Effect.zipRight(
              Effect.sync(() => taken.push(new TextDecoder().decode(chunk))),
              Deferred.await(room)
            ),
          setDetail: () => Effect.void
        })
      )
      const process = yield* backend.running
      yield* process.write("a")
      yield* process.write("b")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(taken, ["a"])
      yield* process.exit(0)
      yield* Deferred.succeed(room, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual((yield* fiber).exit, { _tag: "Exited", code: 0 })
      assert.deepStrictEqual(taken, ["a", "b"])
    }).pipe(Effect.provide(over(backend)))
  })
})

describe("what a dead host left", () => {
  const recorded = { pid: 1, group: 1, startedAt: "1", bootId: "b" }
  const reap = Effect.flatMap(Shell.Shell, (shell) => shell.reap(recorded))
  const group = (alive: number, survives = false) => {
    const signals: Array<string> = []
    let members = alive
    return {
      signals,
      remains: {
        _tag: "Found" as const,
        group: {
          members: Effect.sync(() => ({ alive: members, unreaped: 0 })),
          signal: (signal: string) =>
            Effect.sync(() => {
              signals.push(signal)
              if (!survives) members = 0
            })
        }
      }
    }
  }

  it.effect("is ended when it is provably that, and the words count it", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      const two = group(2)
      backend.remains = two.remains
      assert.strictEqual(yield* reap, "its 2 processes were ended")
      assert.deepStrictEqual(two.signals, ["SIGTERM"])
      backend.remains = group(1).remains
      assert.strictEqual(yield* reap, "its process was ended")
      backend.remains = group(0).remains
      assert.strictEqual(yield* reap, "nothing of it was running")
      backend.remains = { _tag: "Gone" }
      assert.strictEqual(yield* reap, "nothing of it was running")
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("is left alone when that cannot be told", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      backend.remains = { _tag: "Unclear", pids: [42] }
      assert.strictEqual(yield* reap, "could not tell whether process 42 is its own: left alone")
      backend.remains = { _tag: "Unclear", pids: [42, 43] }
      assert.strictEqual(yield* reap, "could not tell whether processes 42, 43 are its own: left alone")
      backend.remains = { _tag: "Unclear", pids: [] }
      assert.strictEqual(yield* reap, "could not tell whether something of it is still running")
    }).pipe(Effect.provide(over(backend)))
  })

  it.effect("is not waited for for ever", () => {
    const backend = Fake.make()
    return Effect.gen(function* () {
      backend.remains = group(3, true).remains
      const words = yield* Effect.fork(reap)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* Fiber.join(words), "its 3 processes could not be ended")
    }).pipe(Effect.provide(over(backend)))
  })
})
