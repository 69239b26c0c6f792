import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { JobSpoolError } from "../JobSpool.js"
import type { OutputChunk } from "../Jobs.js"
import type { JobRecord, Running, Runtime } from "./live.js"
import { decode, edgeAfter, encode, newDecoder, wholeLength } from "./utf8.js"

/**
 * Adds to a job's output. What reaches the spool is whole UTF-8 characters, so that an offset between two writes never falls inside
 * one.
 */
export const write = (
  runtime: Runtime,
  job: JobRecord,
  running: Running,
  chunk: string | Uint8Array
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (running.decided !== undefined) return Effect.void
    const bytes = typeof chunk === "string" ? wholeText(running, chunk) : wholeBytes(running, chunk)
    const stored = store(runtime, job, running, bytes, false)
    running.burst += bytes.length
    if (running.burst < maxBurst) return stored
    running.burst = 0
    return Effect.zipLeft(stored, Effect.sleep(0))
  })

/** A job that floods a spool which never waits lets timers and other input have their turn after so many bytes. */
const maxBurst = 1024 * 1024

/**
 * Ends a job's output: what is left of a character that never came whole becomes U+FFFD, and a text that the job gave back comes last.
 */
export const finish = (
  runtime: Runtime,
  job: JobRecord,
  running: Running,
  final: string | undefined
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (running.decided !== undefined) return Effect.void
    const rest = (running.decoder?.decode() ?? "") + running.halfPair
    running.decoder = undefined
    running.halfPair = ""
    const flushed = rest === "" ? Effect.void : store(runtime, job, running, encode(rest), false)
    return final === undefined
      ? flushed
      : Effect.zipRight(
          flushed,
          Effect.suspend(() => {
            job.finalFrom = job.size ?? 0
            return store(runtime, job, running, encode(final), true)
          })
        )
  })

const wholeText = (running: Running, text: string): Uint8Array => {
  // After bytes, text takes the same way, so that it cannot overtake the rest of a character.
  if (running.decoder !== undefined) return wholeBytes(running, encode(text))
  const joined = running.halfPair + text
  const last = joined.charCodeAt(joined.length - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  running.halfPair = isHalf ? joined.slice(-1) : ""
  return encode(isHalf ? joined.slice(0, -1) : joined)
}

const wholeBytes = (running: Running, bytes: Uint8Array): Uint8Array => {
  const before = running.halfPair
  running.halfPair = ""
  running.decoder ??= newDecoder()
  return encode(before + running.decoder.decode(bytes, { stream: true }))
}

/** A spool that fails loses this piece, which the host's log says once a job; the job itself goes on. */
const store = (
  runtime: Runtime,
  job: JobRecord,
  running: Running,
  bytes: Uint8Array,
  final: boolean
): Effect.Effect<void> =>
  bytes.length === 0
    ? Effect.void
    : Effect.matchEffect(runtime.spool.append(job, bytes, { final }), {
        onFailure: (error) => {
          if (running.lossLogged) return Effect.void
          running.lossLogged = true
          return Effect.logWarning(`output of job "${job.id}" is being lost`, error)
        },
        onSuccess: (size) =>
          Effect.sync(() => {
            job.size = Math.max(job.size ?? 0, size)
            running.progress.ring()
          })
      })

/**
 * A piece of text in the output of a job. `offset` and `end` are where it begins and ends; `undefined`: nothing is kept.
 */
interface Piece {
  readonly offset: number
  readonly end: number
  readonly text: string
}

/** The tail of a range of the output: at most `limit` bytes of it, whole characters. */
export const tail = (
  runtime: Runtime,
  job: JobRecord,
  range: { readonly from: number; readonly to: number; readonly limit: number }
): Effect.Effect<Piece | undefined, JobSpoolError> => {
  const from = Math.max(range.from, range.to - range.limit)
  return readPage(runtime, job, from, range.to - from)
}

/** How much of the output one pull takes from the spool. */
const pageBytes = 64 * 1024

/**
 * Output from an offset, then what follows, to the end of the job. Pages are pulled from the spool: nothing is queued for a reader.
 */
export const follow = (runtime: Runtime, job: JobRecord, from: number): Stream.Stream<OutputChunk> => {
  const next = Effect.fnUntraced(function* (offset: number) {
    while (true) {
      const { running } = job
      const change = running?.progress.listen()
      const size = job.size ?? 0
      const piece = size > offset ? yield* readOrLog(runtime, job, offset) : undefined
      if (piece !== undefined && piece.end > offset) {
        return Option.some([chunkOf(piece, offset), piece.end] as const)
      }
      if (running === undefined || change === undefined) return Option.none()
      yield* change
    }
  })
  return Stream.unfoldEffect(from, next)
}

const chunkOf = (piece: Piece, asked: number): OutputChunk => ({
  offset: piece.offset,
  text: piece.text,
  droppedBytes: piece.offset - asked
})

/** What cannot be read is left out; why is for the host's log. */
const readOrLog = (runtime: Runtime, job: JobRecord, from: number): Effect.Effect<Piece | undefined> =>
  Effect.catchAll(readPage(runtime, job, from, pageBytes), (error) =>
    Effect.as(Effect.logWarning(`output of job "${job.id}" cannot be read`, error), undefined)
  )

/** Text of at most `limit` bytes from an offset on, without characters that are cut at either end. */
const readPage = (
  runtime: Runtime,
  job: JobRecord,
  from: number,
  limit: number
): Effect.Effect<Piece | undefined, JobSpoolError> =>
  Effect.map(runtime.spool.read(job, from, limit), (page) => {
    if (page === undefined) return undefined
    const start = edgeAfter(page.bytes, 0)
    const isLast = page.offset + page.bytes.length >= (job.size ?? 0)
    const end = isLast ? page.bytes.length : wholeLength(page.bytes)
    return { offset: page.offset + start, end: page.offset + end, text: decode(page.bytes.subarray(start, end)) }
  })
