/** Projections over the log. */
import * as Projection from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { added, collect, notes } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { seqs, total } from "./test.js"

export const projecting = (test: Test): void => {
  test("a projection follows the log", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      assert.deepStrictEqual(yield* projections.get(header.id, total), { value: 0, asOfSeq: -1 })
      yield* log.append(header.id, [...added(1, 2), ...notes("x")])
      assert.deepStrictEqual(yield* projections.get(header.id, total), { value: 3, asOfSeq: 2 })
      yield* log.append(header.id, notes("y"))
      assert.deepStrictEqual(yield* projections.get(header.id, total), { value: 3, asOfSeq: 3 })
      assert.deepStrictEqual(yield* projections.get(header.id, seqs), { value: [0, 1, 2, 3], asOfSeq: 3 })
    }))

  test("a fork's projection begins anew, or with its history", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const inherited = Projection.make({ ...total, key: "test/inherited", history: "inherited" })
      const parent = yield* log.create()
      yield* log.append(parent.id, added(1, 2))
      yield* projections.get(parent.id, total)
      yield* projections.snapshot(parent.id)
      const child = yield* log.fork(parent.id)
      assert.deepStrictEqual(yield* projections.get(child.id, total), { value: 0, asOfSeq: 1 })
      assert.deepStrictEqual(yield* projections.get(child.id, inherited), { value: 3, asOfSeq: 1 })
      yield* log.append(child.id, added(10))
      assert.deepStrictEqual(yield* projections.get(child.id, total), { value: 10, asOfSeq: 2 })
      assert.deepStrictEqual(yield* projections.get(child.id, inherited), { value: 13, asOfSeq: 2 })
    }))

  test("decisions of many fibers each see what the others decided, and are made once", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      let made = 0
      const seen = yield* Effect.forEach(
        Array.from({ length: 30 }, (_, index) => index),
        () =>
          projections.decide(header.id, total, (current) => {
            made++
            return Effect.as(Effect.yieldNow(), { events: added(1), value: current.value })
          }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        [...seen].sort((a, b) => a - b),
        Array.from({ length: 30 }, (_, index) => index)
      )
      assert.strictEqual((yield* projections.get(header.id, total)).value, 30)
      assert.strictEqual(made, 30)
    }))

  test("a decision is made again when another append came between", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      const seen: Array<number> = []
      yield* projections.decide(header.id, total, (current) =>
        Effect.gen(function* () {
          seen.push(current.value)
          if (seen.length < 3) yield* log.append(header.id, added(10))
          return { events: added(1), value: undefined }
        })
      )
      assert.deepStrictEqual(seen, [0, 10, 20])
      assert.deepStrictEqual(yield* projections.get(header.id, total), { value: 21, asOfSeq: 2 })
    }))

  test("a decision for nothing appends nothing, one that fails neither", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      const value = yield* projections.decide(header.id, total, () => Effect.succeed({ events: [], value: "none" }))
      assert.strictEqual(value, "none")
      assert.strictEqual(yield* Effect.flip(projections.decide(header.id, total, () => Effect.fail("no"))), "no")
      const bad = projections.decide(header.id, total, () =>
        Effect.succeed({ events: [{ type: "test/added", data: 1 }], value: undefined })
      )
      assert.strictEqual((yield* Effect.flip(bad))._tag, "EventRejected")
      assert.strictEqual(yield* log.lastSeq(header.id), -1)
      // The next one is not held up.
      yield* projections.decide(header.id, total, () => Effect.succeed({ events: added(1), value: undefined }))
    }))

  test("a decision within a decision on the same session is a defect, not a deadlock", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      const other = yield* log.create()
      const inner = (on: SessionId) =>
        projections.decide(on, total, () => Effect.succeed({ events: added(1), value: undefined }))
      const nested = (on: SessionId) =>
        projections.decide(header.id, total, () => Effect.as(inner(on), { events: [], value: undefined }))
      assert.strictEqual((yield* Effect.exit(nested(header.id)))._tag, "Failure")
      yield* nested(other.id)
      assert.strictEqual(yield* log.lastSeq(other.id), 0)
    }))

  test("changes of a projection begin with its value and leave none out", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      yield* log.append(header.id, added(1))
      const started = yield* Deferred.make<void>()
      const follower = yield* projections.changes(header.id, total).pipe(
        Stream.tap(() => Deferred.succeed(started, undefined)),
        Stream.take(4),
        collect,
        Effect.fork
      )
      yield* Deferred.await(started)
      yield* log.append(header.id, [...added(2), ...notes("x"), ...added(0, 3)])
      yield* log.append(header.id, added(4))
      assert.deepStrictEqual(yield* Fiber.join(follower), [
        { value: 1, asOfSeq: 0 },
        { value: 3, asOfSeq: 1 },
        { value: 6, asOfSeq: 4 },
        { value: 10, asOfSeq: 5 }
      ])
    }))

  test("a snapshot is written and goes with its session", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const store = yield* SessionStore
      const header = yield* log.create()
      yield* log.append(header.id, added(1, 2))
      yield* projections.get(header.id, total)
      yield* projections.snapshot(header.id)
      assert.deepStrictEqual(yield* store.snapshots(header.id), [{ key: "test/total", version: 1, seq: 1, state: "3" }])
      yield* log.remove(header.id)
      assert.deepStrictEqual(yield* store.snapshots(header.id), [])
      assert.strictEqual((yield* Effect.flip(projections.snapshot(header.id)))._tag, "SessionNotFound")
    }))
}
