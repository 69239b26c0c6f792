import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import * as History from "@afterturn/agent/History"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"

const fold = (inputs: ReadonlyArray<EventInput>): History.History => {
  const history = new History.History()
  for (const [seq, input] of inputs.entries()) {
    history.add({ ...input, seq, time: "2026-01-01T00:00:00.000Z" } as SessionEvent)
  }
  return history
}

const says = (number: number, text: string) =>
  AgentEvents.UserMessage.make({ id: `msg-${number}`, ...AgentMessage.user(text) })

const calls = (...ids: ReadonlyArray<string>) =>
  AgentEvents.AssistantMessage.make({
    id: "answer",
    turn: 1,
    step: 1,
    route: "r",
    content: ids.map((callId) => ({ type: "tool-call", callId, name: "t", input: {} })),
    finishReason: "tool-calls",
    usage: { inputTokens: null, outputTokens: null }
  })

const result = (callId: string, text: string) => AgentEvents.ToolResult.make({ callId, name: "t", ok: true, text })

/** Roles, with the texts of users and results. */
const outline = (history: History.History) =>
  history
    .toMessages()
    .map((message) =>
      message.role === "tool"
        ? message.content.map((part) => part.result)
        : message.role === "user"
          ? message.content.map((part) => (part.type === "text" ? part.text : ""))
          : message.role
    )

describe("History", () => {
  it("puts results right after their calls, in the order of the calls", () => {
    const history = fold([says(1, "go"), calls("a", "b"), result("b", "B"), says(2, "steered"), result("a", "A")])
    assert.deepStrictEqual(outline(history), [["go"], "assistant", ["A", "B"], ["steered"]])
  })

  it("begins with a word for the model where a client outside began the session", () => {
    const [first, ...rest] = outline(fold([calls("a"), result("a", "A"), says(1, "go on")]))
    assert.match(String(first), /^\(Another program was the agent/)
    assert.deepStrictEqual(rest, ["assistant", ["A"], ["go on"]])
  })

  it("answers a call that never got its result", () => {
    const [, , answers] = outline(fold([says(1, "go"), calls("a")]))
    assert.match(String(answers?.[0]), /no result/)
  })

  it("tells calls apart when a provider uses an id again", () => {
    const history = fold([says(1, "go"), calls("x"), result("x", "first"), calls("x"), result("x", "second")])
    assert.deepStrictEqual(outline(history), [["go"], "assistant", ["first"], "assistant", ["second"]])
  })

  it("replaces what was compacted by its summary and keeps what was named", () => {
    const history = fold([
      says(1, "one"),
      says(2, "two"),
      says(3, "three"),
      AgentEvents.ContextCompacted.make({ throughSeq: 1, summary: "S", kept: ["msg-2"] })
    ])
    assert.deepStrictEqual(outline(history), [["Summary of the conversation so far:\n\nS"], ["two"], ["three"]])
  })

  it("leaves out an answer without content", () => {
    assert.deepStrictEqual(outline(fold([says(1, "go"), calls(), says(2, "well?")])), [["go"], ["well?"]])
  })

  it("gives a provider only objects back as arguments", () => {
    const history = fold([
      AgentEvents.AssistantMessage.make({
        id: "answer",
        turn: 1,
        step: 1,
        route: "r",
        content: [{ type: "tool-call", callId: "a", name: "t", input: "{broken" }],
        finishReason: "tool-calls",
        usage: { inputTokens: null, outputTokens: null }
      })
    ])
    const [, message] = history.toMessages()
    const part = message?.role === "assistant" ? message.content[0] : undefined
    assert.deepStrictEqual(part?.type === "tool-call" ? part.params : undefined, { input: "{broken" })
  })

  it("grows its estimate with what it holds and shrinks it when compacted", () => {
    const long = [says(1, "x".repeat(4_000)), calls("a"), result("a", "y".repeat(4_000))]
    const before = fold(long).estimatedTokens
    const after = fold([
      ...long,
      AgentEvents.ContextCompacted.make({ throughSeq: 2, summary: "S", kept: [] })
    ]).estimatedTokens
    assert.isAtLeast(before, 2_000)
    assert.isBelow(after, 10)
  })
})
