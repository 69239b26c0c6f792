import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import * as Stream from "effect/Stream"
import * as JobLog from "../JobLog.js"
import type { JobRecord, Runtime } from "./live.js"

/**
 * Waits for the end of a job, no longer than the timeout. It may be interrupted at any time, which leaves the job alone; where the
 * caller may not be, the timeout holds all the same.
 */
export const awaitEnd = (
  runtime: Runtime,
  job: JobRecord,
  timeout: Duration.DurationInput
): Effect.Effect<void, ReadError> => {
  if (job.finishedAt !== undefined || Duration.toMillis(timeout) <= 0) return Effect.void
  const end = job.running === undefined ? endElsewhere(runtime, job) : endHere(job)
  return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(end), timeout))
}

const endHere = (job: JobRecord): Effect.Effect<void> =>
  Effect.async((resume) => {
    const waiters = job.running?.waiters
    if (waiters === undefined) return resume(Effect.void)
    const wake = () => resume(Effect.void)
    waiters.add(wake)
    return Effect.sync(() => waiters.delete(wake))
  })

/** A job that another host runs is over once the log does not show it open. */
const endElsewhere = (runtime: Runtime, { id, owner }: JobRecord): Effect.Effect<void, ReadError> =>
  owner === undefined
    ? Effect.void
    : runtime.projections.changes(owner, JobLog.ledger).pipe(
        Stream.takeUntil(({ value }) => !Record.has(value.open, id)),
        Stream.runDrain
      )
