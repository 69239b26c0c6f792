/**
 * What waits for the client, in the forms in which it gets to know: a resource, a block of text beside a tool's result, an
 * announcement.
 *
 * @since 0.1.0
 */
import type { AgentState } from "@afterturn/agent/AgentLog"
import type { AgentMessage } from "@afterturn/agent/AgentMessage"
import { toText } from "@afterturn/agent/AgentMessage"

/**
 * Where the inbox can be read, at any time and without taking anything from it.
 *
 * @since 0.1.0
 * @category constants
 */
export const uri = "afterturn://session/inbox"

/**
 * The messages that wait, in the order in which they will be handed over.
 *
 * @since 0.1.0
 * @category accessors
 */
export const waiting = (state: AgentState): ReadonlyArray<AgentMessage> => [...state.nextStep, ...state.nextTurn]

/**
 * The resource: JSON with each message that waits.
 *
 * @since 0.1.0
 * @category conversions
 */
export const resource = (session: string, state: AgentState): string =>
  JSON.stringify(
    {
      session,
      waiting: (["nextStep", "nextTurn"] as const).flatMap((list) =>
        state[list].map((message) => ({
          id: message.id,
          source: message.source,
          // A message of nextTurn comes alone with its answer, and opens a turn.
          opensTurn: list === "nextTurn",
          text: toText(message.content)
        }))
      )
    },
    undefined,
    2
  )

/**
 * The block of text that hands messages over.
 *
 * @since 0.1.0
 * @category conversions
 */
export const handover = (handed: ReadonlyArray<AgentMessage>, stillWaiting: number): string =>
  [
    handed.length === 1
      ? "A message came for this session. It is not part of the tool's result:"
      : `${handed.length} messages came for this session. They are not part of the tool's result:`,
    ...handed.map((message) => `\n[${label(message)}]\n${toText(message.content)}`),
    ...(stillWaiting === 0 ? [] : [`\n${more(stillWaiting)}`])
  ].join("\n")

/**
 * The line that announces what waits.
 *
 * @since 0.1.0
 * @category conversions
 */
export const announcement = (messages: ReadonlyArray<AgentMessage>): string =>
  `waiting for this session: ${messages.map(label).join(", ")}; handed over with the result of the next tool call, or read ${uri}`

const more = (count: number): string =>
  `${count === 1 ? "One more waits" : `${count} more wait`}: with a later result, or read ${uri}`

const label = ({ id, source }: AgentMessage): string => {
  switch (source.kind) {
    case "job-notice":
      return `${id}, job notice: ${source.jobs.join(", ")}`
    case "reminder":
      return `${id}, reminder: ${source.occurrences.map((occurrence) => occurrence.id).join(", ")}`
    case "goal-round":
      return `${id}, round ${source.round} of goal ${source.goalId}`
    case "agent":
      return `${id}, from the agent of session ${source.sessionId}`
    case "user":
      return `${id}, from the user`
    case "system":
      return `${id}, from the system`
  }
}
