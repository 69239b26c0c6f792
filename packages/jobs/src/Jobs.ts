/**
 * Background jobs: supervised fibers that outlive the call that started them.
 *
 * @since 0.1.0
 */
import type { AgentExtensions } from "@afterturn/agent/Agents"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError, SessionLog } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import { make } from "./internal/service.js"
import type { JobId, JobProcess, JobSnapshot, JobSpec } from "./Job.js"
import * as JobSpool from "./JobSpool.js"
import type { InvalidJobsConfig, JobsOptions } from "./JobsConfig.js"
import * as JobsConfig from "./JobsConfig.js"
import type { JobNotFound, StartError } from "./JobsError.js"

export { InvalidJobSpec, JobLimitReached, JobNotFound, JobUncontrolled, type StartError } from "./JobsError.js"

/**
 * Output and status of a job as one read gives them.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobRead {
  readonly snapshot: JobSnapshot
  /** What is new since the owner's last read, or, of a job that ended with a final output, that output, each time. */
  readonly output: string
  /** Bytes between the cursor and `output` that are left out: no longer kept, or more than one answer may hold. */
  readonly droppedBytes: number
  /** Where the owner's cursor stands now, in bytes of output. */
  readonly cursor: number
  /** UTF-8 bytes that an answer about this job may have, status line included. */
  readonly limitBytes: number
  /** Nothing is kept of the output of this job, if it had any. */
  readonly expired: boolean
}

/**
 * A piece of output at its byte offset.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputChunk {
  readonly offset: number
  readonly text: string
  /** Bytes before this piece that are no longer kept. */
  readonly droppedBytes: number
}

/**
 * Who calls: a session, or nobody in particular (a person at the command line of the host).
 *
 * @since 0.1.0
 * @category models
 */
export type Caller = SessionId | undefined

/**
 * @since 0.1.0
 * @category tags
 */
export class Jobs extends Context.Tag("@afterturn/jobs/Jobs")<
  Jobs,
  {
    /**
     * Starts a job in a fiber of its own, which belongs to the owner's agent. The caller may end; the job goes on. The seed's
     * `ctx.jobs.start`.
     */
    readonly start: <Prepared, E, R>(
      spec: JobSpec<Prepared, E, R>
    ) => Effect.Effect<JobSnapshot, E | StartError, Exclude<R, Scope.Scope>>

    /**
     * The caller's jobs and those without an owner, in start order; of finished ones the newest, as many as are kept
     * (`keepFinished`). The jobs of a session that has no agent here are shown as its log has them.
     */
    readonly list: (caller: Caller) => Effect.Effect<ReadonlyArray<JobSnapshot>, ReadError>

    /**
     * One job. A finished one that is not among the newest is read from the log; one without an owner is gone then.
     */
    readonly get: (id: string, caller: Caller) => Effect.Effect<JobSnapshot, JobNotFound | ReadError>

    /**
     * What is new in a job's output since the owner's last read, or its final output. Reading a terminal job counts as being told
     * of its end, once the answer is logged. Jobs that have fallen out of the ledger keep no cursor: reading one twice gives the same.
     * `reserveBytes` of the answer's limit are kept free for what the caller adds.
     */
    readonly read: (
      id: string,
      caller: Caller,
      options?: { readonly reserveBytes?: number }
    ) => Effect.Effect<JobRead, JobNotFound | ReadError>

    /**
     * Output from a byte offset (default 0), then what follows, to the end of the job. Consumes nothing, and is pulled: a slow reader
     * keeps nothing in memory, but may miss what the spool drops.
     */
    readonly output: (
      id: string,
      caller: Caller,
      options?: { readonly from?: number }
    ) => Stream.Stream<OutputChunk, JobNotFound | ReadError>

    /**
     * Asks a job to end, and says whether there was anything to ask; the end itself is for `wait`. A store that fails keeps no job of
     * this host from being stopped. An open job of a session that has no agent here is asked by an event only, which fails when
     * another host drives the session.
     */
    readonly kill: (
      id: string,
      caller: Caller,
      options?: { readonly reason?: string; readonly by?: string }
    ) => Effect.Effect<
      { readonly answer: "cancellation-requested" | "already-finished"; readonly snapshot: JobSnapshot },
      JobNotFound | ReadError | AppendError
    >

    /**
     * The snapshot at the end of a job, or the live one when the timeout comes first; 0 asks without waiting. Interrupting a wait ends
     * only the wait.
     */
    readonly wait: (
      id: string,
      timeout: Duration.DurationInput,
      caller: Caller
    ) => Effect.Effect<JobSnapshot, JobNotFound | ReadError>

    /**
     * Somebody collects this job's end and will log it with a tool's answer: no notice is needed of it, and none wakes its owner.
     * `background` takes that back, also after the end; several may collect. A job begins that way when its spec says `foreground`.
     */
    readonly foreground: (id: JobId, caller: Caller) => Effect.Effect<void>

    /** Nobody collects this job's end any more: it is told like any other's. */
    readonly background: (id: JobId, caller: Caller) => Effect.Effect<void>

    /** Whether somebody collects this job's end. `false` also for jobs that this process does not keep. */
    readonly isForeground: (id: JobId, caller: Caller) => Effect.Effect<boolean>

    /**
     * Each end of a job, once, after it is stored: the seed's `onJobDone`. From the moment of subscription; a listener that falls
     * 16,384 ends behind misses the oldest, and finds them in the ledger.
     */
    readonly completions: Stream.Stream<JobSnapshot>

    /** The owner whose visible jobs changed (`undefined`: those without one): the seed's `onJobsChanged`. As `completions`. */
    readonly changes: Stream.Stream<SessionId | undefined>

    /** Says, for as long as the scope is open, that something can collect and stop jobs of these owners (default: all). */
    readonly attachController: (
      name: string,
      serves?: (owner: SessionId | undefined) => boolean
    ) => Effect.Effect<void, never, Scope.Scope>

    /**
     * How to deal with a process that a dead host left behind, by kind of job: ends it when it is provably that process, and says
     * in words what became of it.
     */
    readonly registerReaper: (kind: string, reap: (process: JobProcess) => Effect.Effect<string>) => Effect.Effect<void>
  }
>() {}

/**
 * Jobs of this process, with their ledger in the session log. Each agent that comes alive gets a place for its jobs, which its
 * disposal stops and waits for; so does closing the layer, for all of them.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerLocal: Layer.Layer<
  Jobs,
  never,
  SessionLog | Projections | EventTypes | AgentExtensions | JobSpool.JobSpool | JobsConfig.JobsConfig
> = Layer.scoped(Jobs, make)

/**
 * `layerLocal` with its configuration, and output kept in memory.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<JobsOptions> & { readonly maxSpoolBytes?: number }
): Layer.Layer<
  Jobs | JobSpool.JobSpool | JobsConfig.JobsConfig,
  InvalidJobsConfig,
  SessionLog | Projections | EventTypes | AgentExtensions
> => {
  const { maxSpoolBytes, ...limits } = options ?? {}
  return layerLocal.pipe(
    Layer.provideMerge(JobSpool.layerMemory(maxSpoolBytes === undefined ? {} : { maxSpoolBytes })),
    Layer.provideMerge(JobsConfig.layer(limits))
  )
}
