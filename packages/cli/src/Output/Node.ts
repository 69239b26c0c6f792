/**
 * The process's own stdout and stderr.
 *
 * @since 0.1.0
 */
import type { Writable } from "node:stream"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Output, StdoutClosed } from "../Output.js"

/**
 * What of a stream a command writes to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Sink extends Pick<Writable, "write" | "on" | "off"> {
  readonly isTTY?: boolean
  readonly columns?: number
}

/**
 * Output to two streams. A stream whose reader is gone raises an `error` event beside failing the write; it is taken here, so that
 * it does not end the process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerStreams = (options: {
  readonly json: boolean
  readonly stdout: Sink
  readonly stderr: Sink
}): Layer.Layer<Output> =>
  Layer.scoped(
    Output,
    Effect.gen(function* () {
      const { json, stderr, stdout } = options
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          stdout.on("error", ignoreError)
          stderr.on("error", ignoreError)
        }),
        () =>
          Effect.sync(() => {
            stdout.off("error", ignoreError)
            stderr.off("error", ignoreError)
          })
      )
      const colour = stdout.isTTY === true && !(yield* noColour)
      const write = (text: string) =>
        Effect.mapError(
          writeTo(stdout, text),
          (error) => new StdoutClosed(isGone(error) ? {} : { fault: error.message })
        )
      return {
        json,
        colour,
        terminal: stdout.isTTY === true,
        columns: stdout.isTTY === true && stdout.columns !== undefined ? stdout.columns : Infinity,
        write,
        line: (text) => write(`${text}\n`),
        // Without stderr there is nobody left to tell.
        note: (text) => Effect.ignore(writeTo(stderr, `${text}\n`))
      }
    })
  )

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: { readonly json: boolean }): Layer.Layer<Output> =>
  Layer.suspend(() => layerStreams({ ...options, stdout: process.stdout, stderr: process.stderr }))

const ignoreError = (): void => {}

/** Whether the reader has left, which is no fault; anything else, such as a full disk, is one. */
const isGone = (error: Error): boolean =>
  "code" in error && (error.code === "EPIPE" || error.code === "ERR_STREAM_DESTROYED" || error.code === "ECONNRESET")

/** Done when the system has taken the bytes: they are not lost with the process, and a slow reader holds the writer up. */
const writeTo = (stream: Sink, text: string): Effect.Effect<void, Error> =>
  Effect.async((resume) => {
    stream.write(text, (error) => resume(error ? Effect.fail(error) : Effect.void))
  })

/** Set to anything but nothing, see no-color.org; a terminal that is `dumb` knows no colours. */
const noColour: Effect.Effect<boolean> = Config.all([
  Config.withDefault(Config.string("NO_COLOR"), ""),
  Config.withDefault(Config.string("TERM"), "")
]).pipe(
  Effect.map(([setting, terminal]) => setting !== "" || terminal === "dumb"),
  // Text is what both are read as, and both have a default.
  Effect.orDie
)
