import * as AgentLoop from "@afterturn/agent/AgentLoop"
import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import { Jobs, layerLocal } from "@afterturn/jobs/Jobs"
import type { JobsOptions } from "@afterturn/jobs/JobsConfig"
import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Host from "@afterturn/session-log/Host"
import { Projections } from "@afterturn/session-log/Projection"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import { layer as layerLog, SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore, SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as MemoryStore from "@afterturn/session-log/SessionStore/Memory"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Agents_ from "../../support/agents.js"
import * as FakeModel from "../../support/FakeModel.js"

export const s1 = "s1" as SessionId
export const s2 = "s2" as SessionId

/** Jobs over agents on a memory log; `log` may wrap the log that jobs write to. */
export const layer = (
  options?: Partial<JobsOptions>,
  more?: {
    readonly log?: Layer.Layer<SessionLog, never, SessionLog>
    readonly projections?: Layer.Layer<Projections, never, Projections>
    readonly spool?: Layer.Layer<JobSpool.JobSpool>
  }
) =>
  layerLocal.pipe(
    Layer.provideMerge(Layer.orDie(JobsConfig.layer(options))),
    Layer.provideMerge(more?.spool ?? JobSpool.layerMemory()),
    Layer.provideMerge(more?.projections ?? Layer.context<Projections>()),
    Layer.provideMerge(Agents_.layer(FakeModel.replies().layer, undefined, more?.log))
  )

/** A live agent in the test's scope, with a controller that serves everybody. */
export const alive = (id: SessionId = s1) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const jobs = yield* Jobs
    yield* jobs.attachController("test")
    return yield* agents.create({ id })
  })

/** An agent whose scope the test closes: `close` is its disposal. */
export const disposable = (id: SessionId = s1) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const scope = yield* Scope.make()
    const isThere = yield* agents.create({ id }).pipe(
      Scope.extend(scope),
      Effect.catchTag("SessionExists", () => Scope.extend(agents.resume(id), scope))
    )
    return { agent: isThere, close: Scope.close(scope, Exit.void) }
  })

/** A job that runs until `release`, and says when it began and when its finalizer ran. */
export const held = (owner: SessionId | null = s1, facts?: Partial<Job.JobFacts>) => {
  const began = Deferred.unsafeMake<void>(FiberId.none)
  const released = Deferred.unsafeMake<Job.JobResult>(FiberId.none)
  const finalized = Deferred.unsafeMake<void>(FiberId.none)
  const spec = Job.make({ kind: "work", label: "held", ...(owner === null ? {} : { owner }), ...facts }, () =>
    Effect.addFinalizer(() => Deferred.succeed(finalized, undefined)).pipe(
      Effect.zipRight(Deferred.succeed(began, undefined)),
      Effect.zipRight(Deferred.await(released))
    )
  )
  return {
    spec,
    began: Deferred.await(began),
    finalized: Deferred.isDone(finalized),
    release: (text?: string) => Deferred.succeed(released, text)
  }
}

/** A job that ignores its interruption until `release`. */
export const stubborn = (owner: SessionId | null = s1, kind = "rogue") => {
  const released = Deferred.unsafeMake<void>(FiberId.none)
  return {
    spec: Job.make({ kind, label: "stubborn", ...(owner === null ? {} : { owner }) }, () =>
      Effect.uninterruptible(Deferred.await(released))
    ),
    release: Deferred.succeed(released, undefined)
  }
}

/** A job that writes what it is told to. */
export const writer = (owner: SessionId | null = s1, facts?: Partial<Job.JobFacts>) => {
  const context = Deferred.unsafeMake<Job.JobContext>(FiberId.none)
  const released = Deferred.unsafeMake<Job.JobResult>(FiberId.none)
  return {
    spec: Job.make({ kind: "work", label: "writes", ...(owner === null ? {} : { owner }), ...facts }, (job) =>
      Effect.zipRight(Deferred.succeed(context, job), Deferred.await(released))
    ),
    write: (chunk: string | Uint8Array) => Effect.flatMap(Deferred.await(context), (job) => job.write(chunk)),
    context: Deferred.await(context),
    release: (text?: string) => Deferred.succeed(released, text)
  }
}

