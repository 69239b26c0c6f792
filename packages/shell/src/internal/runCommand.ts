import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { ShellExit, ShellProcess } from "../ShellBackend.js"
import type { ShellSettings } from "../ShellConfig.js"
import type { Ended } from "./endGroup.js"
import { endGroup, endStuck } from "./endGroup.js"

/**
 * A shell that is up. `isSettled`: what runs on of its group is meant to.
 */
export interface HeldShell {
  readonly shell: ShellProcess
  isSettled: boolean
}

/**
 * How a command came to its end. `survivors`: how many processes of its group run on.
 */
export interface CommandEnd {
  readonly exit: ShellExit
  readonly survivors: number
  readonly detail: string
}

/**
 * Where a command's output and the facts of its end go.
 */
export interface CommandSink {
  readonly write: (chunk: Uint8Array) => Effect.Effect<void>
  readonly setDetail: (detail: string) => Effect.Effect<void>
}

/**
 * What to do about processes that even SIGKILL does not end, for they are stuck in the kernel: go on until they are gone, where somebody
 * else gives up in time, or leave them.
 */
export type Persistence = "insist" | "give-up"

/** Holds a shell, and ends it with all of its group unless its command came to an end. */
export const hold = <E>(
  spawned: Effect.Effect<ShellProcess, E, Scope.Scope>,
  settings: ShellSettings
): Effect.Effect<HeldShell, E, Scope.Scope> =>
  // Interrupted between the two, the shell has no command yet, and the backend ends it.
  Effect.flatMap(spawned, (shell) => {
    const held: HeldShell = { shell, isSettled: false }
    return Effect.as(
      Effect.addFinalizer(() => (held.isSettled ? Effect.void : endGroup(shell, settings.terminationGrace))),
      held
    )
  })

interface Run {
  readonly settings: ShellSettings
  readonly persistence: Persistence
  readonly held: HeldShell
  readonly sink: CommandSink
  readonly startedAt: number
  readonly pumping: Fiber.RuntimeFiber<void>
}

/**
 * Runs a command to the end of its shell. Interrupting it ends the group, and the interruption is through when none of it is left. When
 * something else ended the shell by a signal, the rest of its group is ended as well.
 */
export const runHeld = (
  settings: ShellSettings,
  held: HeldShell,
  command: string,
  sink: CommandSink,
  persistence: Persistence
): Effect.Effect<CommandEnd, never, Scope.Scope> =>
  Effect.uninterruptible(runUninterrupted(settings, held, command, sink, persistence))

const runUninterrupted = Effect.fnUntraced(function* (
  settings: ShellSettings,
  held: HeldShell,
  command: string,
  sink: CommandSink,
  persistence: Persistence
) {
  const startedAt = yield* Clock.currentTimeMillis
  // In the scope: a child would be interrupted together with this fiber, and the goodbye of a command that is asked to end be lost.
  const pumping = yield* Effect.forkScoped(pump(held.shell, sink))
  const run: Run = { settings, persistence, held, sink, startedAt, pumping }
  yield* held.shell.start(command)
  const exit = yield* Effect.interruptible(Effect.raceFirst(held.shell.exit, failureOf(pumping))).pipe(
    Effect.onInterrupt(() => cancel(run))
  )
  if (exit._tag === "Exited") return yield* conclude(run, exit, [exitWords(exit)])
  yield* endGroup(held.shell, settings.terminationGrace)
  return yield* conclude(run, exit, [`ended by ${exit.signal} from outside`])
})

/** Output that can't be kept any more must not leave the command waiting for a reader. */
const failureOf = (pumping: Fiber.RuntimeFiber<void>): Effect.Effect<never> =>
  Effect.zipRight(Fiber.join(pumping), Effect.never)

/**
 * The writers are held up while a piece is being kept. Only the waiting is interrupted, and the pause between two pieces: what was taken
 * is kept.
 */
const pump = Effect.fnUntraced(function* (shell: ShellProcess, { write }: CommandSink): Effect.fn.Return<void> {
  while (true) {
    const chunk = yield* shell.read
    if (chunk === undefined) return
    yield* write(chunk)
    yield* Effect.allowInterrupt
  }
})

/**
 * Reads on until all writers are gone or the grace is over, then what the channel still holds: all that the shell itself wrote is in it.
 */
const drain = Effect.fnUntraced(function* ({ held: { shell }, pumping, settings, sink }: Run) {
  // Not by a race: its fibers would be children, which an interruption reaches where this fiber lets none in.
  const over = yield* Deferred.make<void>()
  const signal = Deferred.succeed(over, undefined)
  pumping.addObserver(() => Deferred.unsafeDone(over, Effect.void))
  yield* Effect.forkScoped(Effect.interruptible(Effect.delay(signal, settings.drainGrace)))
  yield* Deferred.await(over)
  const end = yield* Fiber.poll(pumping)
  if (Option.isSome(end)) return yield* end.value
  yield* Fiber.interrupt(pumping)
  const rest = yield* shell.rest
  if (rest.length > 0) yield* sink.write(rest)
})

const conclude = Effect.fnUntraced(function* (run: Run, exit: ShellExit, words: ReadonlyArray<string>) {
  yield* drain(run)
  const { alive } = yield* run.held.shell.members
  const ranFor = Math.max(0, (yield* Clock.currentTimeMillis) - run.startedAt)
  const detail = [...words, `after ${durationText(ranFor)}`, ...survivorWords(alive)].join(", ")
  yield* run.sink.setDetail(detail)
  run.held.isSettled = true
  const end: CommandEnd = { exit, survivors: alive, detail }
  return end
})

/** Its output is still read meanwhile, so that it may say goodbye. */
const cancel = Effect.fnUntraced(function* (run: Run) {
  const { held, persistence, settings, sink } = run
  const ended = yield* endGroup(held.shell, settings.terminationGrace)
  if (ended === "alive" && persistence === "give-up") {
    const { alive } = yield* held.shell.members
    held.isSettled = true
    return yield* sink.setDetail(["even SIGKILL did not end it", ...survivorWords(alive)].join(", "))
  }
  if (ended === "alive") yield* endStuck(held.shell)
  const exit = yield* held.shell.exit
  yield* conclude(run, exit, [exitWords(exit), ...endedWords(ended, settings)])
})

const durationText = (millis: number): string => (millis === 0 ? "0ms" : Duration.format(Duration.millis(millis)))

const exitWords = (exit: ShellExit): string =>
  exit._tag === "Exited" ? `exit code: ${exit.code}` : `signal: ${exit.signal}`

const endedWords = (ended: Ended, { terminationGrace }: ShellSettings): ReadonlyArray<string> =>
  ended === "SIGKILL" || ended === "alive" ? [`SIGTERM did not end it within ${Duration.format(terminationGrace)}`] : []

const survivorWords = (alive: number): ReadonlyArray<string> =>
  alive === 0
    ? []
    : [alive === 1 ? "1 process of its group is still running" : `${alive} processes of its group are still running`]
