import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { AgentExtensions } from "@afterturn/agent/Agents"
import { EventTypes } from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { JobId, JobSnapshot } from "../Job.js"
import { labelLine } from "../Job.js"
import * as JobEvents from "../JobEvents.js"
import { JobSpool } from "../JobSpool.js"
import type { Caller, Jobs } from "../Jobs.js"
import { JobsConfig } from "../JobsConfig.js"
import { find, inMemory, list } from "./find.js"
import type { JobRecord, Runtime } from "./live.js"
import { makeOwner, snapshotOf } from "./live.js"
import * as Output from "./output.js"
import { attach, dispose } from "./owner.js"
import { hasUnknownSize, learnSize, read } from "./read.js"
import { start } from "./start.js"
import { stop } from "./stop.js"
import { awaitEnd } from "./wait.js"

type Service = Context.Tag.Service<Jobs>

/** How far a listener may fall behind. */
const announcementCapacity = 16_384

export const make: Effect.Effect<
  Service,
  never,
  SessionLog | Projections | EventTypes | AgentExtensions | JobSpool | JobsConfig | Scope.Scope
> = Effect.gen(function* () {
  const types = yield* EventTypes
  // With what the ledger folds, so that a session can be read where no agent runs.
  yield* types.register(...JobEvents.all, AgentEvents.TurnStart, AgentEvents.UserMessage, AgentEvents.ToolResult)
  const runtime: Runtime = {
    config: yield* JobsConfig,
    log: yield* SessionLog,
    projections: yield* Projections,
    spool: yield* JobSpool,
    owners: new Map(),
    unowned: yield* makeOwner(undefined),
    controllers: new Set(),
    reapers: new Map(),
    completions: yield* PubSub.sliding<JobSnapshot>(announcementCapacity),
    changes: yield* PubSub.sliding<SessionId | undefined>(announcementCapacity)
  }
  yield* Effect.addFinalizer(() => close(runtime))
  const extensions = yield* AgentExtensions
  yield* extensions.register((agent) => attach(runtime, agent))
  return makeService(runtime)
})

/** Agents may outlive this layer: their places are closed all the same. */
const close = (runtime: Runtime): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach(
      [runtime.unowned, ...runtime.owners.values()],
      (owner) => dispose(runtime, owner, { reason: "the host stopped", by: "host" }),
      { concurrency: "unbounded", discard: true }
    )
  ).pipe(Effect.zipRight(PubSub.shutdown(runtime.completions)), Effect.zipRight(PubSub.shutdown(runtime.changes)))

const makeService = (runtime: Runtime): Service => ({
  start: (spec) => start(runtime, spec),
  list: Effect.fn("Jobs.list")((caller: Caller) =>
    Effect.flatMap(list(runtime, caller), (jobs) =>
      Effect.as(
        Effect.forEach(jobs.filter(hasUnknownSize), (job) => learnSize(runtime, job), {
          concurrency: 8,
          discard: true
        }),
        jobs
      )
    ).pipe(Effect.map((jobs) => jobs.map(snapshotOf)))
  ),
  get: (id, caller) => Effect.flatMap(find(runtime, id, caller), (job) => shown(runtime, job)),
  read: Effect.fn("Jobs.read")((id: string, caller: Caller, options?: { readonly reserveBytes?: number }) =>
    Effect.flatMap(find(runtime, id, caller), (job) => read(runtime, job, options?.reserveBytes ?? 0))
  ),
  output: (id, caller, options) =>
    Stream.unwrap(
      Effect.map(
        Effect.tap(find(runtime, id, caller), (job) => learnSize(runtime, job)),
        (job) => Output.follow(runtime, job, offsetOf(options?.from))
      )
    ),
  kill: Effect.fn("Jobs.kill")((id: string, caller: Caller, options?: KillOptions) =>
    kill(runtime, id, caller, options)
  ),
  wait: (id, timeout, caller) => wait(runtime, id, timeout, caller),
  foreground: (id, caller) => collect(runtime, id, caller, 1),
  background: (id, caller) => collect(runtime, id, caller, -1),
  isForeground: (id, caller) => Effect.sync(() => (inMemory(runtime, id, caller)?.collectors ?? 0) > 0),
  completions: Stream.fromPubSub(runtime.completions),
  changes: Stream.fromPubSub(runtime.changes),
  attachController: (_name, serves = everyone) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          // A function of its own, so that two controllers with the same rule are two.
          const controller = (owner: SessionId | undefined) => serves(owner)
          runtime.controllers.add(controller)
          return controller
        }),
        (controller) => Effect.sync(() => runtime.controllers.delete(controller))
      )
    ),
  registerReaper: (kind, reap) => Effect.sync(() => void runtime.reapers.set(kind, reap))
})

const everyone = () => true

const offsetOf = (from: number | undefined): number =>
  from !== undefined && Number.isSafeInteger(from) && from > 0 ? from : 0

const shown = (runtime: Runtime, job: JobRecord): Effect.Effect<JobSnapshot> =>
  Effect.map(learnSize(runtime, job), () => snapshotOf(job))

interface KillOptions {
  readonly reason?: string
  readonly by?: string
}

const kill = (runtime: Runtime, id: string, caller: Caller, options?: KillOptions): ReturnType<Service["kill"]> =>
  Effect.gen(function* () {
    const job = yield* find(runtime, id, caller)
    const request = { reason: options?.reason, by: options?.by ?? (caller === undefined ? "host" : "owner") }
    if (job.finishedAt !== undefined) {
      return { answer: "already-finished" as const, snapshot: yield* shown(runtime, job) }
    }
    if (job.running !== undefined) yield* stop(runtime, job.running.owner, [job], request)
    else if (job.owner !== undefined) {
      const { by, reason } = request
      const line = reason === undefined ? {} : { reason: labelLine(reason) }
      yield* runtime.log.append(job.owner, [JobEvents.JobKillRequested.make({ id: job.id, ...line, by })])
    }
    return { answer: "cancellation-requested" as const, snapshot: yield* shown(runtime, job) }
  })

const wait = (
  runtime: Runtime,
  id: string,
  timeout: Duration.DurationInput,
  caller: Caller
): ReturnType<Service["wait"]> =>
  Effect.gen(function* () {
    const job = yield* find(runtime, id, caller)
    const isElsewhere = job.running === undefined && job.finishedAt === undefined
    yield* awaitEnd(runtime, job, timeout)
    return yield* shown(runtime, isElsewhere ? yield* find(runtime, id, caller) : job)
  })

/** Whoever delivers notices hears of it as a change. */
const collect = (runtime: Runtime, id: JobId, caller: Caller, by: 1 | -1): Effect.Effect<void> =>
  Effect.suspend(() => {
    const job = inMemory(runtime, id, caller)
    if (job === undefined) return Effect.void
    const before = job.collectors
    job.collectors = Math.max(0, before + by)
    return before > 0 === job.collectors > 0 ? Effect.void : Effect.asVoid(PubSub.publish(runtime.changes, job.owner))
  })
