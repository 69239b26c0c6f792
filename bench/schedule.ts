/** Reminders: changing and finding them, delivering late ones and, on the kit's clock, a long time of punctual ones. */
import { join } from "node:path"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import { Agents } from "@afterturn/agent/Agents"
import * as Compaction from "@afterturn/agent/Compaction"
import { idOf } from "@afterturn/schedule/Reminder"
import * as ReminderDelivery from "@afterturn/schedule/ReminderDelivery"
import * as ReminderHost from "@afterturn/schedule/ReminderHost"
import { layer as layerSchedule, Schedule } from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import { ScheduleChange } from "@afterturn/schedule/ScheduleEvents"
import type { ScheduleState } from "@afterturn/schedule/ScheduleLog"
import * as ScheduleLog from "@afterturn/schedule/ScheduleLog"
import { format } from "@afterturn/session-log/Instant"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import * as VirtualClock from "@afterturn/testing/VirtualClock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as Model from "./support/model.js"
import { scratchFolder } from "./support/scratch.js"

const quick = process.argv.includes("--quick")

const folder = scratchFolder("schedule")

/** Without it each turn would send all that came before. */
const forgetful = Layer.succeed(Compaction.Compaction, {
  summarize: () => Effect.succeed({ summary: "Reminders came and were noted.", kept: [] })
})

const runtime = (where: "memory" | string, maxSleep?: Duration.DurationInput) =>
  ReminderDelivery.layer.pipe(
    Layer.provideMerge(layerSchedule),
    Layer.provideMerge(
      Layer.orDie(
        ScheduleConfig.layer({
          maxActive: 1_000_000,
          minEveryIntervalSeconds: 1,
          ...(maxSleep === undefined ? {} : { maxSleep: Duration.decode(maxSleep) })
        })
      )
    ),
    Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC", maxHistoryTokens: 1_000 })),
    Layer.provideMerge(
      Layer.merge(
        Model.layer(() => []),
        forgetful
      )
    ),
    Layer.provideMerge(where === "memory" ? layerMemory : layerSqlite({ filename: join(folder, `${where}.db`) }))
  )

/** What a comparable system's package reached on a machine of this kind, in a run of its own: by the number of active reminders. */
const peer = {
  creates: new Map([
    [0, 196],
    [1000, 60],
    [10_000, 5.5]
  ]),
  lateMillis: 105,
  overduePerSecond: 8
}

const beside = (ratio: number) => `${ratio >= 10 ? Math.round(ratio) : ratio.toFixed(1)} times the peer's`

const say = (text: string) => Effect.sync(() => console.log(text))

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const begin = performance.now()
    return Effect.map(effect, (value) => ({ value, millis: performance.now() - begin }))
  })

const reminder = (seconds: number) => ({ title: "tea", prompt: "Pour the tea.", rule: { after_seconds: seconds } })

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Changes with ever more active reminders in the session. */
const changes = (where: "memory" | "sqlite") =>
  Effect.gen(function* () {
    const schedule = yield* Schedule
    const agents = yield* Agents
    const agent = yield* agents.create()
    const batch = quick ? 200 : 1000
    let active = 0
    for (const target of quick ? [0, 1000] : [0, 1000, 10_000]) {
      yield* Effect.forEach(times(target - active), () => schedule.create(agent.id, reminder(1_000_000)), {
        discard: true
      })
      const created = yield* timed(Effect.forEach(times(batch), () => schedule.create(agent.id, reminder(2_000_000))))
      const listed = yield* timed(schedule.list(agent.id))
      const deleted = yield* timed(
        Effect.forEach(created.value, ({ reminder }) => schedule.delete(agent.id, reminder.id), { discard: true })
      )
      active = target
      const rate = (millis: number) => Math.round((batch / millis) * 1000)
      yield* say(
        `${where}, ${target} active: ${rate(created.millis)} creates/s (${beside(rate(created.millis) / (peer.creates.get(target) ?? Number.NaN))}), ${rate(deleted.millis)} deletes/s, list of ${listed.value.reminders.length} in ${listed.millis.toFixed(1)} ms`
      )
    }
  }).pipe(Effect.scoped, Effect.provide(runtime(where === "memory" ? "memory" : "changes")))

