import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import type { GoalRecord } from "@afterturn/goals/Goal"
import { GoalChange } from "@afterturn/goals/GoalEvents"
import * as GoalLog from "@afterturn/goals/GoalLog"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ref } from "./support/goals.js"

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()

interface Timed {
  readonly event: EventInput
  readonly second: number
}

const goal: GoalRecord = {
  id: ref(1).id,
  revision: 1,
  objective: "ship it",
  phase: "active",
  maxGoalRounds: 3,
  roundsStarted: 0,
  createdAt: at(0),
  updatedAt: at(0)
}

const change = (operation: "create" | "edit" | "pause" | "resume" | "complete" | "block", facts: Partial<GoalRecord>) =>
  GoalChange.make({ version: 1, operation, goal: { ...goal, ...facts } })
const create = change("create", {})
const clear = (revision: number) =>
  GoalChange.make({ version: 1, operation: "clear", tombstone: { id: goal.id, revision } })

const claimed = (source: MessageSource) =>
  AgentEvents.UserMessage.make({ id: "msg-1", source, content: [{ type: "text", text: "x" }] })
const round = (number: number, revision = 1, goalId = "goal-1") =>
  claimed({ kind: "goal-round", goalId, revision, round: number })
const opened = AgentEvents.TurnStart.make({ turn: 1, source: { kind: "user" } })
const ended = AgentEvents.TurnEnd.make({ turn: 1, reason: { kind: "completed" } })
const said = (text: string, usage: AgentEvents.Usage = { inputTokens: 2, outputTokens: 3 }) =>
  AgentEvents.AssistantMessage.make({
    id: "a",
    turn: 1,
    step: 1,
    route: "r",
    content: [{ type: "text", text }],
    finishReason: "stop",
    usage
  })
const result = (name: string, ok = true) => AgentEvents.ToolResult.make({ callId: "c", name, ok, text: "x" })

const stored = (events: ReadonlyArray<EventInput | Timed>): ReadonlyArray<SessionEvent> =>
  events.map((given, seq) => {
    const { event, second } = "event" in given ? given : { event: given, second: 0 }
    return { ...event, seq, time: at(second) } as SessionEvent
  })

const fold = (...events: ReadonlyArray<EventInput | Timed>) =>
  stored(events).reduce(GoalLog.projection.apply, GoalLog.initial)

const after = (second: number, event: EventInput): Timed => ({ event, second })

