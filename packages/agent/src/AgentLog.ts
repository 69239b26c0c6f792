/**
 * The folds behind an agent: where its session stands, what waits in its inbox, and which numbers are used up.
 *
 * @since 0.1.0
 */

import type * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"
import * as AgentEvents from "./AgentEvents.js"
import { AgentMessage, MessageSource } from "./AgentMessage.js"

/**
 * A call that the model made in the open step. `started` once its `tool/call` is logged, `answered` once its result is.
 *
 * @since 0.1.0
 * @category schemas
 */
export const OpenCall = Schema.Struct({
  callId: Schema.String,
  name: Schema.String,
  started: Schema.Boolean,
  answered: Schema.Boolean
})

/**
 * A turn that has begun and not ended. `answered` once it holds an `assistant/message`; until then `claimed` may go back to the
 * inbox.
 *
 * @since 0.1.0
 * @category schemas
 */
export const OpenTurn = Schema.Struct({
  turn: Count,
  source: MessageSource,
  step: Schema.NullOr(Count),
  answered: Schema.Boolean,
  claimed: Schema.Array(AgentMessage),
  calls: Schema.Array(OpenCall)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type OpenTurn = typeof OpenTurn.Type

/**
 * Where a session stands.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentState = Schema.Struct({
  open: Schema.NullOr(OpenTurn),
  nextTurn: Schema.Array(AgentMessage),
  nextStep: Schema.Array(AgentMessage)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type AgentState = typeof AgentState.Type

const initialState: AgentState = { open: null, nextTurn: [], nextStep: [] }

/**
 * Where a session stands. A fork begins with nothing open and an empty inbox: its parent's are history.
 *
 * @since 0.1.0
 * @category projections
 */
export const state: Projection.Projection<AgentState, typeof AgentState.Encoded> = Projection.make({
  key: "agent",
  version: 1,
  schema: AgentState,
  initial: initialState,
  types: [
    AgentEvents.TurnStart.type,
    AgentEvents.TurnEnd.type,
    AgentEvents.StepStart.type,
    AgentEvents.StepEnd.type,
    AgentEvents.UserMessage.type,
    AgentEvents.AssistantMessage.type,
    AgentEvents.ToolCall.type,
    AgentEvents.ToolResult.type,
    AgentEvents.InboxSpliced.type
  ],
  apply: (current, event) => transition(current, event)
})

const transition = (current: AgentState, event: SessionEvent): AgentState => {
  switch (event.type) {
    case AgentEvents.InboxSpliced.type:
      return splice(current, dataOf(AgentEvents.InboxSpliced, event))
    case AgentEvents.TurnStart.type: {
      const { source, turn } = dataOf(AgentEvents.TurnStart, event)
      return { ...current, open: { turn, source, step: null, answered: false, claimed: [], calls: [] } }
    }
    case AgentEvents.TurnEnd.type:
      return current.open === null ? current : { ...current, open: null }
    default:
      return current.open === null ? current : withinTurn(current, current.open, event)
  }
}

const withinTurn = (current: AgentState, open: OpenTurn, event: SessionEvent): AgentState => {
  switch (event.type) {
    case AgentEvents.StepStart.type:
      return { ...current, open: { ...open, step: dataOf(AgentEvents.StepStart, event).step } }
    case AgentEvents.StepEnd.type:
      return { ...current, open: { ...open, step: null, calls: [] } }
    case AgentEvents.UserMessage.type:
      return { ...current, open: { ...open, claimed: [...open.claimed, dataOf(AgentEvents.UserMessage, event)] } }
    case AgentEvents.AssistantMessage.type: {
      const { content } = dataOf(AgentEvents.AssistantMessage, event)
      const calls = content.flatMap((block) =>
        block.type === "tool-call" ? [{ callId: block.callId, name: block.name, started: false, answered: false }] : []
      )
      return { ...current, open: { ...open, answered: true, claimed: [], calls: [...open.calls, ...calls] } }
    }
    case AgentEvents.ToolCall.type:
      return { ...current, open: markCall(open, dataOf(AgentEvents.ToolCall, event).callId, { started: true }) }
    case AgentEvents.ToolResult.type:
      return { ...current, open: markCall(open, dataOf(AgentEvents.ToolResult, event).callId, { answered: true }) }
    default:
      return current
  }
}

const markCall = (open: OpenTurn, callId: string, change: Partial<typeof OpenCall.Type>): OpenTurn => ({
  ...open,
  calls: open.calls.map((call) => (call.callId === callId ? { ...call, ...change } : call))
})

const splice = (
  current: AgentState,
  change: Schema.Schema.Type<typeof AgentEvents.InboxSpliced.schema>
): AgentState => {
  const gone = new Set(change.ids ?? [])
  const list = current[change.list]
  return {
    ...current,
    [change.list]:
      change.op === "insert" ? [...list, ...(change.messages ?? [])] : list.filter((message) => !gone.has(message.id))
  }
}

/**
 * Whether a waiting message opens a turn by itself when its session resumes. Queued turns do; what was handed to a next step does
 * when somebody waits for an answer to it.
 *
 * @since 0.1.0
 * @category predicates
 */
export const opensTurn = (list: AgentEvents.InboxList, { source }: AgentMessage): boolean =>
  list === "nextTurn" || source.kind === "user" || source.kind === "agent" || source.kind === "reminder"

/**
 * The last numbers that were given out, also in the history that a fork took over, so that none comes twice.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Counters = Schema.Struct({ turn: Count, message: Count })

/**
 * @since 0.1.0
 * @category projections
 */
export const counters: Projection.Projection<typeof Counters.Type, typeof Counters.Encoded> = Projection.make({
  key: "agent-counters",
  version: 1,
  schema: Counters,
  initial: { turn: 0, message: 0 },
  history: "inherited",
  types: [AgentEvents.TurnStart.type, AgentEvents.InboxSpliced.type],
  apply: (current, event) => {
    if (event.type === AgentEvents.TurnStart.type) {
      return { ...current, turn: Math.max(current.turn, dataOf(AgentEvents.TurnStart, event).turn) }
    }
    if (event.type !== AgentEvents.InboxSpliced.type) return current
    const numbers = (dataOf(AgentEvents.InboxSpliced, event).messages ?? []).map((message) => messageNumber(message.id))
    const message = Math.max(current.message, ...numbers)
    return message === current.message ? current : { ...current, message }
  }
})

/**
 * Where the history that a model reads begins: the newest `context/compacted`, which stands at `seq`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Compacted = Schema.NullOr(
  Schema.Struct({ seq: Count, throughSeq: Count, kept: Schema.Array(Schema.String) })
)

/**
 * A fork goes on from the summary that its history holds.
 *
 * @since 0.1.0
 * @category projections
 */
export const compacted: Projection.Projection<typeof Compacted.Type, typeof Compacted.Encoded> = Projection.make({
  key: "agent-compacted",
  version: 1,
  schema: Compacted,
  initial: null,
  history: "inherited",
  types: [AgentEvents.ContextCompacted.type],
  apply: (current, event) => {
    if (event.type !== AgentEvents.ContextCompacted.type) return current
    const { kept, throughSeq } = dataOf(AgentEvents.ContextCompacted, event)
    return { seq: event.seq, throughSeq, kept }
  }
})

/**
 * The id of a session's N-th message.
 *
 * @since 0.1.0
 * @category conversions
 */
export const messageId = (number: number): string => `msg-${number}`

const messageNumber = (id: string): number => {
  const number = /^msg-(\d{1,15})$/.exec(id)?.[1]
  return number === undefined ? 0 : Number(number)
}

/**
 * The data of an event whose type was just compared. It does not decode: projections are only given events that their registered
 * types accept, an append's own events were checked by it, and none of these Schemas transforms.
 *
 * @since 0.1.0
 * @category accessors
 */
export const dataOf = <Type extends string, A, I>(
  _type: EventTypes.EventType<Type, A, I>,
  event: Pick<SessionEvent, "data">
): A => event.data as A
