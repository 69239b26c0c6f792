import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import * as History from "@afterturn/agent/History"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"

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

  it("believes what the provider counted", () => {
    const answer = AgentEvents.AssistantMessage.make({
      id: "answer",
      turn: 1,
      step: 1,
      route: "r",
      content: [{ type: "text", text: "ok" }],
      finishReason: "stop",
      usage: { inputTokens: 5_000, outputTokens: 20 }
    })
    assert.strictEqual(fold([says(1, "go"), answer]).estimatedTokens, 5_020)
    assert.strictEqual(fold([says(1, "go"), answer, says(2, "x".repeat(400))]).estimatedTokens, 5_120)
  })
})

/** A conversation: turns of a user's message and some calls, cut now and then; the events, and the history that saw them live. */
const conversation = (turns: ReadonlyArray<Turn>) => {
  const events: Array<SessionEvent> = []
  const live = new History.History()
  const log = (input: EventInput) => {
    const event = { ...input, seq: events.length, time: "2026-01-01T00:00:00.000Z" } as SessionEvent
    events.push(event)
    live.add(event)
  }
  let turnStart = 0
  const cut = (beforeSeq: number, keepTokens: number) => {
    const plan = live.cut({ keepTokens, beforeSeq, protectFrom: turnStart })
    if (plan === undefined) return
    log(
      AgentEvents.ContextCompacted.make({ throughSeq: plan.throughSeq, summary: `S${events.length}`, kept: plan.kept })
    )
  }
  for (const [index, turn] of turns.entries()) {
    turnStart = events.length
    log(AgentEvents.TurnStart.make({ turn: index + 1, source: { kind: "user" } }))
    log(says(index + 1, `${index}:${"u".repeat(turn.length)}`))
    if (turn.cutAtStart) cut(turnStart + 1, turn.keep)
    for (const [step, count] of turn.steps.entries()) {
      if (turn.cutBefore === step) cut(Number.POSITIVE_INFINITY, turn.keep)
      const ids = Array.from({ length: count }, (_, call) => `c${index}-${step}-${call}`)
      log(calls(...ids))
      for (const id of ids.toReversed()) log(result(id, `${id}:${"r".repeat(turn.length)}`))
    }
  }
  return { events, live }
}

interface Turn {
  readonly length: number
  readonly steps: ReadonlyArray<number>
  readonly cutAtStart: boolean
  readonly cutBefore: number
  readonly keep: number
}

/** What an agent reads that comes alive: from the newest summary on, with the older messages that it kept. */
const reload = (events: ReadonlyArray<SessionEvent>): History.History => {
  const newest = events.findLast((event) => event.type === AgentEvents.ContextCompacted.type)
  const point = newest?.data as { readonly throughSeq: number; readonly kept: ReadonlyArray<string> } | undefined
  const history = new History.History()
  for (const event of events) {
    const isKept =
      event.type === AgentEvents.UserMessage.type && point?.kept.includes((event.data as { id: string }).id)
    if (event.seq <= (point?.throughSeq ?? -1) && isKept !== true) continue
    if (event.type === AgentEvents.ContextCompacted.type && event !== newest) continue
    history.add(event)
  }
  return history
}

describe("a history that is cut", () => {
  const turn = fc.record({
    length: fc.integer({ min: 0, max: 60 }),
    steps: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 }),
    cutAtStart: fc.boolean(),
    cutBefore: fc.integer({ min: 0, max: 6 }),
    keep: fc.integer({ min: 0, max: 60 })
  })

  it("reads the same after a restart, parts no call from its result, and keeps what its turn is about", () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
        const { events, live } = conversation(turns)
        assert.deepStrictEqual(reload(events).toMessages(), live.toMessages())
        let open: ReadonlyArray<string> = []
        for (const message of live.toMessages()) {
          const results = message.role === "tool" ? message.content.map((part) => part.id) : []
          assert.deepStrictEqual(results, open)
          open =
            message.role === "assistant"
              ? message.content.flatMap((part) => (part.type === "tool-call" ? [part.id] : []))
              : []
          for (const part of message.role === "tool" ? message.content : []) {
            assert.include(String(part.result), `${part.id}:`)
          }
        }
        if (turns.length > 0) {
          assert.include(JSON.stringify(live.toMessages()), `"${turns.length - 1}:`)
        }
      }),
      { numRuns: 300 }
    )
  })
})
