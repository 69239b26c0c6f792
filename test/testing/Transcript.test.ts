import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Transcript from "@afterturn/testing/Transcript"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as session from "./session.js"

const render = (inputs: Parameters<typeof session.stored>[0], options?: Transcript.TranscriptOptions) =>
  Transcript.render(session.stored(inputs), options)

const step = { turn: 1, step: 1 }

describe("Transcript", () => {
  it("is empty for a session without events", () => {
    assert.strictEqual(render([]), "")
  })

  it("shows turns with their messages, calls and results", () => {
    assert.strictEqual(
      render([
        session.turnStart(1),
        session.message("Build it,\n\nplease."),
        AgentEvents.StepStart.make(step),
        session.answer([
          { type: "reasoning", text: "A build takes long." },
          session.says("Starting."),
          session.calls("bash", { command: "make" })
        ]),
        session.called("bash", { command: "make" }),
        session.jobStart("bash-1"),
        session.returned("bash", { jobId: "bash-1" }, "started bash-1"),
        AgentEvents.StepEnd.make(step),
        session.answer([]),
        session.turnEnd(1),
        { type: "todo/write", data: { todos: [] } }
      ]),
      `turn 1 (user)
  user: Build it,

    please.
  reasoning: A build takes long.
  assistant: Starting.
  call bash {"command":"make"}
  job bash-1 started: make
  result bash: started bash-1
  assistant says nothing
  end completed
todo/write {"todos":[]}`
    )
  })

  it("shows where messages came from", () => {
    const agent = { kind: "agent", sessionId: SessionId.make("parent") } as const
    const occurrences = session.reminder.kind === "reminder" ? session.reminder.occurrences : []
    assert.strictEqual(
      render([
        session.turnStart(1, session.notice),
        session.message("done", session.notice),
        session.message("wake up", session.reminder),
        session.message("wake up", { kind: "reminder", occurrences: [...occurrences, ...occurrences] }),
        session.message("go on", session.goalRound),
        session.message("hello", agent),
        session.message("note", { kind: "system" })
      ]),
      `turn 1 (job-notice bash-1)
  job-notice bash-1: done
  reminder: wake up
  reminder x2: wake up
  goal-round 2: go on
  agent: hello
  system: note`
    )
  })

  it("shows how turns ended", () => {
    assert.strictEqual(
      render([
        session.turnStart(1),
        session.turnEnd(1, { kind: "aborted", cause: "cancelled" }),
        session.turnStart(2),
        session.turnEnd(2, { kind: "error", error: { code: "provider_rejected", message: "no key" } }),
        session.turnStart(3),
        session.turnEnd(3, { kind: "interrupted" }),
        session.turnStart(4),
        session.turnEnd(4, { kind: "step-limit", maxSteps: 64 })
      ]),
      `turn 1 (user)
  end aborted: cancelled
turn 2 (user)
  end error provider_rejected: no key
turn 3 (user)
  end interrupted
turn 4 (user)
  end step-limit 64`
    )
  })

  it("shows failed and truncated results", () => {
    assert.strictEqual(
      render([
        session.refused("bash", "denied", "not allowed"),
        AgentEvents.ToolResult.make({ callId: "c", name: "bash", ok: true, text: "aa", truncated: true })
      ]),
      "result bash failed denied: not allowed\nresult bash (truncated): aa"
    )
  })

  it("shows a call that never started where it was made, also under an id that is used again", () => {
    assert.strictEqual(
      render([
        session.answer([session.calls("a", {}, "c1"), session.calls("b", { x: 1 }, "c2")]),
        session.called("a", {}, "c1"),
        session.answer([session.calls("c", {}, "c2")]),
        session.called("c", {}, "c2")
      ]),
      'call b {"x":1} (not started)\ncall a {}\ncall c {}'
    )
  })

  it("shows jobs without what varies by run", () => {
    const times = { startedAt: "2026-01-05T09:00:00.000Z", finishedAt: "2026-01-05T09:00:01.000Z" }
    assert.strictEqual(
      render([
        { type: "job/start", data: { id: "bash-1", kind: "bash", label: "make", process: { pid: 4711 } } },
        { type: "job/kill-requested", data: { id: "bash-1", reason: "too slow", by: "s1" } },
        {
          type: "job/settle",
          data: { id: "bash-1", status: "killed", detail: "signal 15", reason: "too slow", ...times }
        },
        { type: "job/settle", data: { id: "bash-2", status: "completed", ...times } }
      ]),
      `job bash-1 started: make
job bash-1 kill requested: too slow
job bash-1 killed: signal 15: too slow
job bash-2 completed`
    )
  })

  it("leaves steps and the inbox out, unless asked", () => {
    const events = [
      AgentEvents.InboxSpliced.make({
        list: "nextTurn",
        op: "insert",
        messages: [{ id: "msg-1", source: session.user, content: [{ type: "text", text: "hello" }] }]
      }),
      session.turnStart(1),
      AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: ["msg-1"], turn: 1 }),
      AgentEvents.StepStart.make(step),
      AgentEvents.StepEnd.make(step)
    ]
    assert.strictEqual(render(events), "turn 1 (user)")
    assert.strictEqual(
      render(events, { steps: true, inbox: true }),
      "insert nextTurn user: hello\nturn 1 (user)\n  claim nextTurn x1\n  step 1"
    )
  })

  it("puts times before, when asked", () => {
    assert.strictEqual(
      render([session.turnStart(1), session.message("a\nb"), session.turnEnd(1)], { times: true }),
      `2026-01-05T09:00:00.000Z turn 1 (user)
2026-01-05T09:00:00.000Z   user: a
                             b
2026-01-05T09:00:00.000Z   end completed`
    )
  })

  it("cuts long texts and counts the rest", () => {
    assert.strictEqual(render([session.message("abcdefgh")], { maxLength: 5 }), "user: abcde… (+3)")
    assert.strictEqual(render([session.message("x".repeat(501))]), `user: ${"x".repeat(500)}… (+1)`)
  })

  it("does not tell runs apart by their ids", () => {
    const run = (n: number) =>
      render([
        AgentEvents.UserMessage.make({ id: `msg-${n}`, source: session.user, content: [{ type: "text", text: "a" }] }),
        session.answer([session.calls("a", {}, `c${n}`)]),
        session.called("a", {}, `c${n}`)
      ])
    assert.strictEqual(run(1), run(2))
  })

  it.prop(
    "renders whatever an event holds",
    [
      FastCheck.array(
        FastCheck.record({
          type: FastCheck.constantFrom("turn/start", "tool/result", "job/start", "job/settle", "unheard/of"),
          data: FastCheck.oneof(FastCheck.jsonValue(), FastCheck.record({ id: FastCheck.jsonValue() }))
        }),
        { minLength: 1, maxLength: 5 }
      )
    ],
    ([events]) => {
      assert.strictEqual(render(events).split("\n").length, events.length)
    }
  )
})
