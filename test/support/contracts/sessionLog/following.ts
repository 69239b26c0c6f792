import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { collect, dataOf, notes, seqsOf } from "../../sessionLog.js"
import type { Test } from "./test.js"

export const following = (test: Test): void => {
  test("a follower gets each event once and in order while appends race it", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const count = 400
      yield* log.append(header.id, notes(...Array.from({ length: 40 }, (_, index) => index)))
      const followers = yield* Effect.forEach([0, 17, 45], (fromSeq) =>
        Effect.fork(collect(Stream.takeUntil(log.changes(header.id, { fromSeq }), (event) => event.seq === count - 1)))
      )
      yield* Effect.forEach(
        Array.from({ length: 8 }, (_, index) => index),
        () => Effect.repeatN(Effect.zipRight(Effect.yieldNow(), log.append(header.id, notes("x"))), 44),
        { concurrency: "unbounded" }
      )
      for (const [which, fromSeq] of [0, 17, 45].entries()) {
        const seen = seqsOf(yield* Fiber.join(followers[which]!))
        assert.deepStrictEqual(
          seen,
          Array.from({ length: count - fromSeq }, (_, index) => fromSeq + index)
        )
      }
    }))

  test("an append from within a follower comes after the event at hand", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const follower = yield* log.changes(header.id).pipe(
        Stream.tap((event) => (event.seq < 4 ? log.append(header.id, notes(event.seq + 1)) : Effect.void)),
        Stream.take(5),
        collect,
        Effect.fork
      )
      yield* log.append(header.id, notes(0))
      assert.deepStrictEqual(dataOf(yield* Fiber.join(follower)), [0, 1, 2, 3, 4])
    }))

  test("a slow reader holds nobody up and misses nothing", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const go = yield* Deferred.make<void>()
      const follower = yield* log.changes(header.id).pipe(
        Stream.tap((event) => (event.seq === 0 ? Deferred.await(go) : Effect.void)),
        Stream.take(1001),
        collect,
        Effect.fork
      )
      yield* log.append(header.id, notes("first"))
      for (let index = 0; index < 10; index++) {
        yield* log.append(header.id, notes(...Array.from({ length: 100 }, (_, at) => at)))
      }
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual(
        seqsOf(yield* Fiber.join(follower)),
        Array.from({ length: 1001 }, (_, seq) => seq)
      )
    }))

  test("following a session that is removed ends in its absence", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* log.append(header.id, notes(0))
      const seen = yield* Deferred.make<void>()
      const follower = yield* log.changes(header.id).pipe(
        Stream.runForEach(() => Deferred.succeed(seen, undefined)),
        Effect.flip,
        Effect.fork
      )
      yield* Deferred.await(seen)
      yield* log.remove(header.id)
      assert.strictEqual((yield* Fiber.join(follower))._tag, "SessionNotFound")
    }))
}
