import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { Instant } from "@afterturn/session-log/Instant"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SubagentRun } from "@afterturn/subagent/SubagentEvents"
import * as SubagentLog from "@afterturn/subagent/SubagentLog"
import { assert, describe, it } from "@effect/vitest"

const time = Instant.make("2026-01-01T00:00:00.000Z")
const [one, two] = ["one", "two"].map((id) => SessionId.make(id)) as [SessionId, SessionId]

const fold = <State>(
  projection: { readonly initial: State; readonly apply: (state: State, event: never) => State },
  events: ReadonlyArray<EventInput>
): State =>
  events.reduce((state, event, seq) => projection.apply(state, { ...event, seq, time } as never), projection.initial)

const run = (agentId: SessionId, jobId: string) =>
  SubagentRun.make({ agentId, jobId: JobId.make(jobId), label: `label of ${agentId}` })

const settle = (id: string, status: "completed" | "failed" | "killed", detail?: string) =>
  JobEvents.JobSettle.make({
    id: JobId.make(id),
    status,
    ...(detail === undefined ? {} : { detail }),
    startedAt: time,
    finishedAt: time
  })

describe("children", () => {
  const statuses = (events: ReadonlyArray<EventInput>) =>
    Object.values(fold(SubagentLog.children, events).agents).map(({ id, job, runs, status }) => [id, runs, job, status])

  it("are known from their first run on, each with its newest job", () => {
    const events = [
      run(one, "subagent-1"),
      run(two, "subagent-2"),
      settle("subagent-1", "completed"),
      JobEvents.JobKillRequested.make({ id: JobId.make("subagent-2"), by: "model" }),
      run(one, "subagent-3")
    ]
    assert.deepStrictEqual(statuses(events), [
      ["one", 2, "subagent-3", "running"],
      ["two", 1, "subagent-2", "stopping"]
    ])
    assert.deepStrictEqual(statuses([...events, settle("subagent-3", "failed"), settle("subagent-2", "killed")]), [
      ["one", 2, "subagent-3", "failed"],
      ["two", 1, "subagent-2", "killed"]
    ])
  })

  it("are not concerned by other jobs, nor by the end of an older run", () => {
    const events = [run(one, "subagent-1"), run(one, "subagent-2")]
    const before = fold(SubagentLog.children, events)
    assert.strictEqual(SubagentLog.children.apply(before, { ...settle("bash-1", "failed"), seq: 9, time }), before)
    assert.deepStrictEqual(statuses([...events, settle("subagent-1", "failed")]), [["one", 2, "subagent-2", "running"]])
    assert.deepStrictEqual(fold(SubagentLog.children, [...events, settle("subagent-1", "failed")]).open, {
      "subagent-2": one
    })
  })

  it("are found by their id, and by nothing that every object has", () => {
    const state = fold(SubagentLog.children, [run(one, "subagent-1")])
    assert.strictEqual(SubagentLog.childOf(state, "one")?.label, "label of one")
    assert.isUndefined(SubagentLog.childOf(state, "constructor"))
  })
})

describe("the wakes of a session", () => {
  const opens = (source: MessageSource) => AgentEvents.TurnStart.make({ turn: 1, source })
  const hears = (source: MessageSource) => AgentEvents.UserMessage.make({ id: "msg-1", source, content: [] })
  const wakes = (...events: ReadonlyArray<EventInput>) =>
    fold(SubagentLog.children, [run(one, "subagent-1"), ...events]).wakes
  const below = { kind: "agent", sessionId: one } as const
  const above = { kind: "agent", sessionId: two } as const

  it("are the turns that its subagents' messages opened since a person or its parent spoke", () => {
    assert.strictEqual(wakes(opens(below), hears(below), opens(below), hears(below)), 2)
    assert.strictEqual(wakes(opens(below), opens({ kind: "system" }), hears({ kind: "system" })), 1)
    assert.strictEqual(wakes(opens(above), hears(above)), 0)
    for (const source of [above, { kind: "user" } as const]) assert.strictEqual(wakes(opens(below), hears(source)), 0)
  })
})

describe("progress", () => {
  const says = (text: string, inputTokens: number | null) =>
    AgentEvents.AssistantMessage.make({
      id: "answer",
      turn: 1,
      step: 1,
      route: "fake:model",
      content: text === "" ? [] : [{ type: "text", text }],
      finishReason: "stop",
      usage: { inputTokens, outputTokens: 2 }
    })

  it("has the newest text, the last end and the sum of tokens", () => {
    const state = fold(SubagentLog.progress, [
      AgentEvents.TurnStart.make({ turn: 1, source: { kind: "user" } }),
      says("first", 10),
      says("second", null),
      says("", 5),
      AgentEvents.TurnEnd.make({ turn: 1, reason: { kind: "completed" } })
    ])
    assert.deepStrictEqual(state, {
      turns: 1,
      end: { seq: 4, reason: { kind: "completed" } },
      text: { seq: 2, text: "second" },
      inputTokens: 15,
      outputTokens: 6
    })
  })
})
