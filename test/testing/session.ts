import type { AssistantBlock, TurnEndReason } from "@afterturn/agent/AgentEvents"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"

/** Events as an agent writes them, for folds that are tested without one. */
export const stored = (inputs: ReadonlyArray<EventInput>): ReadonlyArray<SessionEvent> =>
  inputs.map((input, seq) => ({ seq, time: "2026-01-05T09:00:00.000Z", ...input }))

export const user: MessageSource = { kind: "user" }
export const notice: MessageSource = { kind: "job-notice", jobs: ["bash-1"] }
export const reminder: MessageSource = {
  kind: "reminder",
  occurrences: [{ id: "reminder-1", occurrenceAt: "2026-01-05T09:00:00.000Z" }]
}
export const goalRound: MessageSource = { kind: "goal-round", goalId: "goal-1", revision: 1, round: 2 }

export const turnStart = (turn: number, source: MessageSource = user) => AgentEvents.TurnStart.make({ turn, source })

export const turnEnd = (turn: number, reason: TurnEndReason = { kind: "completed" }) =>
  AgentEvents.TurnEnd.make({ turn, reason })

export const message = (text: string, source: MessageSource = user) =>
  AgentEvents.UserMessage.make({ id: "msg-1", source, content: [{ type: "text", text }] })

export const answer = (content: ReadonlyArray<AssistantBlock>, options?: { turn?: number; route?: string }) =>
  AgentEvents.AssistantMessage.make({
    id: "answer",
    turn: options?.turn ?? 1,
    step: 1,
    route: options?.route ?? "scripted:script",
    content,
    finishReason: "stop",
    usage: { inputTokens: 1, outputTokens: 1 }
  })

export const says = (text: string): AssistantBlock => ({ type: "text", text })

export const calls = (name: string, input: unknown = {}, callId = "call-1"): AssistantBlock => ({
  type: "tool-call",
  callId,
  name,
  input
})

export const called = (name: string, input: unknown = {}, callId = "call-1") =>
  AgentEvents.ToolCall.make({ callId, turn: 1, step: 1, name, input })

export const returned = (name: string, value: unknown, text = JSON.stringify(value)) =>
  AgentEvents.ToolResult.make({ callId: "call-1", name, ok: true, value, text })

export const refused = (name: string, code: string, message: string) =>
  AgentEvents.ToolResult.make({ callId: "call-1", name, ok: false, error: { code, message }, text: message })

export const jobStart = (id: string): EventInput => ({ type: "job/start", data: { id, kind: "bash", label: "make" } })