const fold = Effect.gen(function* () {
  const count = 10_000
  const events = times(count).map(
    (seq): SessionEvent => ({
      seq,
      type: "schedule/change",
      time: "2026-01-01T00:00:00.000Z",
      data: {
        version: 1,
        operation: "create",
        record: {
          id: `schedule-${seq + 1}`,
          title: "tea",
          prompt: "Pour the tea.",
          rule: { every_seconds: 60 },
          createdAt: "2026-01-01T00:00:00.000Z",
          scheduledAt: "2026-01-01T00:01:00.000Z"
        }
      }
    })
  )
  const { millis, value } = yield* timed(
    Effect.sync(() =>
      events.reduce<ScheduleState>((state, event) => ScheduleLog.reminders.apply(state, event), ScheduleLog.empty)
    )
  )
  yield* say(`fold of ${ScheduleLog.size(value)} changes from stored JSON: ${millis.toFixed(0)} ms`)
})

const remindersEach = 10

/** Ten reminders in one append, with the alarm that goes with them. */
const tenReminders = (first: number) => ({
  events: times(remindersEach).map((index) =>
    ScheduleChange.make({
      version: 1,
      operation: "create",
      record: {
        id: idOf(index + 1),
        title: "tea",
        prompt: "Pour the tea.",
        rule: { every_seconds: 3600 },
        createdAt: format(Date.UTC(2026, 0, 1)),
        scheduledAt: format(first + index * 1000)
      }
    })
  ),
  alarms: [{ key: "reminders", dueAt: format(first) }]
})

/** Sessions with ten reminders each, in a file: what a host asks of it, and how soon it drives the one that is due. */
const dueQuery = Effect.gen(function* () {
  const log = yield* SessionLog
  const alarms = yield* SessionAlarms
  let made = 0
  for (const target of quick ? [100, 1000] : [1000, 10_000]) {
    yield* Effect.forEach(
      times(target - made).map((index) => made + index),
      (index) => {
        const id = `session-${index}` as SessionId
        const { alarms, events } = tenReminders(index === 0 ? Date.UTC(2025, 0, 1) : Date.UTC(2040, 0, 1) + index)
        return Effect.zipRight(log.create({ id }), log.append(id, events, { alarms }))
      },
      { discard: true, concurrency: 64 }
    )
    made = target
    const until = format(Date.UTC(2024, 0, 1))
    yield* alarms.due({ until, limit: 256 })
    const asked = yield* timed(Effect.forEach(times(1000), () => alarms.due({ until, limit: 256 }), { discard: true }))
    const next = yield* timed(Effect.forEach(times(1000), () => alarms.next(until), { discard: true }))
    yield* say(
      `${target * remindersEach} reminders in ${target} sessions: due ${asked.millis.toFixed(0)} µs, next ${next.millis.toFixed(0)} µs a query`
    )
  }
}).pipe(Effect.provide(runtime("due")))

const hostStart = Effect.gen(function* () {
  const driven = yield* Deferred.make<void>()
  const host = ReminderHost.layer({ onDrive: () => Effect.asVoid(Deferred.succeed(driven, undefined)) })
  const { millis } = yield* timed(Effect.provide(Deferred.await(driven), Layer.provideMerge(host, runtime("due"))))
  yield* say(`a host on that file drives the session that is due ${millis.toFixed(0)} ms after its start`)
})

/** A host comes back after a long time. */
const overdue = (count: number) =>
  VirtualClock.run(
    Effect.gen(function* () {
      const schedule = yield* Schedule
      const agents = yield* Agents
      const log = yield* SessionLog
      const { id } = yield* log.create()
      yield* Effect.forEach(times(count), (index) => schedule.create(id, reminder(60 + index)), { discard: true })
      const clock = yield* VirtualClock.VirtualClock
      yield* clock.setTime("2027-01-01T00:00:00.000Z")
      const { millis } = yield* timed(
        Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* agents.resume(id)
            yield* clock.settle
            yield* agent.whenIdle
          })
        )
      )
      yield* say(
        `${count} overdue reminders in memory, turns included: ${Math.round((count / millis) * 1000)}/s, ${beside(((count / millis) * 1000) / peer.overduePerSecond)}`
      )
    }).pipe(Effect.provide(runtime("memory"))),
    { patience: "10 minutes" }
  )

