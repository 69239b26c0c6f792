import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import * as Instant from "@afterturn/session-log/Instant"
import type { EventInput, SessionEvent } from "@afterturn/session-log/SessionEvent"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ClearOn } from "@afterturn/todo/TodoConfig"
import type { TodoItem } from "@afterturn/todo/TodoItem"
import * as TodoLog from "@afterturn/todo/TodoLog"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { todoLists } from "./support/arbitraries.js"

const a: TodoItem = { content: "a", status: "pending" }
const b: TodoItem = { content: "b", status: "completed" }

const sources: { readonly [Kind in MessageSource["kind"]]: Extract<MessageSource, { readonly kind: Kind }> } = {
  user: { kind: "user" },
  "job-notice": { kind: "job-notice", jobs: ["bash-1"] },
  reminder: { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-03-09T06:30:00.000Z" }] },
  "goal-round": { kind: "goal-round", goalId: "goal-1", revision: 1, round: 1 },
  agent: { kind: "agent", sessionId: SessionId.make("parent") },
  system: { kind: "system" }
}

const write = (...todos: ReadonlyArray<TodoItem>): EventInput => TodoLog.TodoWrite.make({ todos })
const start = (turn: number, source: MessageSource = sources.user) => AgentEvents.TurnStart.make({ turn, source })
const end = (turn: number) => AgentEvents.TurnEnd.make({ turn, reason: { kind: "completed" } })

const stored = (inputs: ReadonlyArray<EventInput>): ReadonlyArray<SessionEvent> =>
  inputs.map((input, seq) => ({ seq, time: Instant.format(seq * 1000), type: input.type, data: input.data }))

const fold = (clearOn: ClearOn, ...inputs: ReadonlyArray<EventInput>) => {
  const { apply, initial } = TodoLog.projection(clearOn)
  return stored(inputs).reduce(apply, initial)
}

const versions = (clearOn: ClearOn, seedLength: number, ...inputs: ReadonlyArray<EventInput>) => {
  const at = TodoLog.versionAt(clearOn, seedLength)
  let state = TodoLog.initialVersionState
  return stored(inputs).flatMap((event) => {
    const [next, version] = at(state, event)
    state = next
    return version === undefined ? [] : [version]
  })
}

describe("TodoWrite", () => {
  it("takes whatever list a log may hold, and no other key", () => {
    const twice = { todos: [a, a, { content: "x\ny", status: "in_progress" }, { content: "", status: "in_progress" }] }
    assert.isUndefined(TodoLog.TodoWrite.problem(twice))
    assert.isString(TodoLog.TodoWrite.problem({ todos: [{ ...a, priority: 1 }] }))
    assert.isString(TodoLog.TodoWrite.problem({ todos: [], note: "" }))
    assert.isString(TodoLog.TodoWrite.problem({ todos: null }))
  })
})

describe("projection", () => {
  it("goes on with the list in a turn that a call from outside opened, unless every turn clears it", () => {
    const called = AgentEvents.TurnStart.make({ turn: 2, source: sources.user, by: "call" })
    assert.deepStrictEqual(fold("user-turn", start(1), write(a), end(1), called), [a])
    assert.isNull(fold("every-turn", start(1), write(a), end(1), called))
  })

  it("has no list at first, then the last one written", () => {
    assert.isNull(fold("every-turn"))
    assert.deepStrictEqual(fold("every-turn", start(1), write(a), write(b, a)), [b, a])
    assert.deepStrictEqual(fold("every-turn", write(a), write()), [])
  })

  it("keeps the list at a turn's end and clears it at the next start", () => {
    assert.deepStrictEqual(fold("every-turn", start(1), write(a), end(1)), [a])
    assert.isNull(fold("every-turn", start(1), write(a), end(1), start(2)))
    assert.isNull(fold("user-turn", start(1), write(a), end(1), start(2)))
  })

  it("clears by what opened the turn", () => {
    for (const [kind, keeps] of [
      ["user", false],
      ["agent", false],
      ["system", false],
      ["job-notice", true],
      ["reminder", true],
      ["goal-round", true]
    ] as const) {
      assert.isNull(fold("every-turn", write(a), start(2, sources[kind])), kind)
      assert.deepStrictEqual(fold("user-turn", write(a), start(2, sources[kind])), keeps ? [a] : null, kind)
    }
  })

  it("keeps the reference for an event that changes nothing", () => {
    const { apply } = TodoLog.projection("user-turn")
    const list = [a]
    const others = [end(1), start(2, sources.reminder), { type: "user/message", data: { anything: true } }]
    for (const event of stored(others)) assert.strictEqual(apply(list, event), list)
  })

  it("folds lists that today's policy and limits would refuse", () => {
    const parallel: ReadonlyArray<TodoItem> = [
      { content: "x\n\u0000", status: "in_progress" },
      { content: "x\n\u0000", status: "in_progress" },
      { content: "x".repeat(20_000), status: "in_progress" }
    ]
    assert.deepStrictEqual(fold("every-turn", write(...parallel)), parallel)
  })

  it("never reads the snapshot of the other policy", () => {
    const every = TodoLog.projection("every-turn")
    const user = TodoLog.projection("user-turn")
    assert.strictEqual(every.key, "todos")
    assert.strictEqual(user.key, "todos")
    assert.notStrictEqual(every.version, user.version)
    assert.strictEqual(TodoLog.projection("user-turn"), user)
  })

  it("looks at no other types than it names", () => {
    assert.deepStrictEqual(TodoLog.projection("every-turn").types, ["todo/write", "turn/start"])
  })

  it("writes a state that it reads back", () => {
    const codec = TodoLog.projection("every-turn").schema
    for (const state of [null, [], [a, b]]) {
      assert.deepStrictEqual(Schema.decodeUnknownSync(codec)(JSON.parse(JSON.stringify(state))), state)
    }
  })
})

describe("versionAt", () => {
  it("gives each list its turn and time, and says where it was cleared", () => {
    assert.deepStrictEqual(versions("every-turn", 0, start(1), write(a), write(b), end(1), write(a), start(2)), [
      { seq: 1, time: "1970-01-01T00:00:01.000Z", turn: 1, todos: [a], inherited: false },
      { seq: 2, time: "1970-01-01T00:00:02.000Z", turn: 1, todos: [b], inherited: false },
      { seq: 4, time: "1970-01-01T00:00:04.000Z", turn: null, todos: [a], inherited: false },
      { seq: 5, time: "1970-01-01T00:00:05.000Z", turn: 2, todos: null, inherited: false }
    ])
  })

  it("follows the policy", () => {
    const log = [start(1), write(a), end(1), start(2, sources.reminder), end(2), start(3)]
    assert.deepStrictEqual(
      versions("user-turn", 0, ...log).map(({ seq, todos }) => [seq, todos]),
      [
        [1, [a]],
        [5, null]
      ]
    )
    assert.deepStrictEqual(
      versions("every-turn", 0, ...log).map(({ seq, todos }) => [seq, todos]),
      [
        [1, [a]],
        [3, null]
      ]
    )
  })

  it("marks a parent's lists, and begins without one where the fork begins", () => {
    const found = versions("every-turn", 2, start(1), write(a), start(2), write(b))
    assert.deepStrictEqual(
      found.map(({ inherited, seq, todos, turn }) => ({ inherited, seq, todos, turn })),
      [
        { inherited: true, seq: 1, todos: [a], turn: 1 },
        { inherited: false, seq: 3, todos: [b], turn: 2 }
      ]
    )
  })

  const logs = fc.array(
    fc.oneof(
      todoLists.map((todos) => write(...todos)),
      fc.constantFrom(...Object.values(sources)).map((source) => start(1, source)),
      fc.constant(end(1))
    )
  )

  it.prop(
    "ends with what the projection shows",
    [fc.constantFrom<ClearOn>("every-turn", "user-turn"), logs],
    ([clearOn, log]) => {
      const last = versions(clearOn, 0, ...log).at(-1)
      assert.deepStrictEqual(last?.todos ?? null, fold(clearOn, ...log))
    }
  )
})
