import type { Evidence, RawEvent, RawSession } from "@afterturn/testing/SimulationCheck"
import * as SimulationCheck from "@afterturn/testing/SimulationCheck"
import { assert, describe, it } from "vitest"

type Given = readonly [type: string, data: unknown, time?: string]

const noon = "2026-01-01T12:00:00.000Z"

const eventsOf = (given: ReadonlyArray<Given>): ReadonlyArray<RawEvent> =>
  given.map(([type, data, time], seq) => ({ seq, type, time: time ?? noon, data }))

const sessionOf = (given: ReadonlyArray<Given>, more: Partial<RawSession> = {}): RawSession => ({
  id: "s1",
  parent: null,
  seedLength: 0,
  lease: false,
  observed: {},
  events: eventsOf(given),
  ...more
})

const evidenceOf = (sessions: ReadonlyArray<RawSession>, more: Partial<Evidence> = {}): Evidence => ({
  sessions,
  acknowledged: { events: [], messages: [] },
  announced: [],
  logged: [],
  leftovers: [],
  now: "2026-01-02T00:00:00.000Z",
  ...more
})

const judge = (given: ReadonlyArray<Given>, more?: Partial<Evidence>) =>
  SimulationCheck.judge(evidenceOf([sessionOf(given)], more)).map(SimulationCheck.toText)

/** All of what is said, each part of which names what is expected. */
const finds = (found: ReadonlyArray<string>, ...expected: ReadonlyArray<string>) => {
  assert.strictEqual(found.length, expected.length, found.join("\n"))
  for (const [index, part] of expected.entries()) assert.include(found[index], part)
}

const user = { kind: "user" }
const insert = (id: string, source: unknown = user, list = "nextTurn"): Given => [
  "agent/inbox/spliced",
  { list, op: "insert", messages: [{ id, source }] }
]
const claim = (id: string, turn = 1, list = "nextTurn"): Given => [
  "agent/inbox/spliced",
  { list, op: "claim", ids: [id], turn }
]
const message = (id: string, source: unknown = user): Given => ["user/message", { id, source }]
const begin = (turn = 1, source: unknown = user): Given => ["turn/start", { turn, source }]
const finish = (turn = 1): Given => ["turn/end", { turn, reason: { kind: "completed" } }]
const step = (type: "start" | "end", number = 1, turn = 1): Given => [`step/${type}`, { turn, step: number }]
const answer = (calls: ReadonlyArray<string> = [], turn = 1, number = 1): Given => [
  "assistant/message",
  { turn, step: number, content: calls.map((callId) => ({ type: "tool-call", callId })) }
]
const call = (callId: string, name: string, input: unknown = {}): Given => [
  "tool/call",
  { callId, turn: 1, step: 1, name, input }
]
const result = (callId: string, name: string, value: unknown): Given => [
  "tool/result",
  { callId, name, ok: true, value }
]

/** A turn for a message, in which the model says something. */
const turn = (
  id: string,
  source: unknown = user,
  number = 1,
  calls: ReadonlyArray<string> = [],
  inside: ReadonlyArray<Given> = []
): ReadonlyArray<Given> => [
  insert(id, source),
  claim(id, number),
  begin(number, source),
  message(id, source),
  step("start", 1, number),
  answer(calls, number),
  ...inside,
  step("end", 1, number),
  finish(number)
]