/** Punctual ones, on the kit's clock. */
const long = (where: "memory" | "month", days: number) =>
  VirtualClock.run(
    Effect.gen(function* () {
      const schedule = yield* Schedule
      const agents = yield* Agents
      const log = yield* SessionLog
      const agent = yield* agents.create()
      yield* schedule.create(agent.id, { ...reminder(1), rule: { every_seconds: 300 } })
      const { millis } = yield* timed(VirtualClock.advance(Duration.days(days)))
      const delivered = yield* Stream.runCount(
        Stream.filter(
          log.read(agent.id, { types: ["schedule/change"] }),
          ({ data }) => (data as { readonly operation: string }).operation === "dispatch"
        )
      )
      yield* say(
        `${days} days of a 5-minute reminder, ${where === "memory" ? "memory" : "SQLite"}: ${delivered} deliveries with their turns in ${(millis / 1000).toFixed(1)} s`
      )
    }).pipe(Effect.scoped, Effect.provide(runtime(where, "5 minutes"))),
    { patience: "10 minutes" }
  )

/** On the clock of the machine: one among many that are not due. */
const punctual = Effect.gen(function* () {
  const schedule = yield* Schedule
  const agents = yield* Agents
  const log = yield* SessionLog
  const agent = yield* agents.create()
  const count = quick ? 1000 : 10_000
  yield* Effect.forEach(times(count), () => schedule.create(agent.id, reminder(1_000_000)), { discard: true })
  const late: Array<number> = []
  for (const _ of times(5)) {
    const { reminder: made } = yield* schedule.create(agent.id, reminder(1))
    yield* log.changes(agent.id, { fromSeq: yield* log.lastSeq(agent.id) }).pipe(
      Stream.filter(({ data }) => (data as { readonly operation?: string }).operation === "dispatch"),
      Stream.take(1),
      Stream.runForEach(({ time }) => Effect.sync(() => late.push(Date.parse(time) - Date.parse(made.scheduledAt))))
    )
    yield* agent.whenIdle
  }
  const worst = Math.max(...late)
  yield* say(`one due among ${count} active: dispatched at most ${worst} ms late, the peer ${peer.lateMillis} ms`)
}).pipe(Effect.scoped, Effect.provide(runtime("memory")))

/** On the clock of the machine: many that are due in the same second. */
const lateness = Effect.gen(function* () {
  const schedule = yield* Schedule
  const agents = yield* Agents
  const log = yield* SessionLog
  const count = quick ? 100 : 1000
  const agent = yield* agents.create()
  const at = format(Math.ceil((Date.now() + 6000) / 1000) * 1000)
  yield* Effect.forEach(
    times(count),
    (index) => schedule.create(agent.id, { title: `n${index}`, prompt: "p", rule: { at } }),
    { discard: true }
  )
  const late: Array<number> = []
  yield* log.changes(agent.id).pipe(
    Stream.filter(
      ({ data, type }) => type === "schedule/change" && (data as { operation: string }).operation === "dispatch"
    ),
    Stream.take(count),
    Stream.runForEach(({ time }) => Effect.sync(() => late.push(Date.parse(time) - Date.parse(at))))
  )
  const sorted = late.toSorted((a, b) => a - b)
  yield* say(
    `${count} reminders due in the same second, each a turn of its own: dispatched ${sorted[0]} ms late the first, ${sorted[count >> 1]} ms the median, ${sorted.at(-1)} ms the last`
  )
}).pipe(Effect.scoped, Effect.provide(runtime("memory")))

const all = Effect.gen(function* () {
  yield* changes("memory")
  yield* changes("sqlite")
  yield* fold
  yield* dueQuery
  yield* hostStart
  yield* punctual
  yield* lateness
  yield* overdue(quick ? 500 : 10_000)
  yield* long("memory", quick ? 7 : 365)
  yield* long("month", quick ? 1 : 30)
})

await Effect.runPromise(all)
