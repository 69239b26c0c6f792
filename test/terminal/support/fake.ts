/** A terminal of no system: tests say what its program writes, waits for and ends with. */
import type { JobProcess } from "@afterturn/jobs/Job"
import type { Foreground, TerminalExit, TerminalRequest, TerminalSize } from "@afterturn/terminal/TerminalBackend"
import { TerminalBackend } from "@afterturn/terminal/TerminalBackend"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

export interface FakeTerminal {
  readonly request: TerminalRequest
  /** What was typed, in order. */
  readonly typed: Array<string>
  readonly signals: Array<string>
  readonly sizes: Array<TerminalSize>
  /** Writes, and waits until the screen shows it. */
  readonly writes: (output: string | Uint8Array) => Effect.Effect<void>
  /** Ends the program, and waits until that is known. */
  readonly exits: (exit: TerminalExit) => Effect.Effect<void>
  front: Foreground
  /** What a signal does to the program. */
  onSignal: (signal: string) => Effect.Effect<void>
  alive: number
  /** Whether processes ignore SIGHUP. */
  isStubborn: boolean
}

interface Piece {
  readonly bytes: Uint8Array | undefined
  readonly shown: Deferred.Deferred<void>
}

const shellWaits: Foreground = { program: "bash", isLeader: true, waits: true }

/** A backend, and the terminals that were opened on it. A new one shows a prompt and waits. */
export const make = () => {
  const terminals: Array<FakeTerminal> = []
  /** What is to be ended of a dead host's. */
  const reaped: Array<JobProcess> = []
  const open = (request: TerminalRequest) =>
    Effect.gen(function* () {
      const pieces = yield* Queue.unbounded<Piece>()
      const known = yield* Deferred.make<void>()
      const state = { exit: undefined as TerminalExit | undefined, before: undefined as Piece | undefined }
      const put = (bytes: Uint8Array | undefined) =>
        Effect.flatMap(Deferred.make<void>(), (shown) =>
          Effect.zipRight(Queue.offer(pieces, { bytes, shown }), Deferred.await(shown))
        )
      const terminal: FakeTerminal = {
        request,
        typed: [],
        signals: [],
        sizes: [],
        writes: (output) => put(typeof output === "string" ? new TextEncoder().encode(output) : output),
        exits: (exit) =>
          Effect.suspend(() => {
            state.exit = exit
            terminal.alive = 0
            return Effect.zipRight(put(undefined), Effect.zipRight(Deferred.await(known), Effect.yieldNow()))
          }),
        front: shellWaits,
        onSignal: () => Effect.void,
        alive: 1,
        isStubborn: false
      }
      terminals.push(terminal)
      return {
        process: { pid: 1, group: 1, startedAt: "mark", bootId: "boot" },
        // The next one is asked for once the one before is shown.
        read: Effect.suspend(() => {
          const { before } = state
          state.before = undefined
          if (before !== undefined) Deferred.unsafeDone(before.shown, Effect.void)
          return Effect.flatMap(Effect.interruptible(Queue.take(pieces)), (piece) => {
            state.before = piece
            if (piece.bytes === undefined) Deferred.unsafeDone(piece.shown, Effect.void)
            return Effect.succeed(piece.bytes)
          })
        }),
        write: (bytes: Uint8Array) => Effect.sync(() => void terminal.typed.push(new TextDecoder().decode(bytes))),
        resize: (size: TerminalSize) => Effect.sync(() => void terminal.sizes.push(size)),
        exit: Effect.sync(() => {
          Deferred.unsafeDone(known, Effect.void)
          return state.exit ?? { _tag: "Signaled" as const, signal: "SIGHUP" }
        }),
        foreground: Effect.sync(() => terminal.front),
        signal: (signal: string) =>
          Effect.suspend(() => {
            if (signal === "SIGKILL" && terminal.front.isLeader === true) return Effect.succeed("leader" as const)
            terminal.signals.push(signal)
            return Effect.as(terminal.onSignal(signal), "sent" as const)
          }),
        alive: Effect.sync(() => terminal.alive),
        signalAll: (signal: string) =>
          Effect.sync(() => {
            terminal.signals.push(`all ${signal}`)
            if (signal === "SIGKILL" || !terminal.isStubborn) terminal.alive = 0
          })
      }
    })
  return {
    terminals,
    reaped,
    layer: Layer.succeed(TerminalBackend, {
      open,
      reap: (process) =>
        Effect.sync(() => {
          reaped.push(process)
          return "nothing of it was running"
        })
    })
  }
}

/** What a shell of the default type writes around its prompt. */
export const prompt = (exitCode = 0) => `\u001b]133;D;${exitCode}\u0007\u001b]133;A\u0007$ \u001b]133;B\u0007`

/** What it writes before a command runs. */
export const begins = "\u001b]133;C\u0007"
