/**
 * The folds behind subagents: which ones a session has, and how far an agent has come.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { dataOf } from "@afterturn/agent/AgentLog"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import { JobId, JobStatus } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import type * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Instant from "@afterturn/session-log/Instant"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { Count, SessionId } from "@afterturn/session-log/SessionEvent"
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { SubagentRun } from "./SubagentEvents.js"

/**
 * A subagent as its parent's log knows it: `job` is the newest of its `runs`, `status` and `detail` are that job's.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Child = Schema.Struct({
  id: SessionId,
  label: Schema.String,
  startedAt: Instant.Instant,
  runs: Count,
  job: JobId,
  status: JobStatus,
  detail: Schema.NullOr(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Child = typeof Child.Type

/**
 * The subagents of a session, by id, in the order in which they came; `open` has the jobs that run, with the agent of each. `wakes`:
 * turns that their messages have opened since somebody else (a person, the session's own parent) spoke.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Children = Schema.Struct({
  agents: Schema.Record({ key: Schema.String, value: Child }),
  open: Schema.Record({ key: Schema.String, value: SessionId }),
  wakes: Count
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Children = typeof Children.Type

/**
 * The subagents of a session. A fork has none: those of its history are its parent's.
 *
 * @since 0.1.0
 * @category projections
 */
export const children: Projection.Projection<Children, typeof Children.Encoded> = Projection.make({
  key: "subagents",
  version: 2,
  schema: Children,
  initial: { agents: {}, open: {}, wakes: 0 } as Children,
  types: [
    SubagentRun.type,
    JobEvents.JobKillRequested.type,
    JobEvents.JobSettle.type,
    AgentEvents.TurnStart.type,
    AgentEvents.UserMessage.type
  ],
  apply: (current, event) => {
    switch (event.type) {
      case SubagentRun.type:
        return ran(current, event)
      case JobEvents.JobKillRequested.type:
        return moved(current, { ...dataOf(JobEvents.JobKillRequested, event), status: "stopping" }, false)
      case JobEvents.JobSettle.type:
        return moved(current, dataOf(JobEvents.JobSettle, event), true)
      case AgentEvents.TurnStart.type:
        return isFromBelow(current, dataOf(AgentEvents.TurnStart, event).source)
          ? { ...current, wakes: current.wakes + 1 }
          : current
      case AgentEvents.UserMessage.type:
        return current.wakes > 0 && isFromAbove(current, dataOf(AgentEvents.UserMessage, event).source)
          ? { ...current, wakes: 0 }
          : current
      default:
        return current
    }
  }
})

const isFromBelow = (current: Children, source: MessageSource): boolean =>
  source.kind === "agent" && childOf(current, source.sessionId) !== undefined

/** Agents reach their children and their parent only. */
const isFromAbove = (current: Children, source: MessageSource): boolean =>
  source.kind === "user" || (source.kind === "agent" && childOf(current, source.sessionId) === undefined)

const ran = (current: Children, event: SessionEvent): Children => {
  const { agentId, jobId, label } = dataOf(SubagentRun, event)
  const before = childOf(current, agentId)
  const child: Child = {
    id: agentId,
    label,
    startedAt: before?.startedAt ?? event.time,
    runs: (before?.runs ?? 0) + 1,
    job: jobId,
    status: "running",
    detail: null
  }
  return {
    ...current,
    agents: { ...current.agents, [agentId]: child },
    open: { ...current.open, [jobId]: agentId }
  }
}

/** The job of a run has moved on; an older run of the same agent says nothing about it any more. */
const moved = (
  current: Children,
  { detail, id, status }: { readonly id: JobId; readonly status: JobStatus; readonly detail?: string },
  isOver: boolean
): Children => {
  const agentId = Record.has(current.open, id) ? current.open[id] : undefined
  if (agentId === undefined) return current
  const open = isOver ? Record.remove(current.open, id) : current.open
  const child = childOf(current, agentId)
  if (child === undefined || child.job !== id) return { ...current, open }
  const next: Child = { ...child, status, detail: detail ?? child.detail }
  return { ...current, agents: { ...current.agents, [agentId]: next }, open }
}

/**
 * A session's own subagent of that id.
 *
 * @since 0.1.0
 * @category accessors
 */
export const childOf = (current: Children, id: string): Child | undefined =>
  Record.has(current.agents, id) ? current.agents[id] : undefined

/**
 * How far an agent has come: its `turns`, how the last one ended, the newest text of its model and the seq of that, and the tokens that
 * its requests took, as far as the provider said.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Progress = Schema.Struct({
  turns: Count,
  end: Schema.NullOr(Schema.Struct({ seq: Count, reason: AgentEvents.TurnEndReason })),
  text: Schema.NullOr(Schema.Struct({ seq: Count, text: Schema.String })),
  inputTokens: Schema.Number,
  outputTokens: Schema.Number
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Progress = typeof Progress.Type

/**
 * @since 0.1.0
 * @category projections
 */
export const progress: Projection.Projection<Progress, typeof Progress.Encoded> = Projection.make({
  key: "subagent-progress",
  version: 1,
  schema: Progress,
  initial: { turns: 0, end: null, text: null, inputTokens: 0, outputTokens: 0 } as Progress,
  types: [AgentEvents.TurnStart.type, AgentEvents.TurnEnd.type, AgentEvents.AssistantMessage.type],
  apply: (current, event) => {
    switch (event.type) {
      case AgentEvents.TurnStart.type:
        return { ...current, turns: current.turns + 1 }
      case AgentEvents.TurnEnd.type:
        return { ...current, end: { seq: event.seq, reason: dataOf(AgentEvents.TurnEnd, event).reason } }
      case AgentEvents.AssistantMessage.type:
        return answered(current, event)
      default:
        return current
    }
  }
})

const answered = (current: Progress, event: SessionEvent): Progress => {
  const { content, usage } = dataOf(AgentEvents.AssistantMessage, event)
  const text = content.flatMap((block) => (block.type === "text" && block.text !== "" ? [block.text] : [])).join("\n")
  return {
    ...current,
    text: text === "" ? current.text : { seq: event.seq, text },
    inputTokens: current.inputTokens + (usage.inputTokens ?? 0),
    outputTokens: current.outputTokens + (usage.outputTokens ?? 0)
  }
}

/**
 * The event types that these folds read.
 *
 * @since 0.1.0
 * @category events
 */
export const eventTypes: ReadonlyArray<EventTypes.AnyEventType> = [
  SubagentRun,
  JobEvents.JobKillRequested,
  JobEvents.JobSettle,
  AgentEvents.TurnStart,
  AgentEvents.TurnEnd,
  AgentEvents.UserMessage,
  AgentEvents.AssistantMessage
]
