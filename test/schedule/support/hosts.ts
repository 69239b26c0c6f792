/** Processes that share a store, and sessions with a reminder each. */
import * as ReminderHost from "@afterturn/schedule/ReminderHost"
import { Schedule } from "@afterturn/schedule/Schedule"
import * as Host from "@afterturn/session-log/Host"
import { format } from "@afterturn/session-log/Instant"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as VirtualClock from "@afterturn/testing/VirtualClock"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { holder, memoryStore } from "../../support/sessionLog.js"
import { dispatchesIn, eventsOf, over, turnsIn } from "./runtime.js"

type Store = (typeof SessionStore)["Service"]

export const start = Date.UTC(2026, 0, 1)

export const at = (seconds: number) => format(start + seconds * 1000)

export const tea = { title: "tea", prompt: "Pour the tea.", rule: { after_seconds: 60 } }

/** The runtime of a process over a store that others share. */
export const runtime = (store: Store, name: string, dead: ReadonlySet<number> = new Set(), pid = 1) =>
  over(
    SessionLog.layerOver(Layer.succeed(SessionStore, store)).pipe(
      Layer.provide(
        Layer.succeed(Host.Host, {
          self: holder(name, pid),
          isDead: (other) => Effect.succeed(dead.has(other.pid))
        })
      )
    )
  )

export const sessions = (count: number) =>
  Effect.gen(function* () {
    const log = yield* SessionLog.SessionLog
    const schedule = yield* Schedule
    return yield* Effect.forEach(
      Array.from({ length: count }, (_, index) => `session-${index}` as SessionId),
      (id) => Effect.as(Effect.zipRight(log.create({ id }), schedule.create(id, tea)), id)
    )
  })

export const deliveries = (ids: ReadonlyArray<SessionId>) =>
  Effect.forEach(ids, (id) =>
    Effect.map(eventsOf(id), (events) => ({ dispatches: dispatchesIn(events).length, turns: turnsIn(events).length }))
  )

export const once = { dispatches: 1, turns: 1 }

/** Two hosts find the same reminders due at the same instant. */
export const twoHosts = (count: number) =>
  VirtualClock.run(
    Effect.gen(function* () {
      const store = yield* memoryStore
      const first = yield* Layer.build(runtime(store, "first"))
      const second = yield* Layer.build(runtime(store, "second"))
      const ids = yield* Effect.provide(sessions(count), first)
      let driven = 0
      for (const context of [first, second]) {
        yield* Layer.build(ReminderHost.layer({ onDrive: () => Effect.sync(() => void driven++) })).pipe(
          Effect.provide(context)
        )
      }
      yield* VirtualClock.advance("2 minutes")
      const told = yield* Effect.provide(deliveries(ids), first)
      assert.isTrue(told.every((each) => each.dispatches === 1 && each.turns === 1))
      assert.isAtLeast(driven, count)
      const alarms = Context.get(first, SessionAlarms)
      assert.isEmpty(yield* alarms.due({ until: at(1_000_000), limit: 10 }))
    }).pipe(Effect.scoped),
    { start, patience: "5 minutes" }
  )
