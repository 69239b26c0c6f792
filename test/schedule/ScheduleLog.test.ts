import type { ReminderId } from "@afterturn/schedule/Reminder"
import * as Schedule from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import type { ScheduleState } from "@afterturn/schedule/ScheduleLog"
import * as ScheduleLog from "@afterturn/schedule/ScheduleLog"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { eventOf, histories } from "./support/histories.js"

const fold = (events: ReadonlyArray<SessionEvent>): ScheduleState =>
  events.reduce<ScheduleState>((state, event) => ScheduleLog.reminders.apply(state, event), ScheduleLog.empty)

/** All that can be told of a state. */
const shown = (state: ScheduleState) => ({
  last: state.last,
  active: ScheduleLog.list(state),
  order: Array.from(ScheduleLog.soonest(state)).map(({ id }) => id),
  earliest: ScheduleLog.earliest(state),
  finished: [...HashSet.toValues(state.finished)].sort((a, b) => a - b),
  faults: state.faults
})

const every = (id: string, options?: object) => ({
  id,
  title: "t",
  prompt: "p",
  rule: { every_seconds: 60 },
  createdAt: "2026-01-01T00:00:00.000Z",
  scheduledAt: "2026-01-01T00:01:00.000Z",
  ...options
})

const once = (id: string) => every(id, { rule: { at: "2026-01-01T00:01:00Z" } })

const change = (operation: string, rest: object, version = 1) => ({ version, operation, ...rest })

const create = (record: object) => change("create", { record })

const dispatched = (options?: object) =>
  change("dispatch", {
    id: "schedule-1",
    occurrenceAt: "2026-01-01T00:01:00.000Z",
    acceptedAt: "2026-01-01T00:01:00.500Z",
    missed: 0,
    scheduledAt: "2026-01-01T00:02:00.000Z",
    ...options
  })

const without = (data: object, key: string) => Object.fromEntries(Object.entries(data).filter(([name]) => name !== key))