describe("the fold", () => {
  it("follows a goal from its creation to its end, and remembers what was cleared", () => {
    const paused = { revision: 2, phase: "paused" } as const
    const resumed = { revision: 3, phase: "active" } as const
    const done = { revision: 4, phase: "complete" } as const
    const state = fold(create, change("pause", paused), change("resume", resumed), change("complete", done))
    assert.deepStrictEqual(state.goal, { ...goal, ...done })
    assert.deepStrictEqual([state.number, state.changedSeq, state.operation], [1, 3, "complete"])
    const cleared = fold(create, clear(2))
    assert.deepStrictEqual([cleared.goal, cleared.tombstone, cleared.number], [null, ref(2), 1])
    const again = fold(create, clear(2), change("create", { id: ref(1, 2).id }))
    assert.deepStrictEqual([again.goal?.id, again.tombstone, again.number], [ref(1, 2).id, null, 2])
  })

  it("counts rounds by what turns claim, without a change of the revision", () => {
    const state = fold(create, opened, round(1), said("one"), ended, opened, round(2))
    assert.deepStrictEqual([state.goal?.roundsStarted, state.goal?.revision], [2, 1])
    assert.deepStrictEqual(state.turn, { turn: 1, human: false, round: { goalId: "goal-1", revision: 1, round: 2 } })
    const state2 = fold(create, opened, round(1), change("pause", { revision: 2, phase: "paused", roundsStarted: 1 }))
    assert.isNull(state2.corrupt)
  })

  it("hears the user in the source of a turn that a call from outside opened, which holds no message", () => {
    const call = (source: MessageSource) => AgentEvents.TurnStart.make({ turn: 1, source, by: "call" })
    const turns = [opened, call({ kind: "system" }), call({ kind: "user" })].map((start) => fold(create, start).turn)
    assert.deepStrictEqual(
      turns.map((turn) => turn?.human),
      [false, false, true]
    )
    // It may go on with what came before: unlike the user's message it does not hide that rounds change nothing.
    const worked = fold(create, opened, round(1), said("same"), ended, call({ kind: "user" }))
    assert.lengthOf(worked.work, 1)
  })

  it("takes a round of a state that has passed as a message like any other", () => {
    for (const late of [
      fold(create, change("edit", { revision: 2, objective: "other" }), round(1, 1)),
      fold(create, clear(2), round(1, 1)),
      fold(create, change("complete", { revision: 2, phase: "complete" }), round(1, 1))
    ]) {
      assert.isNull(late.corrupt)
      assert.isTrue(late.goal === null || late.goal.roundsStarted === 0)
    }
  })

  const refused: ReadonlyArray<readonly [string, ReadonlyArray<EventInput>]> = [
    ["a round too many", [create, round(1), round(2), round(3), round(4)]],
    ["a gap in the rounds", [create, round(2)]],
    ["a round that comes twice", [create, round(1), round(1)]],
    ["a round of a revision to come", [create, round(1, 2)]],
    ["a round of a goal that never was", [create, round(1, 1, "goal-2")]],
    ["a round before any goal", [round(1)]],
    ["a round of a paused goal", [create, change("pause", { revision: 2, phase: "paused" }), round(1, 2)]],
    ["a second goal beside the first", [create, change("create", { id: ref(1, 2).id })]],
    ["an id that is used again", [create, clear(2), create]],
    ["a goal that begins in the middle", [change("create", { revision: 2 })]],
    ["a goal that begins with rounds", [change("create", { roundsStarted: 1 })]],
    ["a revision that goes back", [create, change("pause", { revision: 1, phase: "paused" })]],
    ["a revision that is left out", [create, change("pause", { revision: 3, phase: "paused" })]],
    [
      "a time that goes back",
      [create, change("pause", { revision: 2, phase: "paused", updatedAt: "2025-01-01T00:00:00.000Z" })]
    ],
    ["a pause that changes the objective", [create, change("pause", { revision: 2, phase: "paused", objective: "x" })]],
    ["an edit that changes the phase", [create, change("edit", { revision: 2, phase: "paused" })]],
    ["a change that forgets a round", [create, round(1), change("pause", { revision: 2, phase: "paused" })]],
    ["a change that invents a round", [create, change("pause", { revision: 2, phase: "paused", roundsStarted: 1 })]],
    ["a block without a reason", [create, change("block", { revision: 2, phase: "blocked" })]],
    [
      "a pause of a complete goal",
      [
        create,
        change("complete", { revision: 2, phase: "complete" }),
        change("pause", { revision: 3, phase: "paused" })
      ]
    ],
    [
      "a resume without rounds",
      [
        change("create", { maxGoalRounds: 1 }),
        round(1),
        change("resume", { revision: 2, maxGoalRounds: 1, roundsStarted: 1 })
      ]
    ],
    ["a tombstone of another revision", [create, clear(3)]],
    ["a tombstone of nothing", [clear(2)]],
    ["a change after the end", [create, clear(2), change("pause", { revision: 3, phase: "paused" })]]
  ]

  for (const [what, events] of refused) {
    it(`ends at ${what}, and nothing after it counts`, () => {
      const state = fold(...events)
      assert.strictEqual(state.corrupt?.seq, events.length - 1)
      const later = [...stored(events), ...stored([create]).map((event) => ({ ...event, seq: events.length }))]
      assert.deepStrictEqual(later.reduce(GoalLog.projection.apply, GoalLog.initial), state)
    })
  }

  it("knows whether a person spoke in the open turn", () => {
    assert.isNull(fold(create).turn)
    assert.isFalse(fold(opened).turn?.human)
    assert.isTrue(fold(opened, claimed({ kind: "user" })).turn?.human)
    // Steered into a round.
    const both = fold(create, opened, round(1), claimed({ kind: "user" }))
    assert.deepStrictEqual([both.turn?.human, both.turn?.round?.round], [true, 1])
    assert.isNull(fold(opened, claimed({ kind: "user" }), ended).turn)
    assert.isFalse(fold(opened, claimed({ kind: "job-notice", jobs: [] })).turn?.human)
  })

  it("keeps how the last turn ended, until another begins or the goal changes", () => {
    assert.deepStrictEqual(fold(create, opened, ended).lastTurn, { seq: 2, reason: { kind: "completed" } })
    assert.isNull(fold(create, opened, ended, opened).lastTurn)
    assert.isNull(fold(create, opened, ended, change("pause", { revision: 2, phase: "paused" })).lastTurn)
  })

  it("comes back from a snapshot as it was", () => {
    const state = fold(create, opened, round(1), said("One (1)."), result("bash"), ended)
    const text = Schema.encodeSync(Schema.parseJson(GoalLog.GoalState))(state)
    assert.deepStrictEqual(Schema.decodeSync(Schema.parseJson(GoalLog.GoalState))(text), state)
  })
})

