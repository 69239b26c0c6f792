import type { Instant } from "@afterturn/session-log/Instant"
import { now } from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import { labelLine } from "../Job.js"
import { JobSettle } from "../JobEvents.js"
import * as JobLog from "../JobLog.js"
import type { Owner, Runtime } from "./live.js"
import * as Metrics from "./metrics.js"
import { announce, logRefusal, remember, untilTaken } from "./settle.js"
import type { Ended, Place } from "./stored.js"
import { finishedRecord, placesOf } from "./stored.js"

const lost = "lost: the host stopped"

const mayStillRun = "its processes may still run"

/**
 * Settles the jobs that an earlier process left open, once what is left of them was dealt with. All in one append: a crash before it
 * leaves them to the next agent, one after it finds nothing to do.
 */
export const recover = (runtime: Runtime, owner: Owner, id: SessionId, ledger: JobLog.Ledger): Effect.Effect<void> =>
  Effect.gen(function* () {
    const open = Object.values(ledger.open)
    if (open.length === 0) return
    const details = yield* Effect.forEach(open, (job) => reap(runtime, job), { concurrency: "unbounded" })
    const finishedAt = yield* now
    const placeOf = placesOf(ledger)
    const ends = open.map((job, index) => ({
      end: { ...finishedOf(job, finishedAt), detail: details[index]! },
      place: placeOf(job.id)
    }))
    yield* Effect.uninterruptible(keepLost(runtime, owner, id, ends, appendLost(runtime, id, ends)))
  })

interface LostJob {
  readonly end: Ended & { readonly detail: string }
  readonly place: Place
}

const finishedOf = (job: JobLog.OpenJob, finishedAt: Instant): Ended => ({
  id: job.id,
  kind: job.kind,
  label: job.label,
  startedAt: job.startedAt,
  finishedAt,
  status: "failed",
  detail: null,
  reason: job.reason
})

/** Ends the process that is still recorded for a job, if its producer knows how, and says what became of it. */
const reap = (runtime: Runtime, job: JobLog.OpenJob): Effect.Effect<string> =>
  Effect.suspend(() => {
    const reaper = runtime.reapers.get(job.kind)
    if (job.process === null || reaper === undefined) return Effect.succeed(lost)
    return reaper(job.process).pipe(
      // One that ignores its interruption must not keep the agent from coming alive.
      Effect.disconnect,
      Effect.interruptible,
      Effect.timeoutTo({
        duration: runtime.config.killGrace,
        onTimeout: () => mayStillRun,
        onSuccess: (words: string) => words
      }),
      // A reaper that breaks costs only its words: the job is lost either way.
      Effect.catchAllDefect((defect) =>
        Effect.as(Effect.logError(`what is left of job "${job.id}" could not be ended`, defect), mayStillRun)
      ),
      Effect.map((words) => labelLine(`${lost}; ${words}`))
    )
  })

const appendLost = (
  runtime: Runtime,
  id: SessionId,
  ends: ReadonlyArray<LostJob>
): Effect.Effect<void, AppendError | ReadError> =>
  runtime.projections.decide(id, JobLog.ledger, ({ value }) => {
    const open = ends.filter(({ end }) => Record.has(value.open, end.id))
    return Effect.sync(() => ({ events: open.map(settleEvent), value: undefined }))
  })

const settleEvent = ({ end: { detail, finishedAt, id, reason, startedAt, status } }: LostJob) =>
  JobSettle.make({
    id,
    status,
    detail,
    ...(reason === null ? {} : { reason }),
    startedAt,
    finishedAt
  })

/** A store that cannot take the ends yet does not keep the agent from coming alive. */
const keepLost = (
  runtime: Runtime,
  owner: Owner,
  id: SessionId,
  ends: ReadonlyArray<LostJob>,
  appended: Effect.Effect<void, AppendError | ReadError>
): Effect.Effect<void> =>
  Effect.matchEffect(appended, {
    onSuccess: () =>
      Effect.forEach(
        ends,
        ({ end, place }) => {
          const job = finishedRecord(runtime, id, end, place)
          remember(runtime, owner, job)
          Metrics.onLost()
          return announce(runtime, job)
        },
        { discard: true }
      ),
    onFailure: (error) =>
      error instanceof SessionStoreError
        ? Effect.zipRight(
            Effect.logWarning(`the lost jobs of session "${id}" wait for the store`, error),
            Effect.asVoid(
              Effect.forkIn(
                keepLost(runtime, owner, id, ends, Effect.interruptible(untilTaken(appended))),
                owner.helpers
              )
            )
          )
        : logRefusal(error, id)
  })