describe("the fold", () => {
  it.prop("takes every valid history and leaves what was meant", [histories], ([history]) => {
    const state = fold(history.events)
    assert.deepStrictEqual(state.faults, [])
    assert.deepStrictEqual(
      ScheduleLog.list(state).map(({ id, paused, scheduledAt }) => [id, scheduledAt, paused]),
      history.active
        .map((each) => [...each])
        .sort(([a], [b]) => Number(String(a).slice(9)) - Number(String(b).slice(9)))
    )
    assert.deepStrictEqual(shown(state).finished, history.finished)
    const waiting = ScheduleLog.list(state)
      .filter(({ paused }) => !paused)
      .map(({ id, scheduledAt }) => `${scheduledAt} ${id.padStart(20)}`)
      .sort()
    assert.deepStrictEqual(
      Array.from(ScheduleLog.soonest(state)).map(({ id, scheduledAt }) => `${scheduledAt} ${id.padStart(20)}`),
      waiting
    )
  })

  it.prop("is the same from a snapshot", [histories, FastCheck.nat({ max: 40 })], ([history, cut]) => {
    const codec = Schema.parseJson(ScheduleLog.reminders.schema)
    const snapshot = Schema.encodeSync(codec)(fold(history.events.slice(0, cut)))
    const resumed = history.events
      .slice(cut)
      .reduce((state, event) => ScheduleLog.reminders.apply(state, event), Schema.decodeSync(codec)(snapshot))
    assert.deepStrictEqual(shown(resumed), shown(fold(history.events)))
  })

  it.prop(
    "refuses a history of which one event was changed, or is the same",
    [histories.filter(({ events }) => events.length > 0), FastCheck.nat(), FastCheck.nat()],
    ([history, which, how]) => {
      const index = which % history.events.length
      const event = history.events[index]!
      const mutations = mutationsOf(event.data as Record<string, unknown>)
      const data = mutations[how % mutations.length]
      const mutated =
        data === undefined
          ? [...history.events.slice(0, index + 1), event, ...history.events.slice(index + 1)]
          : history.events.map((each, seq) => (seq === index ? eventOf(data, seq) : each))
      const after = fold(mutated)
      if (after.faultCount === 0) assert.deepStrictEqual(shown(after), shown(fold(history.events)))
      else assert.isAtLeast(after.faults[0]!.seq, 0)
    },
    { fastCheck: { numRuns: 400 } }
  )

  /** Of one event; `undefined` stands for having it twice. */
  const mutationsOf = (data: Record<string, unknown>): ReadonlyArray<unknown> => [
    undefined,
    null,
    "x",
    [],
    {},
    { ...data, version: 2 },
    { ...data, version: "1" },
    { ...data, extra: 1 },
    { ...data, operation: "revive" },
    ...Object.keys(data).map((key) => without(data, key)),
    ...Object.keys(data).map((key) => ({ ...data, [key]: null })),
    ...("id" in data
      ? [
          { ...data, id: "schedule-0" },
          { ...data, id: " schedule-1" },
          { ...data, id: "schedule-999" }
        ]
      : []),
    ...("occurrenceAt" in data
      ? [
          { ...data, occurrenceAt: "2025-01-01T00:00:00.000Z" },
          { ...data, occurrenceAt: "2026-01-01" },
          { ...data, missed: (data.missed as number) + 1 },
          { ...data, missed: -1 },
          { ...data, acceptedAt: "2025-01-01T00:00:00.000Z" }
        ]
      : []),
    ...("record" in data
      ? [
          { ...data, record: { ...(data.record as object), extra: 1 } },
          { ...data, record: { ...(data.record as object), rule: { every_seconds: 1, after_seconds: 1 } } },
          { ...data, record: { ...(data.record as object), rule: {} } },
          { ...data, record: { ...(data.record as object), title: "" } },
          { ...data, record: { ...(data.record as object), createdAt: "2026-01-01T00:00:00Z" } },
          { ...data, record: { ...(data.record as object), id: "schedule-0" } }
        ]
      : [])
  ]

  const refused: ReadonlyArray<readonly [string, ReadonlyArray<unknown>, number]> = [
    ["an unknown version", [change("create", { record: every("schedule-1") }, 2)], 0],
    ["an extra field", [{ ...create(every("schedule-1")), note: "x" }], 0],
    ["an extra field of the record", [create(every("schedule-1", { note: "x" }))], 0],
    ["an id twice", [create(every("schedule-1")), create(every("schedule-1"))], 1],
    ["an id that was given out before", [create(every("schedule-2")), create(every("schedule-1"))], 1],
    ["a dispatch of nothing", [dispatched()], 0],
    ["a dispatch while paused", [create(every("schedule-1")), change("pause", { id: "schedule-1" }), dispatched()], 2],
    [
      "a dispatch before its time",
      [create(every("schedule-1")), dispatched({ acceptedAt: "2026-01-01T00:00:30.000Z" })],
      1
    ],
    [
      "a dispatch between occurrences",
      [create(every("schedule-1")), dispatched({ occurrenceAt: "2026-01-01T00:01:00.250Z" })],
      1
    ],
    ["a dispatch that miscounts", [create(every("schedule-1")), dispatched({ missed: 1 })], 1],
    [
      "a dispatch that leaves out an occurrence",
      [create(every("schedule-1")), dispatched({ scheduledAt: "2026-01-01T00:03:00.000Z" })],
      1
    ],
    [
      "a second dispatch of what comes once",
      [create(once("schedule-1")), without(dispatched(), "scheduledAt"), without(dispatched(), "scheduledAt")],
      2
    ],
    ["a next occurrence of what comes once", [create(once("schedule-1")), dispatched()], 1],
    [
      "a deletion twice",
      [create(once("schedule-1")), change("delete", { id: "schedule-1" }), change("delete", { id: "schedule-1" })],
      2
    ],
    [
      "a resume of what is not paused",
      [create(every("schedule-1")), change("resume", { id: "schedule-1", scheduledAt: "2026-01-01T00:01:00.000Z" })],
      1
    ],
    [
      "a pause twice",
      [create(every("schedule-1")), change("pause", { id: "schedule-1" }), change("pause", { id: "schedule-1" })],
      2
    ],
    [
      "a new delay",
      [create(every("schedule-1")), change("update", { record: every("schedule-1", { rule: { after_seconds: 60 } }) })],
      1
    ],
    [
      "another creation time",
      [
        create(every("schedule-1")),
        change("update", { record: every("schedule-1", { createdAt: "2026-01-01T00:00:01.000Z" }) })
      ],
      1
    ]
  ]
  for (const [what, changes, seq] of refused) {
    it(`refuses ${what}, naming its seq`, () => {
      const state = fold(changes.map(eventOf))
      assert.deepStrictEqual(
        state.faults.map((fault) => fault.seq),
        [seq]
      )
      assert.isNotEmpty(state.faults[0]!.reason)
    })
  }

  it("sets aside what a bad event concerns, and goes on with the others", () => {
    const state = fold(
      [
        create(every("schedule-1")),
        create(every("schedule-2")),
        { ...dispatched(), surprise: true },
        dispatched({ id: "schedule-2" }),
        create(every("schedule-3"))
      ].map(eventOf)
    )
    assert.deepStrictEqual(
      ScheduleLog.list(state).map(({ id }) => id),
      ["schedule-2", "schedule-3"]
    )
    assert.deepInclude(state.faults[0], { seq: 2, id: "schedule-1" as ReminderId })
    assert.strictEqual(state.faultCount, 1)
  })

  it("a recurring dispatch that names no next occurrence leaves that to the rule", () => {
    const state = fold([create(every("schedule-1")), without(dispatched(), "scheduledAt")].map(eventOf))
    assert.strictEqual(ScheduleLog.earliest(state), "2026-01-01T00:02:00.000Z")
  })

  it("deletes what is over once", () => {
    const over = [create(once("schedule-1")), without(dispatched(), "scheduledAt")]
    assert.isTrue(ScheduleLog.isFinished(fold(over.map(eventOf)), "schedule-1" as ReminderId))
    const state = fold([...over, change("delete", { id: "schedule-1" })].map(eventOf))
    assert.strictEqual(state.faultCount, 0)
    assert.isFalse(ScheduleLog.isFinished(state, "schedule-1" as ReminderId))
  })

  it("finds the first that says the same under the same rule", () => {
    const state = fold(
      [create(every("schedule-1", { title: "other" })), create(every("schedule-2")), create(every("schedule-3"))].map(
        eventOf
      )
    )
    assert.strictEqual(
      ScheduleLog.twinOf(state, { title: "t", prompt: "p", rule: { every_seconds: 60 } })?.id,
      "schedule-2"
    )
    assert.isUndefined(ScheduleLog.twinOf(state, { title: "t", prompt: "p", rule: { every_seconds: 61 } }))
  })
})

