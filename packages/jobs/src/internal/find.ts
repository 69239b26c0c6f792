import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { JobId } from "../Job.js"
import * as JobLog from "../JobLog.js"
import type { Caller } from "../Jobs.js"
import { JobNotFound } from "../JobsError.js"
import type { JobRecord, Owner, Runtime } from "./live.js"
import { findStored, storedJobs } from "./stored.js"

const isJobId = Schema.is(JobId)

const notFound = (id: string): JobNotFound => new JobNotFound({ code: "job_not_found", jobId: id })

/**
 * A job that the caller may see: one of its own session, or one that nobody owns. A foreign id and one that never was give the same
 * answer, for neither is looked up outside the caller's session.
 */
export const find = (runtime: Runtime, id: string, caller: Caller): Effect.Effect<JobRecord, JobNotFound | ReadError> =>
  Effect.suspend((): Effect.Effect<JobRecord, JobNotFound | ReadError> => {
    if (!isJobId(id)) return notFound(id)
    const isUnowned = JobLog.isUnowned(id)
    const job = inMemory(runtime, id, caller)
    if (job !== undefined) return Effect.succeed(job)
    if (isUnowned || caller === undefined || isBeyond(runtime.owners.get(caller), id)) return notFound(id)
    return Effect.flatMap(findStored(runtime, caller, id), (job) =>
      job === undefined ? notFound(id) : Effect.succeed(job)
    )
  })

/** A job that the caller may see and that is active here or among the newest finished ones. */
export const inMemory = (runtime: Runtime, id: JobId, caller: Caller): JobRecord | undefined => {
  const owner = JobLog.isUnowned(id) ? runtime.unowned : caller === undefined ? undefined : runtime.owners.get(caller)
  return owner?.active.get(id) ?? owner?.finished.get(id)
}

/** A live owner has given out every number up to the last one. */
const isBeyond = (owner: Owner | undefined, id: JobId): boolean =>
  owner !== undefined && JobLog.jobNumber(id) > (owner.counters.get(JobLog.jobKind(id)) ?? 0)

/** A caller's jobs and those without an owner, in start order. */
export const list = (runtime: Runtime, caller: Caller): Effect.Effect<ReadonlyArray<JobRecord>, ReadError> =>
  Effect.suspend(() => {
    const unowned = held(runtime.unowned)
    if (caller === undefined) return Effect.succeed(unowned)
    const owner = runtime.owners.get(caller)
    const owned = owner === undefined ? Effect.map(storedJobs(runtime, caller), inOrder) : Effect.succeed(held(owner))
    return Effect.map(owned, (jobs) => merge(jobs, unowned))
  })

const held = (owner: Owner): ReadonlyArray<JobRecord> =>
  inOrder([...owner.finished.values(), ...[...owner.active.values()].filter((job) => job !== undefined)])

const inOrder = (jobs: ReadonlyArray<JobRecord>): ReadonlyArray<JobRecord> =>
  [...jobs].sort((one, other) => one.order - other.order)

/** Two rows that are each in order, by time of start: a clock that was set back does not reorder either. */
const merge = (one: ReadonlyArray<JobRecord>, other: ReadonlyArray<JobRecord>): ReadonlyArray<JobRecord> => {
  const merged: Array<JobRecord> = []
  let next = 0
  for (const job of one) {
    while (next < other.length && other[next]!.startedAt < job.startedAt) merged.push(other[next++]!)
    merged.push(job)
  }
  return [...merged, ...other.slice(next)]
}
