/**
 * The processes of a simulation: shells that understand `sleep`, `echo`, `exit` and `trap`, on whatever clock there is. They belong to
 * their machine, so that they go on when the host that started them dies.
 *
 * @since 0.1.0
 */
import type { ProcessGroup, ShellExit, ShellProcess } from "@afterturn/shell/ShellBackend"
import { ShellBackend } from "@afterturn/shell/ShellBackend"
import type { SimulatedHost } from "@afterturn/testing/SimulationScenario"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"

interface Process {
  readonly pid: number
  readonly startedAt: string
  readonly output: Mailbox.Mailbox<Uint8Array>
  readonly exit: Deferred.Deferred<ShellExit>
  /** Runs the command, once there is one. */
  work: Fiber.RuntimeFiber<void> | undefined
  ignoresTerm: boolean
}

/**
 * A machine and its process table.
 *
 * @since 0.1.0
 * @category models
 */
export interface Machine {
  /** What runs by now, in words. */
  readonly running: Effect.Effect<ReadonlyArray<string>>
  /** What a host of this machine starts shells with. */
  readonly layer: (host: SimulatedHost) => Layer.Layer<ShellBackend>
}

/**
 * A machine for as long as the scope is open.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<Machine, never, Scope.Scope> = Effect.map(Effect.scope, (scope) => {
  const table = new Map<number, Process>()
  let pids = 100
  return {
    running: Effect.sync(() => [...table.keys()].map((pid) => `process ${pid}`)),
    layer: (host) =>
      Layer.succeed(ShellBackend, {
        spawn: () =>
          Effect.acquireRelease(
            Effect.gen(function* () {
              const process: Process = {
                pid: ++pids,
                startedAt: String(yield* Clock.currentTimeMillis),
                output: yield* Mailbox.make<Uint8Array>(),
                exit: yield* Deferred.make<ShellExit>(),
                work: undefined,
                ignoresTerm: false
              }
              table.set(process.pid, process)
              return process
            }),
            // A shell without a command ends with its channels, whether its host lets go of them or dies.
            (process) => (process.work === undefined ? end(table, process, { _tag: "Exited", code: 0 }) : Effect.void)
          ).pipe(Effect.map((process) => shellOf(table, host, process, scope))),
        find: ({ pid, startedAt }) =>
          Effect.sync(() => {
            const process = table.get(pid)
            return process?.startedAt === startedAt
              ? { _tag: "Found", group: groupOf(table, host, process) }
              : { _tag: "Gone" }
          })
      })
  }
})

const end = (table: Map<number, Process>, process: Process, exit: ShellExit): Effect.Effect<void> =>
  Effect.suspend(() => {
    table.delete(process.pid)
    return Effect.zipRight(process.output.end, Effect.asVoid(Deferred.succeed(process.exit, exit)))
  })

const groupOf = (table: Map<number, Process>, host: SimulatedHost, process: Process): ProcessGroup => ({
  // A host that has died looks for nothing any more.
  members: Effect.sync(() => ({ alive: host.isAlive() && table.has(process.pid) ? 1 : 0, unreaped: 0 })),
  signal: (signal) =>
    Effect.suspend(() => {
      if (!host.isAlive() || !table.has(process.pid)) return Effect.void
      if (signal === "SIGTERM" && process.ignoresTerm) return Effect.void
      host.count("processes", signal)
      return Effect.zipRight(
        process.work === undefined ? Effect.void : Fiber.interruptFork(process.work),
        end(table, process, { _tag: "Signaled", signal })
      )
    })
})

const shellOf = (
  table: Map<number, Process>,
  host: SimulatedHost,
  process: Process,
  scope: Scope.Scope
): ShellProcess => ({
  ...groupOf(table, host, process),
  process: { pid: process.pid, group: process.pid, startedAt: process.startedAt, bootId: "boot" },
  start: (command) =>
    Effect.suspend(() => {
      if (!host.isAlive() || !table.has(process.pid)) return Effect.void
      host.count("processes", "started")
      return Effect.map(Effect.forkIn(Effect.interruptible(run(table, process, command)), scope), (fiber) => {
        process.work = fiber
      })
    }),
  read: Effect.catchAll(process.output.take, () => Effect.succeed(undefined)),
  rest: Effect.map(
    Effect.catchAll(process.output.clear, () => Effect.succeed(Chunk.empty<Uint8Array>())),
    (chunks) => Buffer.concat(Chunk.toReadonlyArray(chunks))
  ),
  exit: Deferred.await(process.exit)
})

/** The words of a command, `;` between them: anything but these four does nothing. */
const run = (table: Map<number, Process>, process: Process, command: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const part of command.split(";")) {
      const [word, ...rest] = part.trim().split(" ")
      const given = rest.join(" ")
      if (word === "trap") process.ignoresTerm = true
      else if (word === "sleep") yield* Effect.sleep(Number(given) * 1000)
      else if (word === "echo") yield* process.output.offer(Buffer.from(`${given}\n`))
      else if (word === "exit") return yield* end(table, process, { _tag: "Exited", code: Number(given) })
    }
    yield* end(table, process, { _tag: "Exited", code: 0 })
  })
