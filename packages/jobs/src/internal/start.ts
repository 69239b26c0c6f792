import * as Instant from "@afterturn/session-log/Instant"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import { type JobContext, type JobFacts, JobId, type JobProcess, type JobSnapshot, type JobSpec, labelLine } from "../Job.js"
import * as JobEvents from "../JobEvents.js"
import { InvalidJobSpec, JobLimitReached, JobUncontrolled, type StartError } from "../JobsError.js"
import { type LiveJob, type Outcome, type Owner, type Runtime, snapshotOf } from "./live.js"
import { write } from "./output.js"
import { makeProgress } from "./progress.js"
import { supervise } from "./settle.js"

/**
 * Starts a job: checks, a place and an id, what the job holds, its event, its fiber. Until the event is stored all of it can be taken
 * back, and is.
 */
export const start = <Held, E, R>(
  runtime: Runtime,
  spec: JobSpec<Held, E, R>
): Effect.Effect<JobSnapshot, E | StartError, Exclude<R, Scope.Scope>> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { id, owner } = yield* admit(runtime, spec)
      const scope = yield* Scope.make()
      const { held, startedAt } = yield* restore(Scope.extend(spec.prepare(id), scope)).pipe(
        Effect.bind("startedAt", ({ process }) => record(runtime, spec, id, process)),
        Effect.onExit((exit) =>
          Exit.isSuccess(exit)
            ? Effect.void
            : Effect.ensuring(Scope.close(scope, exit), Effect.sync(() => giveBack(owner, spec.kind, id)))
        )
      )
      const job = makeJob(runtime, spec, id, startedAt)
      owner.jobs.set(id, job)
      const work = Scope.extend(Effect.suspend(() => spec.run(contextOf(runtime, job), held)), scope)
      job.fiber = yield* Effect.forkIn(supervise(runtime, owner, job, work, scope), owner.scope)
      yield* PubSub.publish(runtime.changes, job.owner)
      return snapshotOf(job)
    })
  )

/** Preflight, then a place and an id, in one synchronous step: no other start slips in between. */
const admit = (
  runtime: Runtime,
  facts: JobFacts
): Effect.Effect<{ readonly owner: Owner; readonly id: JobId }, StartError> =>
  Effect.suspend((): Effect.Effect<{ readonly owner: Owner; readonly id: JobId }, StartError> => {
    const problem = problemOf(facts)
    if (problem !== undefined) return new InvalidJobSpec({ code: "invalid_job", reason: problem })
    const owner = runtime.owners.get(facts.owner)
    if (owner === undefined || owner.closed || ![...runtime.controllers].some((serves) => serves(facts.owner))) {
      return new JobUncontrolled({ code: "job_uncontrolled", owner: facts.owner ?? null })
    }
    const limit = runtime.config.maxConcurrentJobsPerOwner
    if (owner.active >= limit) {
      const active = [...owner.jobs.values()].filter((job) => job.finishedAt === undefined).map((job) => job.id)
      return new JobLimitReached({ code: "job_limit_reached", limit, active })
    }
    owner.active++
    const number = (owner.counters.get(facts.kind) ?? 0) + 1
    owner.counters.set(facts.kind, number)
    return Effect.succeed({ owner, id: JobId.make(`${facts.owner === undefined ? "host-" : ""}${facts.kind}-${number}`) })
  })

const problemOf = (facts: JobFacts): string | undefined => {
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(facts.kind)) {
    return `expected a kind of lower-case letters, digits and "_", got ${JSON.stringify(facts.kind)}`
  }
  if (facts.label.trim() === "") return "expected a label of at least one character"
  const limit = facts.outputLimitBytes
  return limit === undefined || (Number.isSafeInteger(limit) && limit > 0)
    ? undefined
    : `expected outputLimitBytes to be a positive integer, got ${limit}`
}

/** An id that nobody has seen may be given out again, unless a later one was. */
const giveBack = (owner: Owner, kind: string, id: JobId): void => {
  owner.active--
  const number = owner.counters.get(kind) ?? 0
  if (id.endsWith(`-${number}`)) owner.counters.set(kind, number - 1)
}

const record = (
  runtime: Runtime,
  facts: JobFacts,
  id: JobId,
  process: JobProcess | undefined
): Effect.Effect<Instant.Instant, AppendError> =>
  facts.owner === undefined
    ? Instant.now
    : Effect.flatMap(
      runtime.log.append(facts.owner, [
        JobEvents.JobStart.make({
          id,
          kind: facts.kind,
          label: labelLine(facts.label),
          ...(facts.outputLimitBytes === undefined ? {} : { outputLimitBytes: facts.outputLimitBytes }),
          ...(process === undefined ? {} : { process })
        })
      ]),
      ([event]) => (event === undefined ? Instant.now : Effect.succeed(event.time))
    )

const makeJob = (runtime: Runtime, facts: JobFacts, id: JobId, startedAt: Instant.Instant): LiveJob => ({
  id,
  kind: facts.kind,
  label: labelLine(facts.label),
  owner: facts.owner,
  outputLimitBytes: facts.outputLimitBytes ?? runtime.config.outputLimitBytes,
  startedAt,
  outcome: Deferred.unsafeMake<Outcome>(FiberId.none),
  settled: Deferred.unsafeMake<JobSnapshot>(FiberId.none),
  progress: makeProgress(),
  decoder: undefined,
  status: "running",
  detail: undefined,
  reason: undefined,
  finishedAt: undefined,
  size: 0,
  cursor: 0,
  finalOutput: false,
  foreground: facts.foreground ?? false,
  fiber: undefined
})

const contextOf = (runtime: Runtime, job: LiveJob): JobContext => ({
  id: job.id,
  write: (chunk) => write(runtime, job, chunk),
  setDetail: (detail) =>
    Effect.sync(() => {
      job.detail = labelLine(detail)
    }),
  killReason: Effect.sync(() => job.reason)
})
