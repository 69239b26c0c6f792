/**
 * The folds of the ledger: which jobs there are, of which ends nobody has been told, and how far the wake budget is spent.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { dataOf } from "@afterturn/agent/AgentLog"
import * as Instant from "@afterturn/session-log/Instant"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as HashMap from "effect/HashMap"
import * as Predicate from "effect/Predicate"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { isTerminal, JobId, JobProcess, JobStatus, TerminalStatus } from "./Job.js"
import * as JobEvents from "./JobEvents.js"

/**
 * How many finished jobs the ledger holds; older ones are in the log.
 *
 * @since 0.1.0
 * @category constants
 */
export const recentCapacity = 100

/**
 * A job that has started and not settled, as the log knows it. `stopping`: it was asked to end. `calledOff`: by the call that waited
 * for it, which was cancelled.
 *
 * @since 0.1.0
 * @category schemas
 */
export const OpenJob = Schema.Struct({
  id: JobId,
  kind: Schema.String,
  label: Schema.String,
  startedAt: Instant.Instant,
  outputLimitBytes: Schema.NullOr(Count),
  process: Schema.NullOr(JobProcess),
  stopping: Schema.Boolean,
  calledOff: Schema.Boolean,
  reason: Schema.NullOr(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type OpenJob = typeof OpenJob.Type

/**
 * A job that has settled, by the event `seq`. `calledOff`: after the call that waited for it was cancelled.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FinishedJob = Schema.Struct({
  seq: Count,
  id: JobId,
  kind: Schema.String,
  label: Schema.String,
  startedAt: Instant.Instant,
  finishedAt: Instant.Instant,
  status: TerminalStatus,
  calledOff: Schema.Boolean,
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
 * - `untold`: settled, and neither a claimed notice nor a tool's answer has said so; `untoldJobs` puts them in order. One that was
 *   called off and did end is not among them: whoever cancelled the call knows
 * - `recent`: the newest settled ones, oldest first; `finished` counts all
 * - `cursors`: how many bytes of output the model has read, of jobs in `open` and `recent`
 * - `wakes`: turns that notices opened since the user last spoke, the last at `lastWakeAt`; `muted` once the log says so
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ledger = Schema.Struct({
  open: Schema.Record({ key: Schema.String, value: OpenJob }),
  untold: Schema.HashMap({ key: Schema.String, value: FinishedJob }),
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
  version: 2,
  schema: Ledger,
  initial: {
    open: {},
    untold: HashMap.empty(),
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
    case JobEvents.JobKillRequested.type:
      return asked(current, event)
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
    stopping: false,
    calledOff: false,
    reason: null
  }
  return { ...current, open: { ...current.open, [id]: open } }
}

const asked = (current: Ledger, event: SessionEvent): Ledger => {
  const { by, id, reason } = dataOf(JobEvents.JobKillRequested, event)
  const open = current.open[id]
  if (open === undefined) return current
  const calledOff = open.calledOff || by === JobEvents.byCancelledCall
  const stopping: OpenJob = { ...open, stopping: true, calledOff, reason: reason ?? open.reason }
  return { ...current, open: { ...current.open, [id]: stopping } }
}

const settled = (current: Ledger, event: SessionEvent): Ledger => {
  const { detail, finishedAt, id, reason, startedAt, status } = dataOf(JobEvents.JobSettle, event)
  const open = current.open[id]
  if (open === undefined) return current
  const finished: FinishedJob = {
    seq: event.seq,
    id,
    kind: open.kind,
    label: open.label,
    startedAt,
    finishedAt,
    status,
    calledOff: open.calledOff,
    detail: detail ?? null,
    reason: reason ?? null
  }
  // That it was lost, or did not stop, is more than whoever cancelled the call can know.
  const isKnown = open.calledOff && status !== "failed"
  const [oldest] = current.recent
  const isFull = oldest !== undefined && current.recent.length >= recentCapacity
  return {
    ...current,
    open: Record.remove(current.open, id),
    untold: isKnown ? current.untold : HashMap.set(current.untold, id, finished),
    recent: [...(isFull ? current.recent.slice(1) : current.recent), finished],
    finished: current.finished + 1,
    cursors: isFull ? Record.remove(current.cursors, oldest.id) : current.cursors
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
  if (!tellingTools.has(name) || !Predicate.hasProperty(value, "job_id") || typeof value.job_id !== "string")
    return current
  const id = value.job_id
  const read = Predicate.hasProperty(value, "cursor") && typeof value.cursor === "number" ? value.cursor : undefined
  const isHeld = Record.has(current.open, id) || current.recent.some((job) => job.id === id)
  const moved = read === undefined || !isHeld ? current : { ...current, cursors: { ...current.cursors, [id]: read } }
  return Predicate.hasProperty(value, "status") && isStatus(value.status) && isTerminal(value.status)
    ? told(moved, [id])
    : moved
}

const isStatus = Schema.is(JobStatus)

/** The tools whose answers show the status of one job. A list only names jobs: it tells of no end. */
const tellingTools: ReadonlySet<string> = new Set(["job_output", "job_kill", "bash", "terminal_send", "subagent"])

const told = (current: Ledger, ids: ReadonlyArray<string>): Ledger =>
  ids.some((id) => HashMap.has(current.untold, id))
    ? { ...current, untold: HashMap.removeMany(current.untold, ids) }
    : current

/**
 * The jobs of whose ends nobody has been told, in the order of their ends.
 *
 * @since 0.1.0
 * @category accessors
 */
export const untoldJobs = (current: Ledger): ReadonlyArray<FinishedJob> =>
  [...HashMap.values(current.untold)].sort((one, other) => one.seq - other.seq)

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
    return { ...current, [kind]: Math.max(lastNumber(current, kind), jobNumber(id)) }
  }
})

/**
 * The last number given out for a kind, 0 for none.
 *
 * @since 0.1.0
 * @category accessors
 */
export const lastNumber = (counters: Counters, kind: string): number =>
  // A kind may be named like something that every object has.
  Object.hasOwn(counters, kind) ? (counters[kind] ?? 0) : 0

/**
 * The N of `<kind>-N`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const jobNumber = (id: JobId): number => Number(id.slice(id.lastIndexOf("-") + 1))

/**
 * The kind of `<kind>-N` and of `host-<kind>-N`.
 *
 * @since 0.1.0
 * @category accessors
 */
export const jobKind = (id: JobId): string => id.slice(isUnowned(id) ? "host-".length : 0, id.lastIndexOf("-"))

/**
 * Whether an id is one of a job that nobody owns.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isUnowned = (id: JobId): boolean => id.indexOf("-") !== id.lastIndexOf("-")
