import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as Render from "@afterturn/cli/Render"
import type * as EventTypes from "@afterturn/session-log/EventTypes"
import type { SessionEvent, SessionSummary } from "@afterturn/session-log/SessionEvent"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"

const wide = { columns: Infinity, colour: false }

const event = (type: string, data: unknown): SessionEvent => ({ seq: 7, type, time: "2026-03-09T06:30:00.125Z", data })

const made = <T extends string, A, I>(type: EventTypes.EventType<T, A, I>, data: A) =>
  event(type.type, type.make(data).data)

const summary: SessionSummary = {
  id: SessionId.make("s1"),
  version: 1,
  createdAt: "2026-03-09T06:30:00.125Z",
  delegationDepth: 0,
  lastSeq: 9
}

describe("table", () => {
  it("makes columns as wide as what is in them, wide characters included", () => {
    assert.strictEqual(
      Render.table(
        ["A", "B"],
        [
          ["日本", "x"],
          ["y", ""]
        ],
        wide
      ),
      "A     B\n日本  x\ny"
    )
  })

  it("cuts the last columns first where there is no room, and keeps something of each", () => {
    const row = ["id-of-a-session", "a title of some length", "/a/folder/far/away"]
    assert.strictEqual(
      Render.table(["ID", "TITLE", "FOLDER"], [row], { columns: 44, colour: false }),
      "ID               TITLE              FOLDER\nid-of-a-session  a title of some …  /a/fold…"
    )
    const lines = Render.table(["ID", "TITLE", "FOLDER"], [row], { columns: 30, colour: false }).split("\n")
    assert.deepStrictEqual(lines[1], "id-of-a-s…  a title…  /a/fold…")
  })
})

describe("sessions", () => {
  it("is a table, or says that there are none", () => {
    assert.strictEqual(Render.sessions([], wide), "no sessions")
    assert.strictEqual(
      Render.sessions([{ ...summary, title: "Plan", cwd: "/home" }], wide),
      "ID  CREATED               EVENTS  TITLE  FOLDER\ns1  2026-03-09 06:30:00Z  10      Plan   /home"
    )
  })
})

describe("header", () => {
  it("leaves out what a session does not have", () => {
    assert.strictEqual(Render.header(summary, wide), "session     s1\ncreated     2026-03-09 06:30:00Z\nevents      10")
    assert.include(
      Render.header({ ...summary, parent: SessionId.make("p"), seedLength: 3, delegationDepth: 2 }, wide),
      "parent      p (its first 3 events)\ndelegation  depth 2"
    )
  })
})

describe("event", () => {
  const line = (given: SessionEvent) => Render.event(given, wide).replace(/^ {4}7 {2}06:30:00\.125 {2}/, "")

  it("says in a line what happened", () => {
    const content = [{ type: "text", text: "Go\non" }] as const
    const user = { kind: "user" } as const
    const call = { callId: "c", name: "echo" }
    for (const [given, text] of [
      [made(AgentEvents.TurnStart, { turn: 2, source: user }), "turn/start           turn 2, opened by user"],
      [
        made(AgentEvents.TurnEnd, { turn: 2, reason: { kind: "error", error: { code: "c", message: "no" } } }),
        "turn/end             turn 2 ended in an error: no (c)"
      ],
      [made(AgentEvents.UserMessage, { id: "msg-1", source: user, content }), "user/message         user: Go ⏎ on"],
      [made(AgentEvents.ToolCall, { ...call, turn: 1, step: 1, input: { a: 1 } }), 'tool/call            echo {"a":1}'],
      [made(AgentEvents.ToolResult, { ...call, ok: false, text: "bad" }), "tool/result          echo failed: bad"],
      [
        made(AgentEvents.InboxSpliced, { list: "nextTurn", op: "claim", ids: ["msg-1"] }),
        "agent/inbox/spliced  claim msg-1 (nextTurn)"
      ]
    ] as const) {
      assert.strictEqual(line(given), text)
    }
  })

  it("shows data as JSON when it is of another type than it says, or of one unknown here", () => {
    assert.strictEqual(line(event("turn/end", { turn: "x" })), 'turn/end             {"turn":"x"}')
    assert.strictEqual(line(event("weather/report", [1])), "weather/report       [1]")
  })

  it("never moves the cursor, and takes one line that fits", () => {
    const source = { kind: "user" } as const
    const text = `\u001b[2J${"long ".repeat(50)}\r\n\u0007`
    const given = made(AgentEvents.UserMessage, { id: "m", source, content: [{ type: "text", text }] })
    const shown = Render.event(given, { columns: 60, colour: false })
    assert.strictEqual(shown.length, 60)
    assert.match(shown, /^[^\p{Cc}]+…$/u)
  })

  it("colours where colours are wanted, and puts them back", () => {
    const shown = Render.event(event("turn/end", {}), { columns: 80, colour: true })
    assert.match(shown, /^\u001b\[2m.+\u001b\[0m/)
  })
})

describe("reasonText", () => {
  it("reads after the number of the turn", () => {
    assert.strictEqual(Render.reasonText({ kind: "completed" }), "completed")
    assert.strictEqual(Render.reasonText({ kind: "aborted", cause: "why" }), "was aborted: why")
    assert.strictEqual(Render.reasonText({ kind: "interrupted" }), "was interrupted by the end of its process")
    assert.strictEqual(Render.reasonText({ kind: "step-limit", maxSteps: 64 }), "was stopped after 64 steps")
  })
})

describe("verified", () => {
  it("says what was found", () => {
    const found = { id: SessionId.make("s1"), events: 4, snapshots: 2, unread: 0, lease: null }
    assert.strictEqual(Render.verified(found), "s1: sound, 4 events, 2 snapshots")
    const lease = { host: "here", pid: 12, expiresAt: "2026-03-09T06:30:00.000Z", expired: false }
    assert.strictEqual(
      Render.verified({ ...found, unread: 1, lease }),
      "s1: sound, 4 events, 2 snapshots, 1 not read by this release, driven by process 12 on here"
    )
    assert.include(Render.verified({ ...found, lease: { ...lease, expired: true } }), "last driven by process 12")
  })
})
