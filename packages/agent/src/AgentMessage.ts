/**
 * Messages that reach an agent, and where they came from. The source travels into the log and decides what counts as human
 * input.
 *
 * @since 0.1.0
 */
import * as Instant from "@afterturn/session-log/Instant"
import { Count, SessionId } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"

/**
 * A block of text.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TextBlock = Schema.Struct({ type: Schema.Literal("text"), text: Schema.String })

/**
 * What a message is made of.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MessageContent = Schema.Array(TextBlock)

/**
 * @since 0.1.0
 * @category schemas
 */
export type MessageContent = typeof MessageContent.Type

/**
 * Where a message came from: a person; jobs that settled; due reminders; the next round of a goal; another agent; the system.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MessageSource = Schema.Union(
  Schema.Struct({ kind: Schema.Literal("user") }),
  Schema.Struct({ kind: Schema.Literal("job-notice"), jobs: Schema.Array(Schema.String) }),
  Schema.Struct({
    kind: Schema.Literal("reminder"),
    occurrences: Schema.Array(Schema.Struct({ id: Schema.String, occurrenceAt: Instant.Instant }))
  }),
  Schema.Struct({ kind: Schema.Literal("goal-round"), goalId: Schema.String, revision: Count, round: Count }),
  Schema.Struct({ kind: Schema.Literal("agent"), sessionId: SessionId }),
  Schema.Struct({ kind: Schema.Literal("system") })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type MessageSource = typeof MessageSource.Type

/**
 * A message in an agent's inbox, or claimed from it. Ids are `msg-N`, never reused in a session.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentMessage = Schema.Struct({ id: Schema.String, source: MessageSource, content: MessageContent })

/**
 * @since 0.1.0
 * @category schemas
 */
export type AgentMessage = typeof AgentMessage.Type

/**
 * A message on its way in: the agent gives it its id.
 *
 * @since 0.1.0
 * @category models
 */
export type NewMessage = Omit<AgentMessage, "id">

/**
 * A message of one text block.
 *
 * @since 0.1.0
 * @category constructors
 */
export const text = (source: MessageSource, body: string): NewMessage => ({
  source,
  content: [{ type: "text", text: body }]
})

/**
 * What a person says.
 *
 * @since 0.1.0
 * @category constructors
 */
export const user = (body: string): NewMessage => text({ kind: "user" }, body)

/**
 * The text of a message, its blocks joined by line breaks.
 *
 * @since 0.1.0
 * @category accessors
 */
export const toText = (content: MessageContent): string => content.map((block) => block.text).join("\n")
