import type { AgentMessage, MessageSource } from "@afterturn/agent/AgentMessage"
import * as McpInbox from "@afterturn/mcp/McpInbox"
import { assert, describe, it } from "vitest"

const message = (id: string, source: MessageSource, text: string): AgentMessage => ({
  id,
  source,
  content: [{ type: "text", text }]
})

const notice = message("msg-1", { kind: "job-notice", jobs: ["bash-1", "bash-2"] }, "both finished")
const reminder = message(
  "msg-2",
  { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
  "stand up"
)

describe("the inbox", () => {
  const state = { open: null, nextTurn: [reminder], nextStep: [notice] }

  it("is listed in the order in which it will be handed over", () => {
    assert.deepStrictEqual(
      McpInbox.waiting(state).map(({ id }) => id),
      ["msg-1", "msg-2"]
    )
  })

  it("reads as JSON that says which message opens a turn", () => {
    assert.deepStrictEqual(JSON.parse(McpInbox.resource("s1", state)), {
      session: "s1",
      waiting: [
        { id: "msg-1", source: notice.source, opensTurn: false, text: "both finished" },
        { id: "msg-2", source: reminder.source, opensTurn: true, text: "stand up" }
      ]
    })
  })

  it("is handed over apart from the result, with the number of what still waits", () => {
    assert.strictEqual(
      McpInbox.handover([notice], 0),
      "A message came for this session. It is not part of the tool's result:\n\n[msg-1, job notice: bash-1, bash-2]\nboth finished"
    )
    const two = McpInbox.handover([notice, reminder], 1)
    assert.match(two, /^2 messages came for this session\. They are not/)
    assert.match(two, /\n\n\[msg-2, reminder: schedule-1\]\nstand up\n\nOne more waits: with a later result, or read /)
    assert.match(McpInbox.handover([notice], 3), /\n\n3 more wait: /)
  })

  it("is announced in one line that names each message and where it comes from", () => {
    const others: ReadonlyArray<readonly [MessageSource, string]> = [
      [{ kind: "user" }, "from the user"],
      [{ kind: "system" }, "from the system"],
      [{ kind: "agent", sessionId: "s2" as never }, "from the agent of session s2"],
      [{ kind: "goal-round", goalId: "goal-1", revision: 2, round: 3 }, "round 3 of goal goal-1"]
    ]
    for (const [source, words] of others) {
      const line = McpInbox.announcement([message("msg-9", source, "a\nb")])
      assert.strictEqual(
        line,
        `waiting for this session: msg-9, ${words}; handed over with the result of the next tool call, or read ${McpInbox.uri}`
      )
    }
  })
})
