/**
 * The folds of the ledger: which jobs there are, of which ends nobody has been told, and how far the wake budget is spent.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { dataOf } from "@afterturn/agent/AgentLog"
import * as Instant from "@afterturn/session-log/Instant"
import * as Projection from "@afterturn/session-log/Projection"
import { Count, type SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { isTerminal, type JobId, JobProcess, JobStatus, TerminalStatus } from "./Job.js"
import * as JobEvents from "./JobEvents.js"

/** How many finished jobs the ledger's snapshot keeps; older ones are read from the log. */
const recentCapacity = 100

/**
 * A job that has started and not settled, as the log knows it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const OpenJob = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  label: Schema.String,
  startedAt: Instant.Instant,
  outputLimitBytes: Schema.NullOr(Count),
  process: Schema.NullOr(JobProcess),
  reason: Schema.NullOr(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type OpenJob = typeof OpenJob.Type

/**
 * A job that has settled. `told`: its owner has seen its end.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FinishedJob = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  label: Schema.String,
  startedAt: Instant.Instant,
  finishedAt: Instant.Instant,
  status: TerminalStatus,
  detail: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type FinishedJob = typeof FinishedJob.Type

/**
 * The ledger of a session's own jobs.
 *
 * - `open`: started, not settled, in start order
 * - `untold`: settled, and neither a claimed notice nor a tool's answer has said so, in the order of their ends
 * - `recent`: the newest settled ones, oldest first; `finished` counts all
 * - `cursors`: how many bytes of output the model has read
 * - `wakes`: turns that notices opened since the user last spoke, the last at `lastWakeAt`; `muted` once the log says so
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ledger = Schema.Struct({
  open: Schema.Record({ key: Schema.String, value: OpenJob }),
  untold: Schema.Record({ key: Schema.String, value: FinishedJob }),
  recent: Schema.Array(FinishedJob),
  finished: Count,
  cursors: Schema.Record({ key: Schema.String, value: Count }),
  wakes: Count,
  lastWakeAt: Schema.NullOr(Instant.Instant),
  muted: Schema.Boolean
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Ledger = typeof Ledger.Type

/**
 * @since 0.1.0
 * @category projections
 */
export const ledger: Projection.Projection<Ledger, typeof Ledger.Encoded> = Projection.make({
  key: "jobs",
  version: 1,
  schema: Ledger,
  initial: {
    open: {},
    untold: {},
    recent: [],
    finished: 0,
    cursors: {},
    wakes: 0,
    lastWakeAt: null,
    muted: false
  } as Ledger,
  types: [
    ...JobEvents.all.map(({ type }) => type),
    AgentEvents.TurnStart.type,
    AgentEvents.UserMessage.type,
    AgentEvents.ToolResult.type
  ],
  apply: (current, event) => transition(current, event)
})

const transition = (current: Ledger, event: SessionEvent): Ledger => {
  switch (event.type) {
    case JobEvents.JobStart.type:
      return started(current, event)
    case JobEvents.JobKillRequested.type: {
      const { id, reason } = dataOf(JobEvents.JobKillRequested, event)
      const open = current.open[id]
      return open === undefined
        ? current
        : { ...current, open: { ...current.open, [id]: { ...open, reason: reason ?? open.reason } } }
    }
    case JobEvents.JobSettle.type:
      return settled(current, event)
    case JobEvents.JobWakesMuted.type:
      return { ...current, muted: true }
    case AgentEvents.TurnStart.type:
      return dataOf(AgentEvents.TurnStart, event).source.kind === "job-notice"
        ? { ...current, wakes: current.wakes + 1, lastWakeAt: event.time }
        : current
    case AgentEvents.UserMessage.type:
      return claimed(current, event)
    case AgentEvents.ToolResult.type:
      return answered(current, event)
    default:
      return current
  }
}

const started = (current: Ledger, event: SessionEvent): Ledger => {
  const { id, kind, label, outputLimitBytes, process } = dataOf(JobEvents.JobStart, event)
  const open: OpenJob = {
    id,
    kind,
    label,
    startedAt: event.time,
    outputLimitBytes: outputLimitBytes ?? null,
    process: process ?? null,
    reason: null
  }
  return { ...current, open: { ...current.open, [id]: open } }
}

const settled = (current: Ledger, event: SessionEvent): Ledger => {
  const { detail, finishedAt, id, reason, startedAt, status } = dataOf(JobEvents.JobSettle, event)
  const open = current.open[id]
  if (open === undefined) return current
  const finished: FinishedJob = {
    id,
    kind: open.kind,
    label: open.label,
    startedAt,
    finishedAt,
    status,
    detail: detail ?? null,
    reason: reason ?? null
  }
  return {
    ...current,
    open: Record.remove(current.open, id),
    untold: { ...current.untold, [id]: finished },
    recent: [...current.recent, finished].slice(-recentCapacity),
    finished: current.finished + 1
  }
}

/** A claimed notice tells of its jobs; a claimed word of the user restores the wake budget. */
const claimed = (current: Ledger, event: SessionEvent): Ledger => {
  const { source } = dataOf(AgentEvents.UserMessage, event)
  if (source.kind === "job-notice") return told(current, source.jobs)
  return source.kind === "user" && (current.wakes > 0 || current.muted)
    ? { ...current, wakes: 0, lastWakeAt: null, muted: false }
    : current
}

/**
 * An answer of a tool that shows where a job stands: `{ job_id, status, cursor? }` in its value, or a list of them as `jobs`.
 */
const answered = (current: Ledger, event: SessionEvent): Ledger => {
  const { name, value } = dataOf(AgentEvents.ToolResult, event)
  if (!tellingTools.has(name) || !Predicate.hasProperty(value, "job_id") || typeof value.job_id !== "string") return current
  const id = value.job_id
  const read = Predicate.hasProperty(value, "cursor") && typeof value.cursor === "number" ? value.cursor : undefined
  const moved = read === undefined ? current : { ...current, cursors: { ...current.cursors, [id]: read } }
  return Predicate.hasProperty(value, "status") && isStatus(value.status) && isTerminal(value.status)
    ? told(moved, [id])
    : moved
}

const isStatus = Schema.is(JobStatus)

/** The tools whose answers show the status of one job. A list only names jobs: it tells of no end. */
const tellingTools: ReadonlySet<string> = new Set(["job_output", "job_kill", "bash", "terminal_send", "subagent"])

const told = (current: Ledger, ids: ReadonlyArray<string>): Ledger => {
  const news = ids.filter((id) => id in current.untold)
  return news.length === 0
    ? current
    : { ...current, untold: news.reduce((untold, id) => Record.remove(untold, id), current.untold) }
}

/**
 * Numbers by kind of job.
 *
 * @since 0.1.0
 * @category models
 */
export type Counters = { readonly [kind: string]: number }

/**
 * The last number given out for each kind, also in the history that a fork took over: none comes twice.
 *
 * @since 0.1.0
 * @category projections
 */
export const counters: Projection.Projection<Counters> = Projection.make({
  key: "job-counters",
  version: 1,
  schema: Schema.Record({ key: Schema.String, value: Count }),
  initial: {} as Counters,
  history: "inherited",
  types: [JobEvents.JobStart.type],
  apply: (current, event) => {
    if (event.type !== JobEvents.JobStart.type) return current
    const { id, kind } = dataOf(JobEvents.JobStart, event)
    return { ...current, [kind]: Math.max(current[kind] ?? 0, jobNumber(id)) }
  }
})

/**
 * The N of `<kind>-N`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const jobNumber = (id: JobId): number => Number(id.slice(id.lastIndexOf("-") + 1))
