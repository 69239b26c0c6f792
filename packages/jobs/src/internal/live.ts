import type { Instant } from "@afterturn/session-log/Instant"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import type * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import type { JobId, JobKind, JobProcess, JobSnapshot, JobStatus, TerminalStatus } from "../Job.js"
import type { JobSpool } from "../JobSpool.js"
import type { JobsOptions } from "../JobsConfig.js"
import type { Progress } from "./progress.js"
import { makeProgress } from "./progress.js"
import type { Decoder } from "./utf8.js"

/**
 * What a job came to, before that is stored.
 */
export interface Outcome {
  readonly status: TerminalStatus
  readonly detail: string | undefined
}

/**
 * What is known of a job. Of a finished one this is all that is kept. Mutable fields change in one synchronous step each.
 */
export interface JobRecord {
  readonly id: JobId
  readonly kind: JobKind
  readonly label: string
  readonly owner: SessionId | undefined
  readonly outputLimitBytes: number
  readonly startedAt: Instant
  /** Its place among its owner's jobs: ids of several kinds have no common order. */
  readonly order: number
  status: JobStatus
  detail: string | undefined
  reason: string | undefined
  finishedAt: Instant | undefined
  /** Bytes of output; `undefined`: of an earlier run and not looked up yet. */
  size: number | undefined
  /** Bytes of output that the owner has read. */
  cursor: number
  /** Where the text begins that came with the end, if one did. */
  finalFrom: number | undefined
  /** Of an earlier run, and nothing is kept of its output. */
  expired: boolean
  /** How many collect its end. */
  collectors: number
  /** One reader of the cursor at a time. */
  reading: Effect.Semaphore | undefined
  /** Absent once it is settled, and for a job that this process does not run. */
  running: Running | undefined
}

/**
 * What a job needs while it runs.
 */
export interface Running {
  /** Not looked up by its id later: another agent of the session may have taken its place. */
  readonly owner: Owner
  /** Called once the end is stored. */
  readonly waiters: Set<() => void>
  /** Rings with each write and with the end. */
  readonly progress: Progress
  /** Holds the bytes of a character that has not come whole. */
  decoder: Decoder | undefined
  /** The first half of a surrogate pair whose second has not come. */
  halfPair: string
  /** The first outcome wins, in the synchronous step that sets this: whatever the fiber still does is dropped. */
  decided: Outcome | undefined
  /** Somebody asked for the end, so that nobody else needs to. */
  killed: boolean
  /** The interruption may be asked for before the fiber exists. */
  interrupted: boolean
  /** Bytes written since it last let others run. */
  burst: number
  /** Its first lost output was logged. */
  lossLogged: boolean
  /** It did not stop in time and still runs. */
  rogue: boolean
  fiber: Fiber.RuntimeFiber<void> | undefined
  /** Runs out when the job has not stopped in time. */
  timer: Fiber.RuntimeFiber<void> | undefined
}

/**
 * Why and by whom jobs are asked to end.
 */
export interface StopRequest {
  readonly reason: string | undefined
  readonly by: string
}

/**
 * The jobs of one live agent, or those that nobody owns.
 */
export interface Owner {
  readonly id: SessionId | undefined
  /** Holds the fibers of jobs. */
  readonly jobs: Scope.CloseableScope
  /** Holds the fibers that look after jobs; these always stop. */
  readonly helpers: Scope.CloseableScope
  /** What counts against the limit, in start order; `undefined`: a place taken by a start that is under way. */
  readonly active: Map<string, JobRecord | undefined>
  /** The newest finished ones, in the order of their ends. */
  readonly finished: Map<string, JobRecord>
  /** The last number given out, by kind. */
  readonly counters: Map<string, number>
  orders: number
  /** Fibers that did not stop in time and still run. */
  rogues: number
  /** Set once it is being closed: nothing is started any more, and what runs is stopped for this reason. */
  closing: StopRequest | undefined
  /** Done when no job is active, from the moment the owner is closed. */
  readonly quiet: Deferred.Deferred<void>
  readonly disposed: Deferred.Deferred<void>
}

/**
 * What the functions of the local job runtime share.
 */
export interface Runtime {
  readonly config: JobsOptions
  readonly log: Context.Tag.Service<SessionLog>
  readonly projections: Context.Tag.Service<Projections>
  readonly spool: Context.Tag.Service<JobSpool>
  readonly owners: Map<SessionId, Owner>
  readonly unowned: Owner
  readonly controllers: Set<(owner: SessionId | undefined) => boolean>
  readonly reapers: Map<string, (process: JobProcess) => Effect.Effect<string>>
  readonly completions: PubSub.PubSub<JobSnapshot>
  readonly changes: PubSub.PubSub<SessionId | undefined>
}

export const makeOwner = (id: SessionId | undefined): Effect.Effect<Owner> =>
  Effect.gen(function* () {
    return {
      id,
      // All are asked to stop at once: one that does not must not keep the others from being asked.
      jobs: yield* Scope.make(ExecutionStrategy.parallel),
      helpers: yield* Scope.make(ExecutionStrategy.parallel),
      active: new Map(),
      finished: new Map(),
      counters: new Map(),
      orders: 0,
      rogues: 0,
      closing: undefined,
      quiet: Deferred.unsafeMake<void>(FiberId.none),
      disposed: Deferred.unsafeMake<void>(FiberId.none)
    }
  })

export const makeRunning = (owner: Owner): Running => ({
  owner,
  waiters: new Set(),
  progress: makeProgress(),
  decoder: undefined,
  halfPair: "",
  decided: undefined,
  killed: false,
  interrupted: false,
  burst: 0,
  lossLogged: false,
  rogue: false,
  fiber: undefined,
  timer: undefined
})

/** Says that no job is active, to whoever closes the owner. */
export const signalQuiet = (owner: Owner): void => {
  if (owner.closing !== undefined && owner.active.size === 0) Deferred.unsafeDone(owner.quiet, Effect.void)
}

/** Asks a job's fiber to end; one that does not exist yet learns of it when it does. */
export const interrupt = (running: Running): void => {
  running.interrupted = true
  running.fiber?.unsafeInterruptAsFork(FiberId.none)
}

export const snapshotOf = (job: JobRecord): JobSnapshot => {
  const size = job.size ?? 0
  return {
    id: job.id,
    kind: job.kind,
    label: job.label,
    owner: job.owner,
    status: job.status,
    detail: job.detail,
    reason: job.reason,
    startedAt: job.startedAt,
    finishedAt: job.finishedAt,
    foreground: job.collectors > 0,
    outputBytes: size,
    unreadBytes: job.expired || job.cursor >= size ? 0 : size - (job.finalFrom ?? job.cursor)
  }
}

export const didNotStop: Outcome = { status: "failed", detail: "did not stop" }

/** A fiber that ignores its interruption: its job ends without it. */
export const goesOn = (owner: Owner, running: Running): void => {
  running.rogue = true
  owner.rogues++
}
