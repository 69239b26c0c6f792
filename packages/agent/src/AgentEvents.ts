/**
 * The events that an agent writes into its session.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"
import { AgentMessage, MessageSource, TextBlock } from "./AgentMessage.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * A turn begins; `source` is that of the message that opened it. Turns count from 1. `by: "call"`: no message opened it but a call
 * from outside, which may be the user's next word or go on with the last.
 *
 * @since 0.1.0
 * @category events
 */
export const TurnStart = EventTypes.make(
  "turn/start",
  Schema.Struct({ turn: Count, source: MessageSource, by: optional(Schema.Literal("call")) }),
  { bracket: "open" }
)

/**
 * Why a turn ended. `interrupted` is written when a session resumes after its process died in the middle of one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TurnEndReason = Schema.Union(
  Schema.Struct({ kind: Schema.Literal("completed") }),
  Schema.Struct({ kind: Schema.Literal("aborted"), cause: Schema.String }),
  Schema.Struct({
    kind: Schema.Literal("error"),
    error: Schema.Struct({ code: Schema.String, message: Schema.String })
  }),
  Schema.Struct({ kind: Schema.Literal("interrupted") }),
  Schema.Struct({ kind: Schema.Literal("step-limit"), maxSteps: Count })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type TurnEndReason = typeof TurnEndReason.Type

/**
 * The cause of a turn that was aborted because its agent was disposed, rather than by somebody who wanted it to end.
 *
 * @since 0.1.0
 * @category constants
 */
export const disposedCause = "the agent was disposed"

/**
 * @since 0.1.0
 * @category events
 */
export const TurnEnd = EventTypes.make("turn/end", Schema.Struct({ turn: Count, reason: TurnEndReason }), {
  bracket: "close"
})

/**
 * One model request and its tool calls begins. Steps count from 1 in each turn.
 *
 * @since 0.1.0
 * @category events
 */
export const StepStart = EventTypes.make("step/start", Schema.Struct({ turn: Count, step: Count }))

/**
 * @since 0.1.0
 * @category events
 */
export const StepEnd = EventTypes.make("step/end", Schema.Struct({ turn: Count, step: Count }))

/**
 * A message that a turn claimed: from here on it is part of what the model reads.
 *
 * @since 0.1.0
 * @category events
 */
export const UserMessage = EventTypes.make("user/message", AgentMessage)

/**
 * What the provider wants to see again with a block, such as a signature.
 */
const BlockOptions = optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/**
 * What a model answered: text, reasoning, calls of tools with the input as it was received.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AssistantBlock = Schema.Union(
  TextBlock,
  Schema.Struct({ type: Schema.Literal("reasoning"), text: Schema.String, options: BlockOptions }),
  Schema.Struct({
    type: Schema.Literal("tool-call"),
    callId: Schema.String,
    name: Schema.String,
    input: Schema.Unknown,
    options: BlockOptions
  })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type AssistantBlock = typeof AssistantBlock.Type

/**
 * Tokens of one model request; `null` where the provider did not say.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Usage = Schema.Struct({
  inputTokens: Schema.NullOr(Schema.Number),
  outputTokens: Schema.NullOr(Schema.Number),
  totalTokens: optional(Schema.Number),
  reasoningTokens: optional(Schema.Number),
  cachedInputTokens: optional(Schema.Number)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Usage = typeof Usage.Type

/**
 * The model's whole answer to one request. `route` names the model.
 *
 * @since 0.1.0
 * @category events
 */
export const AssistantMessage = EventTypes.make(
  "assistant/message",
  Schema.Struct({
    id: Schema.String,
    turn: Count,
    step: Count,
    route: Schema.String,
    content: Schema.Array(AssistantBlock),
    finishReason: Schema.String,
    usage: Usage
  })
)

/**
 * A call is about to run, with its raw input as received.
 *
 * @since 0.1.0
 * @category events
 */
export const ToolCall = EventTypes.make(
  "tool/call",
  Schema.Struct({ callId: Schema.String, turn: Count, step: Count, name: Schema.String, input: Schema.Unknown })
)

/**
 * The answer to a call: a value or an error, and the text that the model reads.
 *
 * @since 0.1.0
 * @category events
 */
export const ToolResult = EventTypes.make(
  "tool/result",
  Schema.Struct({
    callId: Schema.String,
    name: Schema.String,
    ok: Schema.Boolean,
    value: optional(Schema.Unknown),
    error: optional(Schema.Struct({ code: Schema.String, message: Schema.String })),
    text: Schema.String,
    truncated: optional(Schema.Boolean)
  })
)

/**
 * The lists of an inbox: `nextTurn` messages each open a turn of their own; `nextStep` ones join the next step of whatever turn.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InboxList = Schema.Literal("nextTurn", "nextStep")

/**
 * @since 0.1.0
 * @category schemas
 */
export type InboxList = typeof InboxList.Type

/**
 * The inbox changed: messages were inserted, claimed by a turn, or discarded.
 *
 * @since 0.1.0
 * @category events
 */
export const InboxSpliced = EventTypes.make(
  "agent/inbox/spliced",
  Schema.Struct({
    list: InboxList,
    op: Schema.Literal("insert", "claim", "discard"),
    messages: optional(Schema.Array(AgentMessage)),
    ids: optional(Schema.Array(Schema.String)),
    turn: optional(Count)
  })
)

/**
 * Everything through `throughSeq` is replaced, for the model, by `summary`; `kept` names messages that stay as they were. `usage`
 * is what the requests for the summary cost, where a model wrote it.
 *
 * @since 0.1.0
 * @category events
 */
export const ContextCompacted = EventTypes.make(
  "context/compacted",
  Schema.Struct({
    throughSeq: Count,
    summary: Schema.String,
    kept: Schema.Array(Schema.String),
    usage: optional(Usage)
  })
)

/**
 * Every event type of this package.
 *
 * @since 0.1.0
 * @category events
 */
export const all: ReadonlyArray<EventTypes.AnyEventType> = [
  TurnStart,
  TurnEnd,
  StepStart,
  StepEnd,
  UserMessage,
  AssistantMessage,
  ToolCall,
  ToolResult,
  InboxSpliced,
  ContextCompacted
]
