import type { Instant } from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import type { Projections } from "@afterturn/session-log/Projection"
import type * as Context from "effect/Context"
import type * as Deferred from "effect/Deferred"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import { type JobId, type JobKind, type JobProcess, type JobSnapshot, type JobStatus, type TerminalStatus } from "../Job.js"
import type { JobsOptions } from "../JobsConfig.js"
import type { JobSpool } from "../JobSpool.js"

/**
 * How a job ended, before the end is stored.
 */
export interface Outcome {
  readonly status: TerminalStatus
  readonly detail: string | undefined
}

/**
 * A job that this process runs, or one of the newest that it ran. Mutable fields change in one synchronous step each.
 */
export interface LiveJob {
  readonly id: JobId
  readonly kind: JobKind
  readonly label: string
  readonly owner: SessionId | undefined
  readonly outputLimitBytes: number
  readonly startedAt: Instant
  /** First wins: what the job came to. */
  readonly outcome: Deferred.Deferred<Outcome>
  /** Done once the end is stored: waiters go by it. */
  readonly settled: Deferred.Deferred<JobSnapshot>
  /** Grows with each write and with the end: readers wait for it to change. */
  readonly progress: Progress
  /** Holds the bytes of a character that has not come whole. */
  decoder: TextDecoder | undefined
  status: JobStatus
  detail: string | undefined
  reason: string | undefined
  finishedAt: Instant | undefined
  /** Bytes of output written. */
  size: number
  /** Bytes of output that the owner has read. */
  cursor: number
  /** Its output is one text that came with its end. */
  finalOutput: boolean
  foreground: boolean
  fiber: Fiber.RuntimeFiber<void> | undefined
}

/**
 * Wakes whoever waits for a job to change. Run `listen` before looking at the job, and what it gives to wait for the next change.
 */
export interface Progress {
  readonly listen: Effect.Effect<Effect.Effect<void>>
  readonly signal: () => void
}

/**
 * The jobs of one live owner, or those that nobody owns.
 */
export interface Owner {
  readonly id: SessionId | undefined
  readonly scope: Scope.CloseableScope
  readonly jobs: Map<string, LiveJob>
  readonly counters: Map<string, number>
  active: number
  closed: boolean
}

/**
 * What the functions of the local job runtime share.
 */
export interface Runtime {
  readonly config: JobsOptions
  readonly log: Context.Tag.Service<SessionLog>
  readonly projections: Context.Tag.Service<Projections>
  readonly spool: Context.Tag.Service<JobSpool>
  readonly owners: Map<SessionId | undefined, Owner>
  readonly controllers: Set<(owner: SessionId | undefined) => boolean>
  readonly reapers: Map<string, (process: JobProcess) => Effect.Effect<string>>
  readonly completions: PubSub.PubSub<JobSnapshot>
  readonly changes: PubSub.PubSub<SessionId | undefined>
}

export const snapshotOf = (job: LiveJob): JobSnapshot => ({
  id: job.id,
  kind: job.kind,
  label: job.label,
  owner: job.owner,
  status: job.status,
  detail: job.detail,
  reason: job.reason,
  startedAt: job.startedAt,
  finishedAt: job.finishedAt,
  outputBytes: job.size,
  unreadBytes: job.finalOutput ? (job.cursor === 0 ? job.size : 0) : Math.max(0, job.size - job.cursor)
})

