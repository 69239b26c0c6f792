/** Shells that a test plays the part of, under any clock. */
import type { JobProcess } from "@afterturn/jobs/Job"
import type { Remains, ShellExit, ShellProcess, SpawnRequest } from "@afterturn/shell/ShellBackend"
import { ShellBackend } from "@afterturn/shell/ShellBackend"
import type { ShellError } from "@afterturn/shell/ShellError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

/** How a fake process takes signals. */
type Manners = "polite" | "ignores-term" | "unkillable"

interface FakeProcess {
  readonly request: SpawnRequest
  readonly commands: Array<string>
  readonly signals: Array<string>
  readonly started: Effect.Effect<void>
  readonly isClosed: () => boolean
  members: number
  manners: Manners
  readonly write: (text: string) => Effect.Effect<boolean>
  /** What the channel holds when nobody waits for it any more. */
  rest: string
  /** Its shell ends; `leaving` processes go on and hold the output open. */
  readonly exit: (code: number, leaving?: number) => Effect.Effect<void>
  readonly endBySignal: (signal: string, leaving?: number) => Effect.Effect<void>
}

export interface FakeBackend {
  readonly processes: Array<FakeProcess>
  readonly layer: Layer.Layer<ShellBackend>
  /** The next process that no test has taken yet, once it was given its command. */
  readonly running: Effect.Effect<FakeProcess>
  /** What the next shell fails with. */
  failure: ShellError | undefined
  manners: Manners
  remains: Remains
  /** Comes before a shell is up. */
  before: Effect.Effect<void>
}

export const make = (): FakeBackend => {
  let taken = 0
  const next = (index: number): Effect.Effect<FakeProcess> =>
    Effect.suspend(() => {
      const process = backend.processes[index]
      return process === undefined
        ? Effect.zipRight(Effect.yieldNow(), next(index))
        : Effect.as(process.started, process)
    })
  const backend: FakeBackend = {
    processes: [],
    failure: undefined,
    manners: "polite",
    remains: { _tag: "Gone" },
    before: Effect.void,
    running: Effect.suspend(() => next(taken++)),
    layer: Layer.sync(ShellBackend, () => ({
      spawn: (request) =>
        Effect.suspend(() =>
          backend.failure === undefined
            ? Effect.zipRight(
                backend.before,
                Effect.map(
                  Effect.acquireRelease(
                    Effect.sync(() => {
                      const made = makeProcess(request, backend.processes.length + 100, backend.manners)
                      backend.processes.push(made.fake)
                      return made
                    }),
                    ({ close }) => Effect.sync(close)
                  ),
                  ({ shell }) => shell
                )
              )
            : Effect.fail(backend.failure)
        ),
      find: (_process: JobProcess) => Effect.sync(() => backend.remains)
    }))
  }
  return backend
}

const makeProcess = (request: SpawnRequest, pid: number, manners: Manners) => {
  const output = Effect.runSync(Queue.unbounded<Uint8Array | undefined>())
  const exit = Deferred.unsafeMake<ShellExit>(FiberId.none)
  const started = Deferred.unsafeMake<void>(FiberId.none)
  let closed = false
  const close = () => {
    closed = true
  }
  const end = (how: ShellExit, leaving: number) =>
    Effect.gen(function* () {
      fake.members = leaving
      yield* Deferred.succeed(exit, how)
      if (leaving === 0) yield* Queue.offer(output, undefined)
    })
  const fake: FakeProcess = {
    request,
    commands: [],
    signals: [],
    started: Deferred.await(started),
    isClosed: () => closed,
    members: 2,
    manners,
    rest: "",
    write: (text) => Queue.offer(output, new TextEncoder().encode(text)),
    exit: (code, leaving = 0) => end({ _tag: "Exited", code }, leaving),
    endBySignal: (signal, leaving = 0) => end({ _tag: "Signaled", signal }, leaving)
  }
  const shell: ShellProcess = {
    process: { pid, group: pid, startedAt: "1@", bootId: "boot" },
    members: Effect.sync(() => ({ alive: fake.members, unreaped: 0 })),
    signal: (signal) =>
      Effect.suspend(() => {
        fake.signals.push(signal)
        const ends = fake.manners === "polite" || (fake.manners === "ignores-term" && signal === "SIGKILL")
        return ends && fake.members > 0 ? fake.endBySignal(signal) : Effect.void
      }),
    start: (command) =>
      Effect.suspend(() => {
        fake.commands.push(command)
        return Effect.asVoid(Deferred.succeed(started, undefined))
      }),
    read: Effect.interruptible(Queue.take(output)),
    rest: Effect.sync(() => new TextEncoder().encode(fake.rest)),
    exit: Deferred.await(exit)
  }
  return { fake, shell, close }
}
