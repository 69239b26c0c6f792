import type { Agent } from "@afterturn/agent/Agent"
import { now } from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as EffectSchedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as JobLog from "../JobLog.js"
import type { JobRecord, Owner, Runtime, StopRequest } from "./live.js"
import { didNotStop, goesOn, makeOwner } from "./live.js"
import { recover } from "./recover.js"
import { conclude, remember } from "./settle.js"
import { stop } from "./stop.js"
import { finishedRecord, placesOf } from "./stored.js"

/**
 * What every agent gets: a place for its jobs, for as long as it lives. Jobs that an earlier process left open are settled before the
 * first turn. An agent whose ledger cannot be read lives without jobs.
 */
export const attach = (runtime: Runtime, agent: Agent): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    // The service has ended before its agents.
    if (runtime.unowned.closing !== undefined) return
    const id = agent.id
    const { counters, ledger } = yield* readLedger(runtime, id)
    const owner = yield* makeOwner(id)
    for (const [kind, number] of Object.entries(counters)) owner.counters.set(kind, number)
    const placeOf = placesOf(ledger)
    for (const job of ledger.recent) remember(runtime, owner, finishedRecord(runtime, id, job, placeOf(job.id)))
    yield* Effect.addFinalizer(() => dispose(runtime, owner, { reason: "session ended", by: "host" }))
    yield* recover(runtime, owner, id, ledger)
    runtime.owners.set(id, owner)
  }).pipe(
    Effect.catchAll((error) =>
      Effect.logError(`the jobs of session "${agent.id}" cannot be read: none can be started`, error)
    )
  )

const readLedger = (runtime: Runtime, id: SessionId) =>
  Effect.all({
    ledger: Effect.map(runtime.projections.get(id, JobLog.ledger), ({ value }) => value),
    counters: Effect.map(runtime.projections.get(id, JobLog.counters), ({ value }) => value)
  }).pipe(
    Effect.retry({
      schedule: EffectSchedule.intersect(EffectSchedule.exponential("100 millis"), EffectSchedule.recurs(5)),
      while: (error) => error instanceof SessionStoreError
    })
  )

/**
 * Stops all jobs of an owner, waits for their ends no longer than their grace and a moment for the store, and lets the owner go. A new
 * agent of the same session has an owner of its own, which this leaves alone.
 */
export const dispose = (runtime: Runtime, owner: Owner, request: StopRequest): Effect.Effect<void> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      if (owner.closing !== undefined) return Deferred.await(owner.disposed)
      owner.closing = request
      return Effect.gen(function* () {
        yield* stop(runtime, owner, activeJobs(owner), request)
        if (owner.active.size > 0) {
          yield* Effect.timeoutOption(Effect.interruptible(Deferred.await(owner.quiet)), disposalTime(runtime))
        }
        // Before anything else: whoever tries to store an end is stopped here, for the session may have another agent soon.
        yield* Scope.close(owner.helpers, Exit.void)
        if (owner.id !== undefined && runtime.owners.get(owner.id) === owner) runtime.owners.delete(owner.id)
        yield* abandon(runtime, owner)
        // A fiber that did not stop was interrupted long ago: closing its scope would only wait for it.
        if (owner.rogues === 0) yield* closeJobs(owner)
        yield* Deferred.succeed(owner.disposed, undefined)
      })
    })
  )

/** All have settled; what a fiber may still have to do after that, such as to end its own children, is not waited for without end. */
const closeJobs = (owner: Owner): Effect.Effect<unknown> =>
  Scope.close(owner.jobs, Exit.void).pipe(Effect.disconnect, Effect.interruptible, Effect.timeoutOption(storeTime))

/** What an end that was decided in time may take to be stored. */
const storeTime = Duration.seconds(1)

const disposalTime = (runtime: Runtime): Duration.Duration => Duration.sum(runtime.config.killGrace, storeTime)

const activeJobs = (owner: Owner): ReadonlyArray<JobRecord> =>
  [...owner.active.values()].filter((job) => job !== undefined)

/** What could not be stored in time ends here; the log still shows it open, and the session's next agent settles it. */
const abandon = (runtime: Runtime, owner: Owner): Effect.Effect<void> =>
  Effect.flatMap(now, (finishedAt) =>
    Effect.forEach(
      activeJobs(owner),
      (job) => {
        const { running } = job
        const outcome = running?.decided ?? didNotStop
        if (running !== undefined && running.decided === undefined) {
          running.decided = outcome
          goesOn(owner, running)
        }
        return conclude(runtime, owner, { job, outcome, finishedAt }, false)
      },
      { discard: true }
    )
  )
