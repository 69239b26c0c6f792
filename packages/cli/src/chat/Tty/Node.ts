/**
 * The process's own terminal.
 *
 * @since 0.1.0
 */
import type { EventEmitter } from "node:events"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Screen from "../Screen.js"
import { Tty } from "../Tty.js"
import type { Size } from "../View.js"

/**
 * What of the process a terminal takes. `stdin` without `setRawMode` is none, and nothing is typed on it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Process extends EventEmitter {
  readonly pid: number
  readonly kill: (pid: number, signal: NodeJS.Signals) => unknown
  readonly stdin: EventEmitter & {
    readonly setRawMode?: ((raw: boolean) => unknown) | undefined
    readonly setEncoding: (encoding: "utf8") => unknown
    readonly resume: () => unknown
    readonly pause: () => unknown
  }
  readonly stdout: EventEmitter & {
    readonly getWindowSize?: (() => ReadonlyArray<number>) | undefined
    readonly write: (bytes: string) => unknown
  }
}

/**
 * The terminal of this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Tty> = Layer.suspend(() => layerProcess(process))

/**
 * Raw mode: every key arrives, none is acted on by the system. Whatever ends the process, short of SIGKILL, puts the terminal back:
 * the scope, or an exit that did not close it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerProcess = (host: Process): Layer.Layer<Tty> =>
  Layer.scoped(
    Tty,
    Effect.gen(function* () {
      const { stdin, stdout } = host
      const leave = () => release(host)
      // A terminal that goes away fails writes by this event, and ends the input.
      yield* listen(stdout, "error", () => {})
      yield* Effect.acquireRelease(
        Effect.sync(() => take(host)),
        () => Effect.sync(leave)
      )
      // A process that exits in the middle (an uncaught exception) closes no scope.
      yield* listen(host, "exit", leave)
      return {
        size: Effect.sync(() => sizeOf(stdout)),
        resizes: Stream.asyncPush<Size>((emit) => listen(stdout, "resize", () => emit.single(sizeOf(stdout)))),
        input: stdin.setRawMode === undefined ? Stream.never : inputOf(host),
        write: (bytes) => Effect.sync(() => void stdout.write(bytes)),
        suspend: suspend(host)
      }
    })
  )

const inputOf = (host: Process): Stream.Stream<string> =>
  Stream.asyncPush<string>((emit) =>
    Effect.gen(function* () {
      yield* listen(host.stdin, "data", (data: string) => emit.single(data))
      for (const event of ["end", "close", "error"]) yield* listen(host.stdin, event, () => emit.end())
      // Hanging up is how a terminal says that it goes away.
      yield* listen(host, "SIGHUP", () => emit.end())
      host.stdin.resume()
    })
  )

const suspend = (host: Process): Effect.Effect<void> =>
  Effect.scoped(
    Effect.gen(function* () {
      const continued = yield* Effect.makeLatch(false)
      yield* listen(host, "SIGCONT", () => continued.unsafeOpen())
      release(host)
      // The whole group, as the terminal itself would: a shell waits for all of it.
      host.kill(0, "SIGTSTP")
      yield* continued.await
      take(host)
      host.stdin.resume()
    })
  )

/** Asked of the system each time: the event that tells of a change comes later than the change. */
const sizeOf = (stdout: Process["stdout"]): Size => {
  const [columns, rows] = stdout.getWindowSize?.() ?? []
  return { columns: columns || 80, rows: rows || 24 }
}

const listen = <A>(emitter: EventEmitter, event: string, listener: (value: A) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => void emitter.on(event, listener)),
    () => Effect.sync(() => void emitter.off(event, listener))
  )

// Pasted text arrives between marks, so that its line breaks are not taken for the Enter key.
const pasteOn = "\x1b[?2004h"
const pasteOff = "\x1b[?2004l"

const take = ({ stdin, stdout }: Process): void => {
  stdin.setRawMode?.(true)
  stdin.setEncoding("utf8")
  stdout.write(pasteOn)
}

/** Node writes to a terminal synchronously: this also works while the process exits. */
const release = ({ stdin, stdout }: Process): void => {
  stdout.write(`${pasteOff}${Screen.restore}`)
  try {
    stdin.setRawMode?.(false)
    stdin.pause()
  } catch {
    // The terminal is gone: nothing is left to put back.
  }
}
