import type { Instant } from "@afterturn/session-log/Instant"
import { now } from "@afterturn/session-log/Instant"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import type { JobContext, JobFacts, JobId, JobProcess, JobSnapshot, JobSpec } from "../Job.js"
import { labelLine } from "../Job.js"
import { JobStart } from "../JobEvents.js"
import type { StartError } from "../JobsError.js"
import { InvalidJobSpec, JobLimitReached, JobUncontrolled } from "../JobsError.js"
import type { JobRecord, Owner, Running, Runtime } from "./live.js"
import { interrupt, makeRunning, signalQuiet, snapshotOf } from "./live.js"
import * as Metrics from "./metrics.js"
import { outcomeOf } from "./outcome.js"
import * as Output from "./output.js"
import { settle } from "./settle.js"
import { stop } from "./stop.js"

/** What a start has taken and may have to give back. */
interface Place {
  readonly owner: Owner
  readonly id: JobId
  readonly kind: string
  readonly label: string
  readonly order: number
}

/**
 * Starts a job: checks, a place and an id, what the job holds, its event, its fiber. Until the event is stored all of it can be taken
 * back, and is.
 */
export const start = <Held, E, R>(
  runtime: Runtime,
  spec: JobSpec<Held, E, R>
): Effect.Effect<JobSnapshot, E | StartError, Exclude<R, Scope.Scope>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(admit(runtime, spec), (place) =>
      Effect.flatMap(Scope.make(), (scope) => {
        const prepared = Effect.flatMap(restore(Effect.suspend(() => spec.prepare(place.id))), ({ held, ...facts }) =>
          Effect.map(record(runtime, place, spec, facts), (startedAt) => ({ held, startedAt }))
        )
        const started = Effect.matchCauseEffect(prepared, {
          onFailure: (cause) => withdraw(place, scope, cause),
          onSuccess: ({ held, startedAt }) => launch(runtime, place, spec, scope, held, startedAt)
        })
        // Once for both: the fiber of the job begins with what is provided here.
        return Scope.extend(started, scope)
      })
    )
  )

/** Preflight, then a place and an id, in one synchronous step: no other start slips in between. */
const admit = (runtime: Runtime, facts: JobFacts): Effect.Effect<Place, StartError> =>
  Effect.suspend((): Effect.Effect<Place, StartError> => {
    const problem = problemOf(facts)
    if (problem !== undefined) return new InvalidJobSpec({ code: "invalid_job", reason: problem })
    const owner = facts.owner === undefined ? runtime.unowned : runtime.owners.get(facts.owner)
    if (owner === undefined || !isServed(runtime, owner)) return uncontrolled(facts)
    const limit = runtime.config.maxConcurrentJobsPerOwner
    if (owner.active.size >= limit) {
      return new JobLimitReached({ code: "job_limit_reached", limit, active: [...owner.active.keys()] })
    }
    const number = (owner.counters.get(facts.kind) ?? 0) + 1
    const id = idOf(owner, facts.kind, number)
    owner.counters.set(facts.kind, number)
    owner.active.set(id, undefined)
    return Effect.succeed({ owner, id, kind: facts.kind, label: labelLine(facts.label), order: ++owner.orders })
  })

/** An id by construction: the kind was just checked. */
const idOf = (owner: Owner, kind: string, number: number): JobId =>
  `${owner.id === undefined ? "host-" : ""}${kind}-${number}` as JobId

const problemOf = (facts: JobFacts): string | undefined => {
  if (typeof facts.kind !== "string" || !/^[a-z][a-z0-9_]{0,31}$/.test(facts.kind)) {
    return `expected a kind of 1 to 32 lower-case letters, digits and "_", got ${JSON.stringify(facts.kind)}`
  }
  if (typeof facts.label !== "string" || facts.label.trim() === "") {
    return "expected a label of at least one character"
  }
  const limit = facts.outputLimitBytes
  return limit === undefined || (Number.isSafeInteger(limit) && limit > 0)
    ? undefined
    : `expected outputLimitBytes to be a positive integer, got ${limit}`
}

const isServed = (runtime: Runtime, owner: Owner): boolean => {
  if (owner.closing !== undefined) return false
  for (const serves of runtime.controllers) if (serves(owner.id)) return true
  return false
}

const uncontrolled = (facts: JobFacts): JobUncontrolled =>
  new JobUncontrolled({ code: "job_uncontrolled", owner: facts.owner ?? null })

/** An id that nobody has seen may be given out again, unless a later one was. */
const giveBack = ({ id, kind, owner }: Place): void => {
  owner.active.delete(id)
  const number = owner.counters.get(kind) ?? 0
  if (id.endsWith(`-${number}`)) owner.counters.set(kind, number - 1)
  signalQuiet(owner)
}

