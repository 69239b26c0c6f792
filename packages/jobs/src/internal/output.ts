import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { OutputChunk } from "../Jobs.js"
import type { SpoolPage } from "../JobSpool.js"
import type { LiveJob, Runtime } from "./live.js"

const encoder = new TextEncoder()

/**
 * Adds to a job's output. What reaches the spool is whole UTF-8 characters, so that an offset never falls inside one. A spool that
 * fails loses this piece, which the log of the host says: the job itself goes on.
 */
export const write = (runtime: Runtime, job: LiveJob, chunk: string | Uint8Array): Effect.Effect<void> =>
  Effect.suspend(() => store(runtime, job, typeof chunk === "string" ? encoder.encode(chunk) : decodeWhole(job, chunk)))

/** What is left of a character that never came whole becomes U+FFFD. */
export const finishOutput = (runtime: Runtime, job: LiveJob): Effect.Effect<void> =>
  Effect.suspend(() => {
    const rest = job.decoder?.decode() ?? ""
    job.decoder = undefined
    return store(runtime, job, encoder.encode(rest))
  })

const decodeWhole = (job: LiveJob, chunk: Uint8Array): Uint8Array => {
  job.decoder ??= new TextDecoder("utf-8", { ignoreBOM: true })
  return encoder.encode(job.decoder.decode(chunk, { stream: true }))
}

const store = (runtime: Runtime, job: LiveJob, bytes: Uint8Array): Effect.Effect<void> =>
  bytes.length === 0 ? Effect.void : runtime.spool.append(job, bytes).pipe(
    Effect.map(() => {
      job.size += bytes.length
      job.progress.signal()
    }),
    Effect.catchAll((error) => Effect.logWarning(`output of job ${job.id} was lost`, error))
  )

/** How much of the output one read of a stream takes from the spool. */
const pageBytes = 64 * 1024

/**
 * Output from an offset, then what follows, to the end of the job. Pulls pages from the spool: nothing is queued for the reader.
 */
export const follow = (runtime: Runtime, job: LiveJob, from: number): Stream.Stream<OutputChunk> =>
  Stream.unfoldEffect(from, function next(offset): Effect.Effect<readonly [OutputChunk, number] | undefined> {
    return Effect.gen(function*() {
      const change = yield* job.progress.listen
      const page = yield* readPage(runtime, job, offset, pageBytes)
      if (page !== undefined && page.bytes.length > 0) {
        const text = decodePage(page)
        return [{ offset: page.offset, text: text.text, droppedBytes: page.offset - offset }, page.offset + text.bytes] as const
      }
      if (job.finishedAt !== undefined) return undefined
      yield* change
      return yield* next(offset)
    })
  })

