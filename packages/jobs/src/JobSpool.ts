/**
 * Where the output of jobs is kept: bounded, readable by any number of readers at any byte offset, and still there after a restart
 * where the implementation says so.
 *
 * @since 0.1.0
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { makeMemorySpools } from "./internal/memorySpools.js"
import type { JobId } from "./Job.js"

/**
 * Output could not be kept or read.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobSpoolError extends Schema.TaggedError<JobSpoolError>("@afterturn/jobs/JobSpoolError")("JobSpoolError", {
  message: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {}

/**
 * Names the output of one job.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpoolKey {
  readonly owner: SessionId | undefined
  readonly id: JobId
}

/**
 * How much was ever written, and from which offset on it is the text that came with the job's end.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpoolSize {
  readonly size: number
  readonly finalFrom: number | undefined
}

/**
 * A piece of output: the bytes from `offset`, which is later than what was asked for where the oldest were dropped.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpoolPage {
  readonly offset: number
  readonly bytes: Uint8Array
}

/**
 * Bytes that are appended are whole UTF-8 characters, and the oldest that are kept begin with a whole one.
 *
 * @since 0.1.0
 * @category tags
 */
export class JobSpool extends Context.Tag("@afterturn/jobs/JobSpool")<
  JobSpool,
  {
    /**
     * Adds to a job's output and answers its new size. Appends to one job keep the order of their calls. Beyond what is kept of a job
     * the oldest bytes are dropped. `final`: these bytes are the text that came with the job's end.
     */
    readonly append: (
      key: SpoolKey,
      bytes: Uint8Array,
      options?: { readonly final?: boolean }
    ) => Effect.Effect<number, JobSpoolError>
    /** No more comes: what is held open for writing is let go. */
    readonly end: (key: SpoolKey) => Effect.Effect<void>
    /** The bytes from an offset, as many as there are up to `limit`; `undefined`: nothing is kept of this job. */
    readonly read: (key: SpoolKey, from: number, limit: number) => Effect.Effect<SpoolPage | undefined, JobSpoolError>
    /** `undefined`: nothing is kept of this job. */
    readonly size: (key: SpoolKey) => Effect.Effect<SpoolSize | undefined, JobSpoolError>
    /** Where a person finds the output, when that is a place where a person can look. */
    readonly location: (key: SpoolKey) => string | undefined
    /** Removes what is kept of a session's jobs. */
    readonly remove: (owner: SessionId | undefined) => Effect.Effect<void, JobSpoolError>
  }
>() {}

/**
 * Keeps output in memory, to the end of the process: at most `maxSpoolBytes` (16 MiB) of one job and, of jobs that have ended,
 * `maxTotalBytes` (64 MiB); those that ended first go first.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: {
  readonly maxSpoolBytes?: number
  readonly maxTotalBytes?: number
}): Layer.Layer<JobSpool> =>
  Layer.sync(JobSpool, () =>
    makeMemorySpools(options?.maxSpoolBytes ?? defaultMaxSpoolBytes, options?.maxTotalBytes ?? 64 * 1024 * 1024)
  )

/**
 * How many bytes of a job's output are kept when nothing else is said: 16 MiB.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultMaxSpoolBytes = 16 * 1024 * 1024
