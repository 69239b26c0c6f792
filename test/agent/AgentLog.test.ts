import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"

const event = (input: EventInput, seq: number): SessionEvent =>
  ({ ...input, seq, time: "2026-01-01T00:00:00.000Z" }) as SessionEvent

const fold = (...inputs: ReadonlyArray<EventInput>): AgentLog.AgentState =>
  inputs.map(event).reduce(AgentLog.state.apply, AgentLog.state.initial)

const hello: AgentMessage.AgentMessage = { id: "msg-1", ...AgentMessage.user("hello") }

const insert = AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "insert", messages: [hello] })
const claim = AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: ["msg-1"], turn: 1 })
const start = AgentEvents.TurnStart.make({ turn: 1, source: { kind: "user" } })
const said = AgentEvents.UserMessage.make(hello)
const step = AgentEvents.StepStart.make({ turn: 1, step: 1 })
const answer = AgentEvents.AssistantMessage.make({
  id: "answer-1-1",
  turn: 1,
  step: 1,
  route: "r",
  content: [{ type: "tool-call", callId: "a", name: "t", input: {} }],
  finishReason: "tool-calls",
  usage: { inputTokens: 1, outputTokens: 1 }
})
const call = AgentEvents.ToolCall.make({ callId: "a", turn: 1, step: 1, name: "t", input: {} })
const result = AgentEvents.ToolResult.make({ callId: "a", name: "t", ok: true, text: "x" })

describe("state", () => {
  it("holds what waits until it is claimed or discarded", () => {
    assert.deepStrictEqual(fold(insert).nextTurn, [hello])
    assert.deepStrictEqual(fold(insert, claim).nextTurn, [])
    assert.deepStrictEqual(
      fold(insert, AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "discard", ids: ["msg-1"] })).nextTurn,
      []
    )
  })

  it("remembers what an unanswered turn has claimed, and forgets it with the answer", () => {
    assert.deepStrictEqual(fold(insert, claim, start, said).open?.claimed, [hello])
    const answered = fold(insert, claim, start, said, step, answer)
    assert.deepStrictEqual(answered.open?.claimed, [])
    assert.strictEqual(answered.open?.answered, true)
  })

  it("follows each call from asked to answered", () => {
    const calls = (...more: ReadonlyArray<EventInput>) => fold(start, step, answer, ...more).open?.calls[0]
    assert.deepInclude(calls(), { started: false, answered: false })
    assert.deepInclude(calls(call), { started: true, answered: false })
    assert.deepInclude(calls(call, result), { started: true, answered: true })
  })

  it("closes the step, then the turn", () => {
    const stepped = fold(start, step, answer, call, result, AgentEvents.StepEnd.make({ turn: 1, step: 1 }))
    assert.deepInclude(stepped.open, { step: null, calls: [] })
    assert.isNull(fold(start, AgentEvents.TurnEnd.make({ turn: 1, reason: { kind: "completed" } })).open)
  })

  it("returns the same reference for events that do not concern it", () => {
    const before = fold(insert)
    const foreign = event({ type: "todo/write", data: { todos: [] } }, 9)
    assert.strictEqual(AgentLog.state.apply(before, foreign), before)
    assert.strictEqual(AgentLog.state.apply(before, event(result, 10)), before)
  })
})

describe("counters", () => {
  it("hold the highest turn and message number, whatever was put back", () => {
    const inputs = [
      insert,
      AgentEvents.InboxSpliced.make({ list: "nextStep", op: "insert", messages: [{ ...hello, id: "msg-7" }] }),
      AgentEvents.TurnStart.make({ turn: 3, source: { kind: "user" } }),
      insert
    ]
    const counted = inputs.map(event).reduce(AgentLog.counters.apply, AgentLog.counters.initial)
    assert.deepStrictEqual(counted, { turn: 3, message: 7 })
  })
})
