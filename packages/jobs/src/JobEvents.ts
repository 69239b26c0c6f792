/**
 * The events of the ledger of jobs.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Instant from "@afterturn/session-log/Instant"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"
import { JobId, JobProcess, TerminalStatus } from "./Job.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * A job runs. `process` is what a later host needs to find what a dead one left behind.
 *
 * @since 0.1.0
 * @category events
 */
export const JobStart = EventTypes.make(
  "job/start",
  Schema.Struct({
    id: JobId,
    kind: Schema.String,
    label: Schema.String,
    outputLimitBytes: optional(Count),
    process: optional(JobProcess)
  })
)

/**
 * A job was asked to end, by whom and why. `by` is `model`, `user`, `owner`, `host` or `cancelled-call`; others may come.
 *
 * @since 0.1.0
 * @category events
 */
export const JobKillRequested = EventTypes.make(
  "job/kill-requested",
  Schema.Struct({ id: JobId, reason: optional(Schema.String), by: Schema.String })
)

/**
 * `by` of a request that a call makes which waited for the job's end and was cancelled: who cancelled it knows, so that the end needs
 * no notice.
 *
 * @since 0.1.0
 * @category constants
 */
export const byCancelledCall = "cancelled-call"

/**
 * A job ended: its one transition to a terminal status. It is also the obligation to tell the owner.
 *
 * @since 0.1.0
 * @category events
 */
export const JobSettle = EventTypes.make(
  "job/settle",
  Schema.Struct({
    id: JobId,
    status: TerminalStatus,
    detail: optional(Schema.String),
    reason: optional(Schema.String),
    startedAt: Instant.Instant,
    finishedAt: Instant.Instant
  })
)

/**
 * The wake budget is spent: notices of these jobs wait for something else to open a turn.
 *
 * @since 0.1.0
 * @category events
 */
export const JobWakesMuted = EventTypes.make(
  "job/wakes-muted",
  Schema.Struct({ budget: Count, pending: Schema.Array(JobId) })
)

/**
 * Every event type of this package.
 *
 * @since 0.1.0
 * @category events
 */
export const all: ReadonlyArray<EventTypes.AnyEventType> = [JobStart, JobKillRequested, JobSettle, JobWakesMuted]
