/**
 * Where the output of jobs is kept: bounded, readable by any number of readers at any byte offset, and still there after a restart
 * where the implementation says so.
 *
 * @since 0.1.0
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { JobId } from "./Job.js"
import { MemorySpool } from "./internal/memorySpool.js"

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
 * A piece of output: the bytes from `offset`, which is later than what was asked for where the oldest were dropped. `size` counts all
 * bytes ever written.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpoolPage {
  readonly offset: number
  readonly bytes: Uint8Array
  readonly size: number
}

/**
 * @since 0.1.0
 * @category tags
 */
export class JobSpool extends Context.Tag("@afterturn/jobs/JobSpool")<
  JobSpool,
  {
    /** Adds whole UTF-8 characters to a job's output; beyond the spool's size the oldest bytes are dropped. */
    readonly append: (key: SpoolKey, bytes: Uint8Array) => Effect.Effect<void, JobSpoolError>
    /** At most `limit` bytes from an offset; `undefined`: nothing is kept of this job. */
    readonly read: (
      key: SpoolKey,
      from: number,
      limit: number
    ) => Effect.Effect<SpoolPage | undefined, JobSpoolError>
    /** How many bytes were written in all; 0 when nothing is kept. */
    readonly size: (key: SpoolKey) => Effect.Effect<number, JobSpoolError>
    /** Where a person finds the whole output, when it is somewhere a person can look. */
    readonly location: (key: SpoolKey) => string | undefined
    /** Removes what is kept of a session's jobs. */
    readonly remove: (owner: SessionId | undefined) => Effect.Effect<void, JobSpoolError>
  }
>() {}

/**
 * Keeps output in memory: it ends with the process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: { readonly maxSpoolBytes?: number }): Layer.Layer<JobSpool> =>
  Layer.sync(JobSpool, () => {
    const spools = new Map<string, MemorySpool>()
    const maxBytes = options?.maxSpoolBytes ?? 16 * 1024 * 1024
    const name = (key: SpoolKey) => `${key.owner ?? ""}/${key.id}`
    return {
      append: (key, bytes) =>
        Effect.sync(() => {
          const spool = spools.get(name(key)) ?? new MemorySpool(maxBytes)
          spools.set(name(key), spool)
          spool.append(bytes)
        }),
      read: (key, from, limit) => Effect.sync(() => spools.get(name(key))?.read(from, limit)),
      size: (key) => Effect.sync(() => spools.get(name(key))?.size ?? 0),
      location: () => undefined,
      remove: (owner) =>
        Effect.sync(() => {
          for (const key of spools.keys()) if (key.startsWith(`${owner ?? ""}/`)) spools.delete(key)
        })
    }
  })
