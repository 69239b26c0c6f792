import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

/** As the documentation of the log names them: others read these. */
const published = {
  "turn/start": { turn: 1, source: { kind: "user" } },
  "turn/end": { turn: 1, reason: { kind: "error", error: { code: "x", message: "y" } } },
  "step/start": { turn: 1, step: 1 },
  "step/end": { turn: 1, step: 1 },
  "user/message": { id: "msg-1", source: { kind: "user" }, content: [{ type: "text", text: "hi" }] },
  "assistant/message": {
    id: "answer-1-1",
    turn: 1,
    step: 1,
    route: "r",
    content: [
      { type: "reasoning", text: "r", options: { p: { s: 1 } } },
      { type: "tool-call", callId: "c", name: "t", input: null }
    ],
    finishReason: "stop",
    usage: { inputTokens: null, outputTokens: 3, reasoningTokens: 1 }
  },
  "tool/call": { callId: "c", turn: 1, step: 1, name: "t", input: "{broken" },
  "tool/result": { callId: "c", name: "t", ok: false, error: { code: "x", message: "y" }, text: "z", truncated: true },
  "agent/inbox/spliced": { list: "nextStep", op: "claim", ids: ["msg-1"], turn: 1 },
  "context/compacted": { throughSeq: 3, summary: "s", kept: [] }
}

describe("the events of an agent", () => {
  it.effect("take the shapes that are documented, each strictly", () =>
    Effect.gen(function* () {
      const registry = yield* EventTypes.EventTypes
      yield* registry.register(...AgentEvents.all)
      assert.deepStrictEqual(AgentEvents.all.map(({ type }) => type).sort(), Object.keys(published).sort())
      for (const [type, data] of Object.entries(published)) {
        assert.isUndefined(registry.get(type)?.problem(data), type)
        assert.isString(registry.get(type)?.problem({ ...data, extra: 1 }), type)
        assert.isString(registry.get(type)?.problem(null), type)
      }
    }).pipe(Effect.provide(EventTypes.layer))
  )

  it("tell a fork where a turn begins and ends", () => {
    assert.strictEqual(AgentEvents.TurnStart.bracket, "open")
    assert.strictEqual(AgentEvents.TurnEnd.bracket, "close")
  })
})
