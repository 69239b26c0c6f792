import * as Cluster from "@afterturn/cluster/Cluster"
import { Schedule } from "@afterturn/schedule/Schedule"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { agents, sessionId } from "./support.js"

const cluster = Cluster.layerTest({ caretaker: { pollInterval: "100 millis" } }).pipe(Layer.provideMerge(agents))

const ended = Effect.flatMap(SessionLog, (log) =>
  Stream.runDrain(
    Stream.take(
      Stream.filter(log.changes(sessionId), ({ type }) => type === "turn/end"),
      1
    )
  )
)

describe("the caretaker", () => {
  it.scopedLive("wakes a cold session whose reminder is due, once", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const schedule = yield* Schedule
      yield* log.create({ id: sessionId })
      const { reminder } = yield* schedule.create(sessionId, {
        title: "tea",
        prompt: "Pour.",
        rule: { after_seconds: 1 }
      })
      yield* ended
      const { occurrences } = yield* schedule.history(sessionId, reminder.id)
      assert.deepStrictEqual(
        occurrences.map(({ outcome }) => outcome),
        ["delivered"]
      )
    }).pipe(Effect.provide(cluster))
  )

  it.scopedLive("wakes a session whose runner died, and settles what that left open", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const store = yield* SessionStore
      yield* log.create({ id: sessionId })
      const startedAt = "2026-03-09T06:30:00.000Z"
      yield* log.append(
        sessionId,
        [
          { type: "job/start", data: { id: "bash-1", kind: "bash", label: "a long one" } },
          { type: "schedule/change", data: { version: 1, operation: "none" }, ignorable: true }
        ].slice(0, 1)
      )
      const now = yield* Clock.currentTimeMillis
      yield* store.acquireLease({
        sessionId,
        holder: { host: "elsewhere", bootId: "", pid: 1, startedAt },
        now: now - 10_000,
        expiresAt: now - 1,
        replaces: undefined
      })
      yield* ended
      const settled = yield* Stream.runCollect(log.read(sessionId, { types: ["job/settle", "user/message"] }))
      assert.deepStrictEqual(
        Array.from(settled, ({ type }) => type),
        ["job/settle", "user/message"]
      )
    }).pipe(Effect.provide(cluster))
  )
})
