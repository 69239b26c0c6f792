import * as AgentLog from "@afterturn/agent/AgentLog"
import { Agents } from "@afterturn/agent/Agents"
import { Schedule } from "@afterturn/schedule/Schedule"
import { format } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { changesIn, eventsOf, memory, turnsIn } from "./support/runtime.js"

const at = (seconds: number) => format(Date.UTC(2026, 0, 1) + seconds * 1000)

const tea = { title: " tea ", prompt: "  Pour the tea.\n", rule: { every_seconds: 60 } }

const begin = Effect.gen(function* () {
  yield* TestClock.setTime(Date.UTC(2026, 0, 1))
  const log = yield* SessionLog
  return { id: (yield* log.create()).id, log, schedule: yield* Schedule }
})

/** What was refused, as the model would see it. */
const codeOf = <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), (error) => ("code" in error ? error.code : error._tag))

const test = <A, E>(
  title: string,
  body: Effect.Effect<A, E, Effect.Effect.Context<typeof begin> | Agents | Projections | SessionAlarms>,
  settings?: Parameters<typeof memory>[0]
) => it.effect(title, () => Effect.provide(body, memory(settings)))

describe("reminders of a session that nobody drives", () => {
  test(
    "are made, listed and read, trimmed, with their rule in words and the next instants",
    Effect.gen(function* () {
      const { id, log, schedule } = yield* begin
      const { reminder, twin } = yield* schedule.create(id, tea)
      assert.deepInclude(reminder, {
        id: "schedule-1" as never,
        title: "tea",
        prompt: "Pour the tea.",
        createdAt: at(0),
        scheduledAt: at(60),
        state: "scheduled",
        delivery: "session-local"
      })
      assert.include(reminder.words, "every 1 minute")
      assert.deepStrictEqual(
        reminder.upcoming.map((next) => next.at),
        [at(60), at(120), at(180)]
      )
      assert.isUndefined(twin)
      assert.strictEqual((yield* schedule.create(id, tea)).twin, "schedule-1")
      const berlin = yield* schedule.create(id, {
        title: "standup",
        prompt: "Join.",
        rule: { daily: { time: "09:00:00", time_zone: "Europe/Berlin" } }
      })
      assert.strictEqual(berlin.reminder.localTime, "2026-01-01T09:00:00+01:00")
      const { faults, reminders } = yield* schedule.list(id)
      assert.deepStrictEqual(faults, [])
      assert.deepStrictEqual(
        reminders.map((each) => String(each.id)),
        ["schedule-1", "schedule-2", "schedule-3"]
      )
      assert.deepStrictEqual(yield* schedule.get(id, "schedule-3"), reminders[2])
      assert.strictEqual(yield* log.lastSeq(id), 2)
    })
  )

  test(
    "say when they are overdue, and what they wait for",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      yield* schedule.create(id, tea)
      yield* schedule.create(id, tea)
      yield* schedule.pause(id, "schedule-2")
      yield* TestClock.adjust("61 seconds")
      const { reminders } = yield* schedule.list(id)
      assert.deepStrictEqual(
        reminders.map(({ state, waitsFor }) => [state, waitsFor]),
        [
          ["overdue", "no agent drives the session; it comes when that is resumed"],
          ["paused", "it is paused"]
        ]
      )
      assert.deepStrictEqual(yield* schedule.pending(id), { due: 1, next: undefined, waiting: 0 })
    })
  )

  test(
    "are refused with a code that says what is wrong, and nothing is stored",
    Effect.gen(function* () {
      const { id, log, schedule } = yield* begin
      const codes = yield* Effect.forEach(
        [
          { ...tea, prompt: " \n" },
          { ...tea, prompt: "x".repeat(10_001) },
          { ...tea, title: "" },
          { ...tea, title: "x".repeat(121) },
          { ...tea, rule: {} },
          { ...tea, rule: { every_seconds: 60, after_seconds: 1 } },
          { ...tea, rule: { every_seconds: 59 } },
          { ...tea, rule: { at: "2025-12-31T23:59:59Z" } },
          { ...tea, rule: { daily: { time: "09:00:00", time_zone: "Mars/Olympus" } } },
          { ...tea, rule: { cron: { expression: "0 0 30 2 *", time_zone: "UTC" } } },
          { ...tea, rule: { after_seconds: 1e12 } },
          { ...tea, rule: "tomorrow" }
        ],
        (given) => codeOf(schedule.create(id, given))
      )
      assert.deepStrictEqual(codes, [
        "invalid_prompt",
        "invalid_prompt",
        "invalid_title",
        "invalid_title",
        "invalid_selector",
        "invalid_selector",
        "frequency_too_high",
        "not_future",
        "invalid_time_zone",
        "invalid_rule",
        "time_out_of_range",
        "invalid_selector"
      ])
      assert.strictEqual(yield* log.lastSeq(id), -1)
      yield* schedule.create(id, { ...tea, prompt: "🫖".repeat(10_000), title: "🫖".repeat(120) })
      assert.strictEqual(yield* codeOf(schedule.create("nobody" as never, tea)), "SessionNotFound")
    })
  )

  test(
    "are as many as they may be; those that are over or deleted make room",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      yield* schedule.create(id, tea)
      yield* schedule.create(id, tea)
      assert.strictEqual(yield* codeOf(schedule.create(id, tea)), "too_many_reminders")
      yield* schedule.delete(id, "schedule-1")
      assert.strictEqual((yield* schedule.create(id, tea)).reminder.id, "schedule-3")
    }),
    { maxActive: 2 }
  )

  test(
    "are changed in place; a fixed rate counts from the save, a delay can't be given anew",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      yield* schedule.create(id, tea)
      yield* schedule.create(id, { ...tea, rule: { after_seconds: 600 } })
      yield* TestClock.adjust("90 seconds")
      const renamed = yield* schedule.update(id, "schedule-1", { title: "coffee" })
      assert.deepInclude(renamed, { title: "coffee", scheduledAt: at(60), state: "overdue" })
      const anew = yield* schedule.update(id, "schedule-1", { rule: { every_seconds: 60 } })
      assert.deepInclude(anew, { title: "coffee", scheduledAt: at(150), state: "scheduled", createdAt: at(0) })
      assert.deepInclude(yield* schedule.update(id, "schedule-2", { prompt: "Now coffee." }), {
        prompt: "Now coffee.",
        scheduledAt: at(600)
      })
      for (const [given, code] of [
        [{}, "invalid_rule"],
        [{ rule: { after_seconds: 60 } }, "invalid_rule"],
        [{ rule: { every_seconds: 1 } }, "frequency_too_high"],
        [{ prompt: "" }, "invalid_prompt"],
        [{ title: "" }, "invalid_title"]
      ] as const) {
        assert.strictEqual(yield* codeOf(schedule.update(id, "schedule-1", given)), code)
      }
      assert.strictEqual(yield* codeOf(schedule.update(id, "schedule-9", { title: "x" })), "schedule_not_found")
    })
  )

  test(
    "are deleted once, by their exact id",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      yield* schedule.create(id, tea)
      for (const wrong of [" schedule-1", "schedule-1 ", "", "schedule-01", "1"]) {
        assert.strictEqual(yield* codeOf(schedule.delete(id, wrong)), "invalid_selector")
      }
      assert.isFalse(yield* schedule.delete(id, "schedule-2"))
      assert.isTrue(yield* schedule.delete(id, "schedule-1"))
      assert.isFalse(yield* schedule.delete(id, "schedule-1"))
      assert.isEmpty((yield* schedule.list(id)).reminders)
    })
  )

  test(
    "skip what comes due while they are paused, and go on with the first after that",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      yield* schedule.create(id, {
        ...tea,
        rule: { daily: { time: "23:00:00", time_zone: "Europe/Berlin" } }
      })
      yield* schedule.create(id, { ...tea, rule: { after_seconds: 60 } })
      assert.strictEqual((yield* schedule.pause(id, "schedule-1")).state, "paused")
      yield* schedule.pause(id, "schedule-2")
      assert.strictEqual(yield* codeOf(schedule.pause(id, "schedule-1")), "invalid_rule")
      yield* TestClock.setTime(Date.parse("2026-07-21T17:26:00Z"))
      const resumed = yield* schedule.resume(id, "schedule-1")
      assert.deepInclude(resumed, { state: "scheduled", scheduledAt: "2026-07-21T21:00:00.000Z" })
      assert.strictEqual(yield* codeOf(schedule.resume(id, "schedule-1")), "invalid_rule")
      // What comes once came while it was paused: only a new rule brings it back.
      assert.strictEqual(yield* codeOf(schedule.resume(id, "schedule-2")), "not_future")
      yield* schedule.update(id, "schedule-2", { rule: { at: "2026-07-22T00:00:00Z" } })
      assert.strictEqual((yield* schedule.resume(id, "schedule-2")).scheduledAt, "2026-07-22T00:00:00.000Z")
    })
  )

  test(
    "are found by a host once an imported session is indexed, those that wait for their turn at once",
    Effect.gen(function* () {
      const { id, log, schedule } = yield* begin
      yield* schedule.create(id, tea)
      yield* schedule.runNow(id, "schedule-1")
      const copy = yield* log.importJsonl(log.exportJsonl(id).pipe(Stream.map((line) => `${line}\n`)), {
        id: SessionId.make("copy")
      })
      const alarms = yield* SessionAlarms
      assert.isEmpty(yield* alarms.of(copy.id))
      yield* schedule.reindex(copy.id)
      const rings = yield* alarms.of(copy.id)
      assert.deepStrictEqual(
        rings.map(({ dueAt, key }) => `${key} ${dueAt}`),
        [`reminders ${at(60)}`, `reminders-inbox ${at(0)}`]
      )
    })
  )

  test(
    "are handed to the inbox by hand: the next agent opens the turn, and a host is called for it",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      yield* schedule.create(id, tea)
      yield* schedule.runNow(id, "schedule-1")
      yield* TestClock.adjust("10 seconds")
      yield* schedule.runNow(id, "schedule-1")
      const { value: inbox } = yield* Effect.flatMap(Projections, (projections) => projections.get(id, AgentLog.state))
      assert.lengthOf(inbox.nextTurn, 1)
      const rings = yield* Effect.flatMap(SessionAlarms, (alarms) => alarms.of(id))
      assert.deepStrictEqual(
        rings.map(({ dueAt, key }) => `${key} ${dueAt}`),
        [`reminders ${at(60)}`, `reminders-inbox ${at(10)}`]
      )
      const agents = yield* Agents
      yield* Effect.scoped(Effect.flatMap(agents.resume(id), (agent) => agent.whenIdle))
      const events = yield* eventsOf(id)
      assert.deepStrictEqual(turnsIn(events), [[`schedule-1 ${at(10)}`]])
      assert.deepStrictEqual(
        changesIn(events).map(({ operation }) => operation),
        ["create", "run-now", "run-now"]
      )
      assert.strictEqual((yield* schedule.get(id, "schedule-1")).scheduledAt, at(60))
      const { occurrences } = yield* schedule.history(id, "schedule-1")
      assert.deepStrictEqual(
        occurrences.map(({ byHand, outcome }) => [byHand, outcome]),
        [
          [true, "coalesced"],
          [true, "delivered"]
        ]
      )
      assert.strictEqual(yield* codeOf(schedule.runNow(id, "schedule-2")), "schedule_not_found")
    })
  )

  test(
    "are previewed without a session",
    Effect.gen(function* () {
      const { schedule } = yield* begin
      const rule = { cron: { expression: "30 2 * * *", time_zone: "America/New_York" } }
      const coming = yield* schedule.preview(rule, { from: "2026-03-07T12:00:00.000Z", count: 2 })
      assert.deepStrictEqual(
        coming.map((next) => next.at),
        ["2026-03-09T06:30:00.000Z", "2026-03-10T06:30:00.000Z"]
      )
      assert.strictEqual(yield* codeOf(schedule.preview({ every_seconds: 1 })), "frequency_too_high")
    })
  )
})

