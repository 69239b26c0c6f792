import type { Instant } from "@afterturn/session-log/Instant"
import { now } from "@afterturn/session-log/Instant"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import { LeaseLost, SessionLeased, SessionNotFound } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as PubSub from "effect/PubSub"
import * as Record from "effect/Record"
import * as EffectSchedule from "effect/Schedule"
import { JobSettle } from "../JobEvents.js"
import * as JobLog from "../JobLog.js"
import type { JobRecord, Outcome, Owner, Running, Runtime } from "./live.js"
import { signalQuiet, snapshotOf } from "./live.js"
import * as Metrics from "./metrics.js"

/**
 * Settles a job, unless something did before. In this order: the outcome is decided, stored, the place freed, waiters released, the
 * change published, the completion announced. Run it uninterruptibly.
 */
export const settle = (
  runtime: Runtime,
  owner: Owner,
  job: JobRecord,
  running: Running,
  outcome: Outcome
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (running.decided !== undefined) return Effect.void
    running.decided = outcome
    const settled = Effect.flatMap(now, (finishedAt) => {
      const end = { job, outcome, finishedAt }
      return owner.id === undefined ? conclude(runtime, owner, end, true) : keepEnd(runtime, owner, owner.id, end)
    })
    return job.size === undefined ? settled : Effect.zipRight(settled, runtime.spool.end(job))
  })

interface End {
  readonly job: JobRecord
  readonly outcome: Outcome
  readonly finishedAt: Instant
}

/**
 * The end of a job is stored, then the job is concluded. A store that is busy, full or away is tried again by a fiber of its own, for
 * as long as the owner lives.
 */
const keepEnd = (runtime: Runtime, owner: Owner, id: SessionId, end: End): Effect.Effect<void> => {
  const event = eventOf(end)
  return Effect.matchEffect(runtime.log.append(id, [event]), {
    onSuccess: () => conclude(runtime, owner, end, true),
    onFailure: (error) =>
      error instanceof SessionStoreError
        ? Effect.zipRight(
            Effect.logWarning(`the end of job "${end.job.id}" of session "${id}" waits for the store`, error),
            Effect.forkIn(keepEndLater(runtime, owner, id, end, event), owner.helpers)
          )
        : refused(runtime, owner, end, error)
  })
}

/** A store may have kept what it said it had not: an end that the log has already is not written twice. */
const keepEndLater = (
  runtime: Runtime,
  owner: Owner,
  id: SessionId,
  end: End,
  event: EventInput
): Effect.Effect<void> =>
  untilTaken(
    runtime.projections.decide(id, JobLog.ledger, ({ value }) =>
      Effect.succeed({ events: Record.has(value.open, end.job.id) ? [event] : [], value: undefined })
    )
  ).pipe(
    Effect.interruptible,
    Effect.matchEffect({
      onSuccess: () => conclude(runtime, owner, end, true),
      onFailure: (error) => refused(runtime, owner, end, error)
    })
  )

/** What the log refuses for good ends in memory only. */
const refused = (runtime: Runtime, owner: Owner, end: End, error: AppendError | ReadError): Effect.Effect<void> =>
  Effect.zipRight(logRefusal(error, end.job.id), conclude(runtime, owner, end, false))

const eventOf = ({ finishedAt, job, outcome }: End): EventInput =>
  JobSettle.make({
    id: job.id,
    status: outcome.status,
    ...(outcome.detail === undefined ? {} : { detail: outcome.detail }),
    ...(job.reason === undefined ? {} : { reason: job.reason }),
    startedAt: job.startedAt,
    finishedAt
  })

/** Tries again until the store takes it or the log refuses it. */
export const untilTaken = <A, E, R>(appended: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(appended, {
    schedule: EffectSchedule.exponential("100 millis").pipe(
      EffectSchedule.union(EffectSchedule.spaced("30 seconds")),
      EffectSchedule.jittered
    ),
    while: (error) => error instanceof SessionStoreError
  })

/** A session that is gone or driven by another is no news to anybody here. */
export const logRefusal = (error: AppendError | ReadError, what: string): Effect.Effect<void> =>
  error instanceof LeaseLost || error instanceof SessionLeased || error instanceof SessionNotFound
    ? Effect.logDebug(`"${what}" ended in memory only`, error)
    : Effect.logError(`"${what}" ended in memory only: the log refused it`, error)

/**
 * Makes an end known. One that is not stored is not announced as a completion: whoever drives the session next finds the job open and
 * settles it there.
 */
export const conclude = (
  runtime: Runtime,
  owner: Owner,
  { finishedAt, job, outcome }: End,
  isStored: boolean
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { running } = job
    if (running === undefined) return Effect.void
    job.status = outcome.status
    job.detail = outcome.detail
    job.finishedAt = finishedAt
    job.size ??= 0
    job.running = undefined
    owner.active.delete(job.id)
    remember(runtime, owner, job)
    running.timer?.unsafeInterruptAsFork(FiberId.none)
    Metrics.onSettle(outcome.status)
    for (const wake of running.waiters) wake()
    running.progress.ring()
    const announced = isStored ? announce(runtime, job) : PubSub.publish(runtime.changes, owner.id)
    return Effect.map(announced, () => signalQuiet(owner))
  })

export const announce = (runtime: Runtime, job: JobRecord): Effect.Effect<unknown> =>
  Effect.zipRight(
    PubSub.publish(runtime.changes, job.owner),
    Effect.suspend(() => PubSub.publish(runtime.completions, snapshotOf(job)))
  )

/** Keeps a finished job among the newest; what falls out is read from the log when somebody asks for it. */
export const remember = (runtime: Runtime, owner: Owner, job: JobRecord): void => {
  owner.finished.set(job.id, job)
  for (const oldest of owner.finished.keys()) {
    if (owner.finished.size <= runtime.config.keepFinished) break
    owner.finished.delete(oldest)
  }
}
