import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

const decode = Schema.decodeUnknownEither(AgentMessage.AgentMessage, { onExcessProperty: "error" })

describe("AgentMessage", () => {
  it("keeps the text of a message through its blocks", () => {
    assert.strictEqual(AgentMessage.toText(AgentMessage.user("a\nb").content), "a\nb")
    assert.strictEqual(
      AgentMessage.toText([
        { type: "text", text: "a" },
        { type: "text", text: "b" }
      ]),
      "a\nb"
    )
  })

  it("knows each source and no other", () => {
    const sources = [
      { kind: "user" },
      { kind: "job-notice", jobs: ["bash-1"] },
      { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
      { kind: "goal-round", goalId: "g", revision: 1, round: 2 },
      { kind: "agent", sessionId: "s1" },
      { kind: "system" }
    ]
    for (const source of sources) {
      assert.isTrue(Either.isRight(decode({ id: "msg-1", source, content: [] })), JSON.stringify(source))
    }
    for (const source of [
      {},
      { kind: "person" },
      { kind: "user", name: "x" },
      { kind: "agent", sessionId: "../x" },
      { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "tomorrow" }] }
    ]) {
      assert.isTrue(Either.isLeft(decode({ id: "msg-1", source, content: [] })), JSON.stringify(source))
    }
  })
})
