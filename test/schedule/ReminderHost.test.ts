import { Agents } from "@afterturn/agent/Agents"
import * as ReminderHost from "@afterturn/schedule/ReminderHost"
import { Schedule } from "@afterturn/schedule/Schedule"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as VirtualClock from "@afterturn/testing/VirtualClock"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { memoryStore } from "../support/sessionLog.js"
import { at, deliveries, once, runtime, sessions, start, tea, twoHosts } from "./support/hosts.js"
import { dispatchesIn, eventsOf, memory, turnsIn } from "./support/runtime.js"

/** What a dying process logs is no news here. */
const quietly = Logger.withMinimumLogLevel(LogLevel.None)

type Store = (typeof SessionStore)["Service"]

describe("a host", () => {
  it.live("delivers to a session that nobody drives, at the instant, and lets go", () =>
    VirtualClock.run(
      Effect.gen(function* () {
        const [id] = yield* sessions(1)
        assert.isDefined(id)
        yield* VirtualClock.advance("59999 millis")
        assert.isEmpty(turnsIn(yield* eventsOf(id)))
        yield* VirtualClock.advance("1 millis")
        assert.deepStrictEqual(turnsIn(yield* eventsOf(id)), [[`schedule-1 ${at(60)}`]])
        const agents = yield* Agents
        assert.isEmpty(yield* agents.list)
        const alarms = yield* SessionAlarms
        assert.isEmpty(yield* alarms.of(id))
        yield* VirtualClock.advance("1 hour")
        assert.deepStrictEqual(yield* deliveries([id]), [once])
      }).pipe(Effect.provide(ReminderHost.layer().pipe(Layer.provideMerge(memory()))), Effect.scoped),
      { start }
    )
  )

  it.live("finds what another process scheduled within its poll, and stays while the next is near", () =>
    VirtualClock.run(
      Effect.gen(function* () {
        yield* VirtualClock.advance("10 minutes")
        const log = yield* SessionLog.SessionLog
        const schedule = yield* Schedule
        const driven: Array<SessionId> = []
        yield* Layer.build(
          ReminderHost.layer({ linger: Duration.seconds(90), onDrive: (id) => Effect.sync(() => void driven.push(id)) })
        )
        const { id } = yield* log.create()
        yield* schedule.create(id, { ...tea, rule: { every_seconds: 60 } })
        yield* VirtualClock.advance("10 minutes")
        assert.deepStrictEqual(
          dispatchesIn(yield* eventsOf(id)).map(({ occurrenceAt }) => occurrenceAt),
          Array.from({ length: 10 }, (_, index) => at(600 + 60 * (index + 1)))
        )
        assert.lengthOf(driven, 1)
      }).pipe(Effect.provide(memory()), Effect.scoped),
      { start }
    )
  )

  it.live("two hosts on one store, a hundred due reminders: each is delivered once", () => twoHosts(100), 60_000)

  it.live("a session that can't be driven is left alone for a while, and holds up no other", () =>
    VirtualClock.run(
      Effect.gen(function* () {
        const store = yield* memoryStore
        const context = yield* Layer.build(runtime(store, "host"))
        const ids = yield* Effect.provide(sessions(3), context)
        // Written by a capability that this process does not have.
        const [broken] = ids
        assert.isDefined(broken)
        yield* store.commit([
          {
            sessionId: broken,
            expectedSeq: undefined,
            epoch: undefined,
            now: 0,
            events: [{ type: "other/thing", time: 0, data: "{}", sourceEventSeqs: null, ignorable: false }]
          }
        ])
        let attempts = 0
        const counted = Layer.effect(
          Agents,
          Effect.map(Agents, (agents) => ({
            ...agents,
            resume: (id: SessionId) =>
              Effect.suspend(() => {
                if (id === broken) attempts++
                return id === broken
                  ? Effect.fail(new SessionStoreError({ reason: "unavailable", message: "no such thing" }))
                  : agents.resume(id)
              })
          }))
        )
        yield* Layer.build(ReminderHost.layer({ maxSessions: 1 }).pipe(Layer.provide(counted))).pipe(
          Effect.provide(context)
        )
        yield* VirtualClock.advance("10 minutes")
        assert.deepStrictEqual(yield* Effect.provide(deliveries(ids.slice(1)), context), [once, once])
        assert.isAbove(attempts, 2)
        assert.isBelow(attempts, 12)
      }).pipe(Effect.scoped),
      { start }
    )
  )
})

describe("a process that dies in the middle of a delivery", () => {
  /** A process whose store answers nothing any more after so many commits; the last one may still have been made. */
  const mortal = (store: Store, commits: number, made: boolean) => {
    const state = { left: commits, dead: false }
    const gone = Effect.fail(new SessionStoreError({ reason: "unavailable", message: "the process is dead" }))
    const alive = <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.suspend((): Effect.Effect<A, E | SessionStoreError> => (state.dead ? gone : effect))
    const dying: Store = {
      ...store,
      commit: (requests) =>
        Effect.suspend(() => {
          if (state.dead) return gone
          if (state.left-- > 0) return store.commit(requests)
          state.dead = true
          return made ? Effect.zipRight(store.commit(requests), gone) : gone
        }),
      header: (id) => alive(store.header(id)),
      lease: (id) => alive(store.lease(id)),
      acquireLease: (request) => alive(store.acquireLease(request)),
      renewLease: (...args) => alive(store.renewLease(...args)),
      releaseLease: (...args) => alive(store.releaseLease(...args)),
      read: (...args) => alive(store.read(...args)),
      dueAlarms: (query) => alive(store.dueAlarms(query)),
      nextAlarm: (after) => alive(store.nextAlarm(after)),
      alarms: (id) => alive(store.alarms(id)),
      saveSnapshot: (...args) => alive(store.saveSnapshot(...args))
    }
    return { store: dying, state }
  }

  for (const made of [false, true]) {
    it.live(
      `is made up for by another host, at each write in turn (${made ? "made" : "not made"})`,
      () =>
        Effect.gen(function* () {
          let finished = false
          for (let commits = 0; !finished && commits < 30; commits++) {
            finished = yield* VirtualClock.run(
              Effect.gen(function* () {
                const store = yield* memoryStore
                const healthy = yield* Layer.build(runtime(store, "second", new Set([66]), 2))
                const [id] = yield* Effect.provide(sessions(1), healthy)
                assert.isDefined(id)
                yield* VirtualClock.advance("2 minutes")
                const victim = mortal(store, commits, made)
                const dying = yield* Layer.build(runtime(victim.store, "first", new Set(), 66))
                yield* Layer.build(ReminderHost.layer()).pipe(Effect.provide(dying))
                yield* VirtualClock.advance("30 seconds")
                yield* Layer.build(ReminderHost.layer()).pipe(Effect.provide(healthy))
                yield* VirtualClock.advance("5 minutes")
                const events = yield* Effect.provide(eventsOf(id), healthy)
                assert.deepStrictEqual(
                  dispatchesIn(events).map(({ occurrenceAt }) => occurrenceAt),
                  [at(60)],
                  `after ${commits} commits`
                )
                const answered = events.filter(({ type }) => type === "assistant/message").length
                assert.isAtLeast(answered, 1, `after ${commits} commits`)
                const alarms = Context.get(healthy, SessionAlarms)
                assert.isEmpty(yield* alarms.of(id), `after ${commits} commits`)
                return !victim.state.dead
              }).pipe(Effect.scoped),
              { start }
            )
          }
          assert.isTrue(finished)
        }).pipe(quietly),
      120_000
    )
  }
})
