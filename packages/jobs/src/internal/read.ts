import * as Effect from "effect/Effect"
import type { JobSnapshot } from "../Job.js"
import type { JobRead } from "../Jobs.js"
import type { JobRecord, Runtime } from "./live.js"
import { snapshotOf } from "./live.js"
import * as Output from "./output.js"

export const hasUnknownSize = (job: JobRecord): boolean => job.size === undefined && job.running === undefined

/** How much output a job of an earlier run left, looked up when somebody first asks. */
export const learnSize = (runtime: Runtime, job: JobRecord): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (!hasUnknownSize(job)) return Effect.void
    return Effect.matchEffect(runtime.spool.size(job), {
      // What cannot be read is shown as gone; why is for the host's log.
      onFailure: (error) =>
        Effect.map(Effect.logWarning(`output of job "${job.id}" cannot be read`, error), () => {
          job.expired = true
        }),
      onSuccess: (kept) =>
        Effect.sync(() => {
          job.size = kept?.size ?? 0
          job.finalFrom = kept?.finalFrom
          job.expired = kept === undefined
        })
    })
  })

/**
 * What is new since the cursor, or the text that came with the end. The cursor moves once the output is in hand, with one reader at a
 * time: no two readers get the same piece, and a reader that is interrupted takes none.
 */
export const read = (runtime: Runtime, job: JobRecord, reserveBytes: number): Effect.Effect<JobRead> =>
  Effect.suspend(() => {
    job.reading ??= Effect.unsafeMakeSemaphore(1)
    return job.reading.withPermits(1)(Effect.zipRight(learnSize(runtime, job), readOnce(runtime, job, reserveBytes)))
  })

const readOnce = (runtime: Runtime, job: JobRecord, reserveBytes: number): Effect.Effect<JobRead> =>
  Effect.suspend(() => {
    // The status belongs to what was written up to here: a job that ends meanwhile is shown as live, its output not cut off.
    const snapshot = snapshotOf(job)
    const to = job.size ?? 0
    const { finalFrom } = job
    const from = Math.min(finalFrom ?? job.cursor, to)
    const answer = (output: string, start: number): JobRead => {
      job.cursor = Math.max(job.cursor, to)
      return {
        snapshot: { ...snapshot, unreadBytes: 0 },
        output,
        cursor: job.cursor,
        limitBytes: job.outputLimitBytes,
        droppedBytes: start - from,
        expired: job.expired
      }
    }
    if (from === to) return Effect.sync(() => answer("", from))
    const limit = Math.max(0, job.outputLimitBytes - reserveBytes)
    return Effect.matchEffect(Output.tail(runtime, job, { from, to, limit }), {
      onFailure: (error) =>
        Effect.as(Effect.logWarning(`output of job "${job.id}" cannot be read`, error), {
          ...unread(job, snapshot),
          expired: true
        }),
      onSuccess: (piece) =>
        Effect.sync(() => {
          if (piece === undefined) job.expired = true
          return piece === undefined ? answer("", to) : answer(piece.text, piece.offset)
        })
    })
  })

/** An answer that takes nothing. */
const unread = (job: JobRecord, snapshot: JobSnapshot): JobRead => ({
  snapshot,
  output: "",
  cursor: job.cursor,
  limitBytes: job.outputLimitBytes,
  droppedBytes: 0,
  expired: job.expired
})