describe("the checks of a simulation", () => {
  it("find nothing wrong with a sound session", () => {
    const calls = [
      call("c1", "todo_write", { todos: [] }),
      ["todo/write", { todos: [] }] as const,
      result("c1", "todo_write", {})
    ]
    finds(judge([...turn("m1", user, 1, ["c1"], calls), ...turn("m2", user, 2)]))
  })

  describe("of the log", () => {
    it("find a gap", () => {
      const [first, second] = eventsOf([begin(), finish()])
      const session = sessionOf([], { events: [first as RawEvent, { ...(second as RawEvent), seq: 2 }] })
      finds(SimulationCheck.judge(evidenceOf([session])).map(SimulationCheck.toText), "log: session s1, event 2")
    })

    it("find what was acknowledged or announced and is not stored", () => {
      const [event] = eventsOf([begin(7)])
      const promised = { session: "s1", event: event as RawEvent }
      finds(
        judge(turn("m1"), { acknowledged: { events: [promised], messages: [] }, announced: [promised] }),
        "was acknowledged",
        "was announced"
      )
    })

    it("find a fork that begins otherwise than its parent", () => {
      const parent = sessionOf(turn("m1"))
      const fork = sessionOf(turn("m2"), { id: "s2", parent: "s1", seedLength: 9 })
      finds(SimulationCheck.judge(evidenceOf([parent, fork])).map(SimulationCheck.toText), "the history differs")
    })
  })

  describe("of turns", () => {
    it.each<readonly [string, ReadonlyArray<Given>, string]>([
      ["a turn in a turn", [begin(), begin(2), finish(2)], "turn 1 is open"],
      ["a turn left open", [begin()], "turn 1 is still open"],
      ["a number left out", [begin(2), finish(2)], "turn 2 follows 0"],
      ["an answer outside of a step", [begin(), answer(), finish()], "no step is open"],
      [
        "a call without an answer",
        [begin(), step("start"), answer(["c1"]), step("end"), finish()],
        "without an answer"
      ],
      [
        "a second answer",
        [begin(), step("start"), answer(["c1"]), result("c1", "x", 1), result("c1", "x", 1), step("end"), finish()],
        "has its answer"
      ]
    ])("find %s", (_, given, problem) => finds(judge(given), problem))
  })

  describe("of the inbox", () => {
    it.each<readonly [string, ReadonlyArray<Given>, string]>([
      ["a message that still waits", [insert("m1")], "still waits"],
      ["one that comes twice", [...turn("m1"), ...turn("m1", user, 2)], "comes in again"],
      ["one that nobody inserted", [begin(), message("m1"), finish()], "has not claimed it"],
      ["one that is lost in a claim", [insert("m1"), claim("m1"), begin(), finish()], "never shown"]
    ])("find %s", (_, given, problem) => finds(judge(given), problem))

    it("take a message back from a turn that ended before the model answered", () =>
      finds(
        judge([
          insert("m1", { kind: "system" }),
          claim("m1"),
          begin(1, { kind: "system" }),
          message("m1", { kind: "system" }),
          insert("m1", { kind: "system" }, "nextStep"),
          finish(),
          claim("m1", 2, "nextStep"),
          begin(2, { kind: "system" }),
          message("m1", { kind: "system" }),
          finish(2)
        ])
      ))

    it("find an accepted message that is nowhere", () =>
      finds(judge([], { acknowledged: { events: [], messages: [{ session: "s1", id: "m1" }] } }), "was accepted"))
  })

  describe("of jobs", () => {
    const notice = { kind: "job-notice", jobs: ["bash-1"] }
    const start: Given = ["job/start", { id: "bash-1", kind: "bash" }]
    const settle: Given = ["job/settle", { id: "bash-1", status: "completed" }]
    const shown = [call("c1", "job_output"), result("c1", "job_output", { job_id: "bash-1", status: "completed" })]

    it("are content with one notice, or with one look", () => {
      finds(judge([start, settle, ...turn("m1", notice)]))
      finds(judge([start, settle, ...turn("m1", user, 1, ["c1"], shown)]))
    })

    it.each<readonly [string, ReadonlyArray<Given>, string]>([
      ["an end that nobody was told of", [start, settle], "nobody was told"],
      ["a job that never ends", [start], "never ends"],
      ["a second end", [start, settle, settle, ...turn("m1", notice)], "ends again"],
      ["a second notice", [start, settle, ...turn("m1", notice), ...turn("m2", notice, 2)], "of bash-1 again"],
      [
        "a notice of what a tool has shown",
        [start, settle, ...turn("m1", user, 1, ["c1"], shown), ...turn("m2", notice, 2)],
        "a tool has shown"
      ],
      [
        "an id that is used again",
        [
          ["job/start", { id: "bash-2", kind: "bash" }],
          ["job/settle", { id: "bash-2", status: "failed" }],
          ...turn("m1", { kind: "job-notice", jobs: ["bash-2"] }),
          start,
          settle,
          ...turn("m2", notice, 2)
        ],
        "was used before"
      ]
    ])("find %s", (_, given, problem) => finds(judge(given), problem))

    it("find a notice in another session", () => {
      const found = judge(turn("m1", notice))
      assert.isTrue(found.every((line) => line.includes("has not ended here")) && found.length > 0)
    })
  })

  describe("of reminders", () => {
    const createdAt = "2026-03-28T12:00:00.000Z"
    const create = (rule: unknown, scheduledAt: string): Given => [
      "schedule/change",
      { operation: "create", record: { id: "schedule-1", rule, createdAt, scheduledAt } },
      createdAt
    ]
    const due = "2026-03-28T13:00:00.000Z"
    const reminder = (occurrenceAt = due) => ({ kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt }] })
    const dispatch = (more: object = {}, time = due): Given => [
      "schedule/change",
      { operation: "dispatch", id: "schedule-1", occurrenceAt: due, acceptedAt: due, missed: 0, ...more },
      time
    ]
    const once = create({ after_seconds: 3600 }, due)
    const hourly = create({ every_seconds: 3600 }, due)
    const night = { time: "02:30:00", time_zone: "Europe/Berlin" }

    it("are content with an occurrence at its time", () => finds(judge([once, ...turn("m1", reminder()), dispatch()])))

    it.each<readonly [string, ReadonlyArray<Given>, string]>([
      ["one that never came", [once], "has not come"],
      ["one that came early", [once, ...turn("m1", reminder()), dispatch({ acceptedAt: createdAt })], "and is due at"],
      ["one that is recorded and lost", [once, dispatch()], "recorded and never came"],
      [
        "one that is delivered and not recorded",
        [create({ after_seconds: 99_999 }, "2026-03-29T15:46:39.000Z"), ...turn("m1", reminder())],
        "not recorded"
      ],
      [
        "one that came twice",
        [once, ...turn("m1", reminder()), ...turn("m2", reminder(), 2), dispatch()],
        "came 2 times"
      ],
      ["a time in a gap", [create({ daily: night }, "2026-03-29T01:30:00.000Z")], "expected 2026-03-30T00:30:00.000Z"],
      [
        "a miscount",
        [hourly, ...turn("m1", reminder()), dispatch({ missed: 1, scheduledAt: "2026-03-28T14:00:00.000Z" })],
        "what schedule-1 missed"
      ]
    ])("find %s", (_, given, problem) =>
      finds(
        judge(given, {
          now: problem.startsWith("what") || problem.startsWith("expected") ? createdAt : "2026-03-28T23:00:00.000Z"
        }),
        problem
      )
    )

    it("know the first of two equal local times, and cron's two day fields", () => {
      const at = (rule: unknown, scheduledAt: string) => judge([create(rule, scheduledAt)], { now: createdAt })
      const madeIn = (time: string) => ({ cron: { expression: "30 1 * * *", time_zone: time } })
      finds(at(madeIn("America/New_York"), "2026-03-29T05:30:00.000Z"))
      finds(at({ cron: { expression: "0 9 1 * MON", time_zone: "UTC" } }, "2026-03-30T09:00:00.000Z"))
      finds(at({ cron: { expression: "*/20 10-12/2 */2 APR *", time_zone: "UTC" } }, "2026-04-01T10:00:00.000Z"))
      finds(at({ weekly: { ...night, weekdays: [7] } }, "2026-04-05T00:30:00.000Z"))
      finds(at({ at: { date: "2026-10-25", ...night } }, "2026-10-25T00:30:00.000Z"))
    })
  })

  describe("of goals", () => {
    const goal = (more: object = {}) => ({
      id: "goal-1",
      revision: 1,
      phase: "active",
      maxGoalRounds: 2,
      roundsStarted: 0,
      createdAt: noon,
      updatedAt: noon,
      ...more
    })
    const change = (operation: string, more?: object): Given => ["goal/change", { operation, goal: goal(more) }]
    const round = (number: number, revision = 1) => ({ kind: "goal-round", goalId: "goal-1", revision, round: number })

    it("are content with rounds in a row and a legal end", () =>
      finds(
        judge([
          change("create"),
          ...turn("m1", round(1)),
          ...turn("m2", round(2), 2),
          change("complete", { revision: 2, phase: "complete", roundsStarted: 2 })
        ])
      ))

    it.each<readonly [string, ReadonlyArray<Given>, string]>([
      ["a round left out", [change("create"), ...turn("m1", round(2))], "the number of a round"],
      [
        "a round too many",
        [change("create", { maxGoalRounds: 1 }), ...turn("m1", round(1)), ...turn("m2", round(2), 2)],
        "round 2 of at most 1"
      ],
      [
        "a round of a former revision",
        [change("create"), change("edit", { revision: 2 }), ...turn("m1", round(1))],
        "the revision of a round"
      ],
      ["a revision left out", [change("create"), change("pause", { revision: 3, phase: "paused" })], "its revision"],
      [
        "a step from where it is not allowed",
        [
          change("create"),
          change("pause", { revision: 2, phase: "paused" }),
          change("block", { revision: 3, phase: "blocked", blockedReason: {} })
        ],
        "block of a goal that is paused"
      ],
      ["a second goal", [change("create"), change("create", { id: "goal-2" })], "takes the place"]
    ])("find %s", (_, given, problem) => finds(judge(given), problem))
  })

  describe("of todos", () => {
    const todos = [{ content: "a", status: "pending" }]
    const write: Given = ["todo/write", { todos }]
    const observed = (given: ReadonlyArray<Given>, shown: unknown) =>
      SimulationCheck.judge(evidenceOf([sessionOf(given, { observed: { todos: shown } })])).map(SimulationCheck.toText)

    it("hold the list that is shown against the last one written", () => {
      finds(observed([...turn("m1"), write], todos))
      finds(observed([write, ...turn("m1")], null))
      finds(observed([write, ...turn("m1")], todos), "the list is shown as")
    })

    it("find a list that was accepted and never written", () =>
      finds(
        judge(turn("m1", user, 1, ["c1"], [call("c1", "todo_write", { todos }), result("c1", "todo_write", {})])),
        "never was the list"
      ))
  })

  it("find what is left behind, and what broke", () => {
    const session = sessionOf([], { lease: true })
    const found = SimulationCheck.judge(evidenceOf([session], { leftovers: ["process 1"], logged: ["a defect"] }))
    finds(found.map(SimulationCheck.toText), "its lease", "process 1", "a defect")
  })

  it("take checks of one's own", () => {
    const mine = { mine: () => [{ session: "s1", problem: "as it should not be" }] }
    const found = SimulationCheck.judge(evidenceOf([]), mine)
    assert.deepStrictEqual(found.map(SimulationCheck.toText), ["mine: session s1: as it should not be"])
  })
})