/** Lets every fiber that can go on do so. */
export const turns = Effect.repeatN(Effect.yieldNow(), 50)

/** What a stream gives from here on. */
export const listen = <A>(stream: Stream.Stream<A>) =>
  Effect.gen(function* () {
    const seen: Array<A> = []
    yield* Effect.forkScoped(Stream.runForEach(stream, (item) => Effect.sync(() => seen.push(item))))
    yield* turns
    return seen
  })

/** The ends that are announced from here on. */
export const completions = Effect.flatMap(Jobs, (jobs) => listen(jobs.completions))

export const jobEvents = (id: SessionId = s1) =>
  Effect.map(Agents_.events(id), (all) => all.filter(({ type }) => type.startsWith("job/")))

export const jobEventTypes = (id: SessionId = s1) =>
  Effect.map(jobEvents(id), (all) => all.map(({ data, type }) => `${type} ${(data as { readonly id: string }).id}`))

/** A log whose appends run `before` first, and then perhaps not at all. */
export const interceptAppends = (
  before: (events: ReadonlyArray<EventInput>) => Effect.Effect<void, AppendError>
): Layer.Layer<SessionLog, never, SessionLog> =>
  Layer.effect(
    SessionLog,
    Effect.map(SessionLog, (log) => ({
      ...log,
      append: (id, events, options) => Effect.zipRight(before(events), log.append(id, events, options))
    }))
  )

/** A log that can be told to refuse events of jobs, by whichever way they are appended. */
export const moody = () => {
  const mood: { error: AppendError | undefined; refused: number } = { error: undefined, refused: 0 }
  const check = (events: ReadonlyArray<EventInput>) =>
    Effect.suspend(() => {
      if (mood.error === undefined || !events.some(({ type }) => type.startsWith("job/"))) return Effect.void
      mood.refused++
      return Effect.fail(mood.error)
    })
  const projections = Layer.effect(
    Projections,
    Effect.map(Projections, (inner) => ({
      ...inner,
      decide: (id, projection, decide) =>
        inner.decide(id, projection, (current) =>
          Effect.flatMap(decide(current), (decision) => Effect.as(check(decision.events), decision))
        )
    }))
  )
  return { mood, below: { log: interceptAppends(check), projections } }
}

export const full = new SessionStoreError({ reason: "full", message: "no space left" })

/**
 * A host over a store that others share. `dead` are the pids that it knows to be dead: their leases are free for it. Closing the scope
 * is an orderly end; leaving it open and making another host that knows this one to be dead is a crash.
 */
export const makeHost = (
  store: (typeof SessionStore)["Service"],
  pid: number,
  options?: {
    readonly jobs?: Partial<JobsOptions>
    readonly spool?: Layer.Layer<JobSpool.JobSpool>
    readonly dead?: ReadonlySet<number>
    readonly log?: Layer.Layer<SessionLog, never, SessionLog>
  }
) =>
  layerLocal.pipe(
    Layer.provideMerge(Layer.orDie(JobsConfig.layer(options?.jobs))),
    Layer.provideMerge(options?.spool ?? JobSpool.layerMemory()),
    Layer.provideMerge(AgentLoop.layerRuntime()),
    Layer.provideMerge(FakeModel.replies().layer),
    Layer.provideMerge(options?.log ?? Layer.context<SessionLog>()),
    Layer.provideMerge(layerLog({ pollInterval: Duration.infinity, leaseTtl: Duration.infinity })),
    Layer.provide(
      Layer.succeed(Host.Host, {
        self: { host: "machine", bootId: "boot", pid, startedAt: "0" },
        isDead: (other) => Effect.succeed(options?.dead?.has(other.pid) ?? false)
      })
    ),
    Layer.provideMerge(Layer.merge(EventTypes.layer, Layer.succeed(SessionStore, store))),
    Layer.build
  )

/** A store that outlives hosts. */
export const sharedStore = Effect.map(Layer.build(MemoryStore.layer), (context) => Context.get(context, SessionStore))
