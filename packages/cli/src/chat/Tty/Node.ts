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

// Pasted text arrives between marks, so that its line breaks are not taken for the Enter key.
const pasteOn = "\x1b[?2004h"
const pasteOff = "\x1b[?2004l"

/**
 * Raw mode: every key arrives, none is acted on by the system. Whatever ends the process, short of SIGKILL, restores the terminal:
 * the scope, or an exit that did not close it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerRaw: Layer.Layer<Tty> = Layer.scoped(
  Tty,
  Effect.gen(function* () {
    // A terminal that goes away fails writes by this event, and ends the input.
    yield* listen(process.stdout, "error", () => {})
    yield* Effect.acquireRelease(Effect.sync(enter), () => Effect.sync(leave))
    // A process that exits in the middle (an uncaught exception) closes no scope.
    yield* Effect.acquireRelease(
      Effect.sync(() => process.on("exit", leave)),
      () => Effect.sync(() => process.off("exit", leave))
    )
    return {
      size: Effect.sync(currentSize),
      resizes: Stream.asyncPush<Size>((emit) => listen(process.stdout, "resize", () => emit.single(currentSize()))),
      input: Stream.asyncPush<string>((emit) =>
        Effect.gen(function* () {
          yield* listen(process.stdin, "data", (data: string) => emit.single(data))
          for (const event of ["end", "close", "error"]) yield* listen(process.stdin, event, () => emit.end())
          // Hanging up is how a terminal says that it goes away.
          yield* listen(process, "SIGHUP", () => emit.end())
        })
      ),
      write: (bytes) => Effect.sync(() => write(bytes)),
      suspend: Effect.scoped(
        Effect.gen(function* () {
          const resumed = yield* Effect.makeLatch(false)
          yield* listen(process, "SIGCONT", () => resumed.unsafeOpen())
          leave()
          // The whole group, as the terminal itself would: a shell waits for all of it.
          process.kill(0, "SIGTSTP")
          yield* resumed.await
          enter()
        })
      )
    }
  })
)

/** Asked of the system each time: the event that tells of a change comes later than the change. */
const currentSize = (): Size => {
  const [columns, rows] = process.stdout.getWindowSize()
  return { columns: columns || 80, rows: rows || 24 }
}

const listen = <A>(emitter: EventEmitter, event: string, listener: (value: A) => void) =>
  Effect.acquireRelease(
    Effect.sync(() => void emitter.on(event, listener)),
    () => Effect.sync(() => void emitter.off(event, listener))
  )

const enter = (): void => {
  process.stdin.setEncoding("utf8")
  process.stdin.setRawMode(true)
  process.stdin.resume()
  write(pasteOn)
}

const leave = (): void => {
  write(`${pasteOff}${Screen.restore}`)
  try {
    process.stdin.setRawMode(false)
    process.stdin.pause()
  } catch {
    // The terminal is gone: nothing is left to restore.
  }
}

/** Node writes to a terminal synchronously: this also works while the process exits. */
const write = (bytes: string): void => void process.stdout.write(bytes)