describe("a session", () => {
  const services = Schedule.layer.pipe(
    Layer.provide(Layer.orDie(ScheduleConfig.layer())),
    Layer.provideMerge(SessionLog.layerMemory)
  )

  it.effect("a fork keeps the history, none of the reminders, and gives out no number again", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog.SessionLog
      const schedule = yield* Schedule.Schedule
      const { id } = yield* log.create()
      const reminder = { title: "t", prompt: "p", rule: { every_seconds: 60 } }
      for (let count = 0; count < 3; count++) yield* schedule.create(id, reminder)
      const child = yield* log.fork(id)
      assert.isEmpty((yield* schedule.list(child.id)).reminders)
      const own = yield* schedule.create(child.id, reminder)
      assert.strictEqual(own.reminder.id, "schedule-4")
      assert.isUndefined(own.twin)
      assert.lengthOf((yield* schedule.list(id)).reminders, 3)
      const strange = yield* Effect.flip(schedule.history(child.id, "schedule-1"))
      assert.strictEqual(strange._tag, "ScheduleError")
    }).pipe(Effect.provide(services))
  )

  it.effect("with an event that can't be: the rest is read, nothing is written, and the event is named", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog.SessionLog
      const schedule = yield* Schedule.Schedule
      const store = yield* SessionStore
      const { id } = yield* log.create()
      const reminder = { title: "t", prompt: "p", rule: { every_seconds: 60 } }
      for (let count = 0; count < 3; count++) yield* schedule.create(id, reminder)
      const bad = JSON.stringify({ version: 1, operation: "pause", id: "schedule-2", why: "?" })
      yield* store.commit([
        {
          sessionId: id,
          expectedSeq: undefined,
          epoch: undefined,
          now: 0,
          events: [{ type: "schedule/change", time: 0, data: bad, sourceEventSeqs: null, ignorable: false }]
        }
      ])
      const { faults, reminders } = yield* schedule.list(id)
      assert.deepStrictEqual(
        reminders.map((each) => each.id),
        ["schedule-1", "schedule-3"] as ReadonlyArray<string>
      )
      assert.deepInclude(faults[0], { seq: 3, id: "schedule-2" as ReminderId })
      for (const attempt of [
        Effect.asVoid(schedule.create(id, reminder)),
        Effect.asVoid(schedule.pause(id, "schedule-1")),
        Effect.asVoid(schedule.delete(id, "schedule-3")),
        Effect.asVoid(schedule.runNow(id, "schedule-1"))
      ]) {
        const error = yield* Effect.flip(attempt)
        assert.isTrue(error._tag === "ScheduleError" && error.code === "corrupt_schedule_log", error.message)
        assert.include(error.message, "the event at 3")
        assert.include(error.message, "sessions verify")
      }
      const projections = yield* Projections
      assert.strictEqual((yield* projections.get(id, ScheduleLog.reminders)).asOfSeq, 3)
      // Nobody writes such an event through the log.
      const refusal = yield* Effect.flip(log.append(id, [{ type: "schedule/change", data: JSON.parse(bad) }]))
      assert.strictEqual(refusal._tag, "EventRejected")
    }).pipe(Effect.provide(services))
  )
})
