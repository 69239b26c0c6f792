import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Record from "effect/Record"
import * as Stream from "effect/Stream"
import * as JobLog from "../JobLog.js"
import type { JobRecord, Running, Runtime } from "./live.js"

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
  return job.running === undefined
    ? Effect.asVoid(Effect.timeoutOption(Effect.interruptible(endElsewhere(runtime, job)), timeout))
    : endHere(job, job.running, timeout)
}

/**
 * The one fiber that it costs is the timer: a race would cost two more, and its winner would wait for the loser before anybody hears
 * of the end.
 */
const endHere = (job: JobRecord, { waiters }: Running, timeout: Duration.DurationInput): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.fork(Effect.interruptible(Effect.sleep(timeout))), (timer) => {
      let wake = (): void => undefined
      const end = Effect.async<void>((resume) => {
        // It may have ended while the timer was started.
        if (job.running === undefined) return resume(Effect.void)
        wake = () => resume(Effect.void)
        waiters.add(wake)
        timer.addObserver(wake)
      })
      const stop = Effect.sync(() => {
        waiters.delete(wake)
        timer.removeObserver(wake)
        timer.unsafeInterruptAsFork(FiberId.none)
      })
      return Effect.ensuring(restore(end), stop)
    })
  )

/** A job that another host runs is over once the log does not show it open. */
const endElsewhere = (runtime: Runtime, { id, owner }: JobRecord): Effect.Effect<void, ReadError> =>
  owner === undefined
    ? Effect.void
    : runtime.projections.changes(owner, JobLog.ledger).pipe(
        Stream.takeUntil(({ value }) => !Record.has(value.open, id)),
        Stream.runDrain
      )