describe("the history of a reminder", () => {
  test(
    "tells what was done to it and what became of each occurrence, also when it is over",
    Effect.gen(function* () {
      const { id, schedule } = yield* begin
      const agents = yield* Agents
      yield* schedule.create(id, tea)
      yield* schedule.update(id, "schedule-1", { title: "coffee" })
      yield* schedule.pause(id, "schedule-1")
      yield* schedule.resume(id, "schedule-1")
      yield* TestClock.adjust("200 seconds")
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* agents.resume(id)
          yield* schedule.quiet(id)
          yield* agent.whenIdle
        })
      )
      yield* schedule.delete(id, "schedule-1")
      const history = yield* schedule.history(id, "schedule-1")
      assert.deepStrictEqual(
        history.changes.map(({ operation, record }) => [operation, record?.title]),
        [
          ["create", "tea"],
          ["update", "coffee"],
          ["pause", undefined],
          ["resume", undefined],
          ["delete", undefined]
        ]
      )
      assert.deepStrictEqual(history.occurrences, [
        {
          occurrenceAt: at(180),
          decidedAt: at(200),
          lateBySeconds: 20,
          missed: 2,
          byHand: false,
          turns: [1],
          deliveredAt: at(200),
          outcome: "delivered"
        }
      ])
      assert.isUndefined(history.now)
      assert.strictEqual(yield* codeOf(schedule.history(id, "schedule-2")), "schedule_not_found")
    })
  )
})
