import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as Children from "@afterturn/cli/chat/Children"
import * as Row from "@afterturn/cli/chat/Row"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { SubagentRun } from "@afterturn/subagent/SubagentEvents"
import * as SubagentLog from "@afterturn/subagent/SubagentLog"
import type { AgentNode } from "@afterturn/subagent/SubagentTree"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"

const parent = SessionId.make("parent")
const child = SessionId.make("child-1")
const job = JobId.make("subagent-1")

const layer = EventTypes.layerRegister(...AgentEvents.all, ...SubagentLog.eventTypes).pipe(
  Layer.provideMerge(layerMemory)
)

/** What is handed on, in order. */
const seen = Effect.map(Queue.unbounded<string>(), (queue) => ({
  hand: (text: string) => Effect.asVoid(Queue.offer(queue, text)),
  next: Queue.take(queue)
}))

const bash = { callId: "call-1", name: "bash" }

const opened = [
  AgentEvents.TurnStart.make({ turn: 1, source: { kind: "agent", sessionId: parent } }),
  AgentEvents.UserMessage.make({
    id: "msg-1",
    source: { kind: "agent", sessionId: parent },
    content: [{ type: "text", text: "check the links" }]
  })
]
const called = AgentEvents.ToolCall.make({ ...bash, turn: 1, step: 1, input: { command: "pnpm\ntest" } })
const answered = AgentEvents.ToolResult.make({ ...bash, ok: true, text: "passed" })
const ended = AgentEvents.TurnEnd.make({ turn: 1, reason: { kind: "completed" } })

const sessions = Effect.gen(function* () {
  const log = yield* SessionLog
  yield* log.create({ id: parent })
  yield* log.create({ id: child })
  return log
})

describe("follow", () => {
  it.live("tells what a child does as it changes, from when it comes until its job ends", () =>
    Effect.gen(function* () {
      const log = yield* sessions
      const { hand, next } = yield* seen
      yield* Effect.forkScoped(Children.follow(parent, (job, doing) => hand(`${job}: ${doing}`)))
      yield* log.append(parent, [SubagentRun.make({ agentId: child, jobId: job, label: "Links" })])
      assert.strictEqual(yield* next, "subagent-1: ")
      yield* log.append(child, opened)
      assert.strictEqual(yield* next, "subagent-1: thinks")
      yield* log.append(child, [called])
      assert.strictEqual(yield* next, "subagent-1: bash(command: pnpm⏎test)")
      yield* log.append(child, [answered])
      assert.strictEqual(yield* next, "subagent-1: thinks")
      const time = "2026-01-01T00:00:00.000Z"
      yield* log.append(parent, [
        JobEvents.JobSettle.make({ id: job, status: "killed", startedAt: time, finishedAt: time }),
        SubagentRun.make({ agentId: child, jobId: JobId.make("subagent-2"), label: "Links" })
      ])
      // The next job of the same child begins with what that does now.
      assert.strictEqual(yield* next, "subagent-2: ")
      assert.strictEqual(yield* next, "subagent-2: thinks")
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

describe("watch", () => {
  it.live("shows the last turn, then all that follows, told from the conversation", () =>
    Effect.gen(function* () {
      const log = yield* sessions
      const { hand, next } = yield* seen
      yield* log.append(child, [...opened, called])
      yield* Effect.forkScoped(
        Children.watch(child, (lines) =>
          hand(
            lines
              .flatMap((line) => Row.rows(line, 60))
              .map((row) => Row.encode(row, { color: false }).trimEnd())
              .join("\n")
          )
        )
      )
      assert.strictEqual(yield* next, "┊\n┊ » from the agent of session parent\n┊   check the links")
      yield* log.append(child, [answered])
      assert.strictEqual(yield* next, "┊ ✓ bash(command: pnpm⏎test) → passed")
      yield* log.append(child, [
        AgentEvents.AssistantMessage.make({
          id: "answer-1",
          turn: 1,
          step: 2,
          route: "fake:model",
          content: [{ type: "text", text: "All links\nhold." }],
          finishReason: "stop",
          usage: { inputTokens: null, outputTokens: null }
        }),
        ended
      ])
      assert.strictEqual(yield* next, "┊ All links\n┊ hold.")
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})

describe("an agent", () => {
  const node = (id: string, jobId: string, depth = 1): AgentNode => ({
    id: SessionId.make(id),
    parent,
    depth,
    label: "Look\naround",
    status: "running",
    interrupted: false,
    startedAt: "2026-01-01T00:00:00.000Z" as AgentNode["startedAt"],
    runs: 1,
    turns: 2,
    job: { id: JobId.make(jobId), status: "running", detail: null },
    tokens: { inputTokens: 1, outputTokens: 2 },
    totalTokens: { inputTokens: 3, outputTokens: 4 },
    children: []
  })
  const all = [node("01aaa", "subagent-1"), node("01abb", "subagent-1", 2), node("01b", "subagent-2")]

  it("is found by its id, the beginning of that, or the job of a child, when one is meant", () => {
    const found = (named: string) => Children.find(all, named)?.id
    assert.deepStrictEqual(
      ["01b", "01aa", "subagent-1", "subagent-2"].map(found),
      ["01b", "01aaa", "01aaa", "01b"].map((id) => SessionId.make(id))
    )
    assert.deepStrictEqual(["", "01a", "subagent-3", "off"].map(found), [undefined, undefined, undefined, undefined])
  })

  it("is listed under the one that started it", () => {
    const rows = Children.lines(all).flatMap((line) =>
      Row.rows(line, 100).map((row) => Row.encode(row, { color: false }))
    )
    assert.deepStrictEqual(rows.slice(0, 2), [
      "  01aaa running as subagent-1, 2 turns, 7 tokens: Look⏎around",
      "    01abb running as subagent-1, 2 turns, 7 tokens: Look⏎around"
    ])
  })
})
