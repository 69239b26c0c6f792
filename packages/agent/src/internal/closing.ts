import type { EventInput } from "@afterturn/session-log/SessionEvent"
import * as AgentEvents from "../AgentEvents.js"
import type { AgentState, OpenTurn } from "../AgentLog.js"
import type { AgentMessage } from "../AgentMessage.js"
import * as ToolPipeline from "../ToolPipeline.js"

/**
 * The events that end an open turn which did not end by itself: an answer to each open call, the end of the step, what goes back
 * to the inbox, the end of the turn. One atomic append, whether the turn is aborted live or found open after a crash.
 */
export const closeOpenTurn = (
  open: OpenTurn,
  reason: AgentEvents.TurnEndReason,
  driven: Driven
): ReadonlyArray<EventInput> => [
  ...open.calls
    .filter((call) => !call.answered)
    .map((call) =>
      AgentEvents.ToolResult.make(call.started ? ToolPipeline.outcomeUnknown(call) : ToolPipeline.notStarted(call))
    ),
  ...(open.step === null ? [] : [AgentEvents.StepEnd.make({ turn: open.turn, step: open.step })]),
  ...putBack(open, driven),
  AgentEvents.TurnEnd.make({ turn: open.turn, reason })
]

/**
/**
 * Who drives a turn: a model, which reads all that the log holds, or a client outside, which has only what reached it.
 */
export type Driven = "by-model" | "from-outside"

/**
 * A turn that ends before the model answered has delivered nothing: what the user did not say himself goes back under its id, to
 * be claimed by whatever turn comes next. To a client it has not delivered what the client has not shown to have read. A goal's round
 * is over with its turn: its goal decides whether another one opens.
 */
const putBack = (open: OpenTurn, driven: Driven): ReadonlyArray<EventInput> => {
  const unanswered = open.answered ? [] : open.claimed.filter(({ source }) => source.kind !== "user")
  const unread = driven === "from-outside" ? open.claimed : unanswered
  const messages = unread.filter(({ source }) => source.kind !== "goal-round")
  return messages.length === 0
    ? []
    : [AgentEvents.InboxSpliced.make({ list: "nextStep", op: "insert", messages, turn: open.turn })]
}

/**
 * The events that a person's cancel adds: what the user and goal rounds had queued is discarded; notices, reminders and messages of
 * other agents stay.
 */
export const discardQueued = (state: AgentState): ReadonlyArray<EventInput> => discard(state, isCancellable)

/**
 * The events that take waiting messages out of the inbox.
 */
export const discard = (state: AgentState, which: (message: AgentMessage) => boolean): ReadonlyArray<EventInput> =>
  (["nextTurn", "nextStep"] as const).flatMap((list) => {
    const ids = state[list].filter(which).map((message) => message.id)
    return ids.length === 0 ? [] : [AgentEvents.InboxSpliced.make({ list, op: "discard", ids })]
  })

const isCancellable = (message: AgentMessage): boolean =>
  message.source.kind === "user" || message.source.kind === "goal-round"

/**
 * The events by which a turn claims messages: a splice for each list, and the messages as what the model reads.
 */
export const claim = (
  turn: number,
  messages: { readonly nextTurn: ReadonlyArray<AgentMessage>; readonly nextStep: ReadonlyArray<AgentMessage> }
): { readonly splices: ReadonlyArray<EventInput>; readonly messages: ReadonlyArray<EventInput> } => ({
  splices: (["nextStep", "nextTurn"] as const).flatMap((list) =>
    messages[list].length === 0
      ? []
      : [AgentEvents.InboxSpliced.make({ list, op: "claim", ids: messages[list].map(({ id }) => id), turn })]
  ),
  messages: [...messages.nextStep, ...messages.nextTurn].map((message) => AgentEvents.UserMessage.make(message))
})