describe("the work of rounds", () => {
  it("is how each closes, compared without case, spacing and numbers, and the tools that answered", () => {
    const state = fold(
      create,
      opened,
      round(1),
      said("First"),
      result("bash"),
      result("bash"),
      result("todo_write", false),
      said("Still  waiting (2 min)."),
      ended,
      opened,
      round(2),
      said("STILL waiting (3 min)")
    )
    assert.deepStrictEqual(state.work, [
      { round: 1, closing: "still waiting min", tools: ["bash"] },
      { round: 2, closing: "still waiting min", tools: [] }
    ])
  })

  it("begins anew when a person speaks or the goal changes", () => {
    assert.deepStrictEqual(fold(create, round(1), claimed({ kind: "user" })).work, [])
    assert.deepStrictEqual(
      fold(create, round(1), change("edit", { revision: 2, objective: "x", roundsStarted: 1 })).work,
      []
    )
  })

  it("is kept of the newest rounds", () => {
    const state = fold(
      change("create", { maxGoalRounds: 100 }),
      ...Array.from({ length: 20 }, (_, index) => round(index + 1))
    )
    assert.deepStrictEqual([state.work.length, state.work[0]?.round], [GoalLog.keptRounds, 5])
  })
})

describe("usage", () => {
  it("counts the tokens of requests while the goal is active", () => {
    const counted = fold(said("before"), create, said("a"), said("b", { inputTokens: 1, outputTokens: null }))
    assert.strictEqual(counted.usage.tokens, 6)
    assert.strictEqual(fold(create, said("t", { inputTokens: 9, outputTokens: 9, totalTokens: 4 })).usage.tokens, 4)
    const paused = fold(create, said("a"), change("pause", { revision: 2, phase: "paused" }), said("b"))
    assert.strictEqual(paused.usage.tokens, 5)
    const summarized = (usage?: AgentEvents.Usage) =>
      AgentEvents.ContextCompacted.make({ throughSeq: 0, summary: "s", kept: [], ...(usage && { usage }) })
    const cost = { inputTokens: 70, outputTokens: 7 }
    assert.strictEqual(fold(summarized(cost), create, summarized(), summarized(cost)).usage.tokens, 77)
    assert.strictEqual(fold(create, clear(2), change("create", { id: ref(1, 2).id })).usage.tokens, 0)
  })

  it("counts the time in which it is active, and none for a clock that was set back", () => {
    const pause = change("pause", { revision: 2, phase: "paused" })
    const resume = change("resume", { revision: 3, phase: "active" })
    const state = fold(create, after(10, opened), after(12, pause), after(100, resume), after(101, opened))
    assert.strictEqual(state.usage.activeMs, 13_000)
    assert.strictEqual(GoalLog.usageAt(state, Date.parse(at(103))).activeMs, 15_000)
    const back = fold(after(50, create), after(20, opened), after(21, ended))
    assert.strictEqual(back.usage.activeMs, 1_000)
    assert.strictEqual(GoalLog.usageAt(back, 0).activeMs, 1_000)
  })

  it("counts no time in which an active goal waited disarmed for somebody to resume it", () => {
    const state = fold(create, after(10, ended), after(900, change("resume", { revision: 2 })), after(901, opened))
    assert.strictEqual(state.usage.activeMs, 11_000)
  })
})