const record = (
  runtime: Runtime,
  { id, kind, label, owner }: Place,
  facts: JobFacts,
  { events = [], process }: { readonly process?: JobProcess; readonly events?: ReadonlyArray<EventInput> }
): Effect.Effect<Instant, StartError> => {
  if (owner.closing !== undefined) return uncontrolled(facts)
  if (owner.id === undefined) return now
  const event = JobStart.make({
    id,
    kind,
    label,
    ...(facts.outputLimitBytes === undefined ? {} : { outputLimitBytes: facts.outputLimitBytes }),
    ...(process === undefined ? {} : { process })
  })
  return Effect.map(runtime.log.append(owner.id, [event, ...events]), ([stored]) => stored!.time)
}

const makeJob = (
  runtime: Runtime,
  facts: JobFacts,
  { id, kind, label, order, owner }: Place,
  startedAt: Instant,
  running: Running
): JobRecord => ({
  id,
  kind,
  label,
  owner: owner.id,
  outputLimitBytes: facts.outputLimitBytes ?? runtime.config.outputLimitBytes,
  startedAt,
  order,
  status: "running",
  detail: undefined,
  reason: undefined,
  finishedAt: undefined,
  size: undefined,
  cursor: 0,
  finalFrom: undefined,
  expired: false,
  collectors: facts.foreground === true ? 1 : 0,
  reading: undefined,
  running
})

const contextOf = (runtime: Runtime, job: JobRecord, running: Running): JobContext => ({
  id: job.id,
  write: (chunk) => Output.write(runtime, job, running, chunk),
  setDetail: (detail) =>
    Effect.sync(() => {
      if (running.decided === undefined) job.detail = labelLine(detail)
    }),
  killReason: Effect.sync(() => job.reason)
})

/** Nothing was stored: what was taken is given back, once what was acquired is released. */
const withdraw = <E>(place: Place, scope: Scope.CloseableScope, cause: Cause.Cause<E>): Effect.Effect<never, E> =>
  Effect.zipRight(Scope.close(scope, Exit.failCause(cause)), Effect.failCause(cause)).pipe(
    Effect.ensuring(Effect.sync(() => giveBack(place)))
  )

/** From here on the job is there for everybody. Whoever closed the owner meanwhile did not see it. */
const launch = <Held, E, R>(
  runtime: Runtime,
  place: Place,
  spec: JobSpec<Held, E, R>,
  scope: Scope.CloseableScope,
  held: Held,
  startedAt: Instant
): Effect.Effect<JobSnapshot, never, R | Scope.Scope> => {
  const { owner } = place
  const running = makeRunning(owner)
  const job = makeJob(runtime, spec, place, startedAt, running)
  owner.active.set(job.id, job)
  Metrics.onStart()
  const work = Effect.withSpan(
    Effect.suspend(() => spec.run(contextOf(runtime, job, running), held)),
    "Jobs.run",
    spanOf(job)
  )
  return Effect.flatMap(Effect.forkIn(supervise(runtime, owner, job, running, scope, work), owner.jobs), (fiber) => {
    running.fiber = fiber
    if (running.interrupted) interrupt(running)
    const announced = Effect.map(PubSub.publish(runtime.changes, owner.id), () => snapshotOf(job))
    return owner.closing === undefined
      ? announced
      : Effect.zipRight(stop(runtime, owner, [job], owner.closing), announced)
  })
}

/** A job is a span of its own, from its beginning to its end, under the span of who started it. */
const spanOf = ({ id, kind, owner }: JobRecord) => ({
  attributes: { "job.id": id, "job.kind": kind, ...(owner === undefined ? {} : { "session.id": owner }) },
  // Where a job was started from is what its parents tell, and a stack costs more than the rest of a start.
  captureStackTrace: false
})

/** The fiber of a job. Only its work is interruptible: what follows is bounded, and is what everybody waits for. */
const supervise = <R>(
  runtime: Runtime,
  owner: Owner,
  job: JobRecord,
  running: Running,
  scope: Scope.CloseableScope,
  work: Effect.Effect<unknown, unknown, R>
): Effect.Effect<void, never, R> =>
  Effect.flatMap(Effect.exit(Effect.interruptible(work)), (exit) =>
    Effect.flatMap(Effect.exit(Scope.close(scope, exit)), (closed) => {
      const text = Exit.isSuccess(exit) && typeof exit.value === "string" ? exit.value : undefined
      return Effect.flatMap(Output.finish(runtime, job, running, text), () => {
        if (running.rogue) owner.rogues--
        return settle(runtime, owner, job, running, outcomeOf(exit, closed, job.detail))
      })
    })
  )
