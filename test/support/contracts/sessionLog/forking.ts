import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { Closed, dataOf, events, notes, Opened, seqsOf } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { id } from "./test.js"

export const forking = (test: Test): void => {
  test("a fork has the parent's prefix and its own continuation", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const parent = yield* log.create({ cwd: "/home", title: "Tea", delegationDepth: 1 })
      yield* log.append(parent.id, notes(...Array.from({ length: 100 }, (_, index) => index)))
      yield* TestClock.adjust(1000)
      const child = yield* log.fork(parent.id, { boundary: 40 })
      assert.deepInclude(child, {
        parent: parent.id,
        seedLength: 41,
        cwd: "/home",
        title: "Tea",
        delegationDepth: 1,
        createdAt: "1970-01-01T00:00:01.000Z"
      })
      yield* log.append(parent.id, notes("parent"))
      yield* log.append(child.id, notes("child"))
      const own = yield* events(child.id)
      assert.deepStrictEqual(dataOf(own), [...Array.from({ length: 41 }, (_, index) => index), "child"])
      assert.deepStrictEqual(
        seqsOf(own),
        Array.from({ length: 42 }, (_, seq) => seq)
      )
      assert.strictEqual((yield* events(parent.id)).length, 101)
      assert.deepStrictEqual(
        (yield* log.list({ parent: parent.id })).sessions.map((session) => session.id),
        [child.id]
      )
    }))

  test("a fork takes other words than its parent's when they are given", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const parent = yield* log.create({ cwd: "/home", title: "Tea" })
      const child = yield* log.fork(parent.id, { id: id("c-1"), cwd: "/tmp", title: "Coffee", delegationDepth: 3 })
      assert.deepStrictEqual<unknown>(child, {
        id: "c-1",
        version: 1,
        createdAt: child.createdAt,
        cwd: "/tmp",
        title: "Coffee",
        parent: parent.id,
        delegationDepth: 3
      })
      const error = yield* Effect.flip(log.fork(parent.id, { id: id("c-1") }))
      assert.strictEqual(error._tag, "SessionExists")
    }))

  test("a fork cuts before a turn that is open, and nowhere else", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const seedLength = (given: ReadonlyArray<"open" | "close" | number>) =>
        Effect.gen(function* () {
          const header = yield* log.create()
          const batch = given.flatMap((item) =>
            item === "open"
              ? [Opened.make({})]
              : item === "close"
                ? [Closed.make({})]
                : notes(...Array.from({ length: item }, (_, index) => index))
          )
          if (batch.length > 0) yield* log.append(header.id, batch)
          return (yield* log.fork(header.id)).seedLength ?? 0
        })
      assert.strictEqual(yield* seedLength([]), 0)
      assert.strictEqual(yield* seedLength([3]), 3)
      assert.strictEqual(yield* seedLength(["open"]), 0)
      assert.strictEqual(yield* seedLength([2, "open", 2]), 2)
      assert.strictEqual(yield* seedLength([2, "open", 2, "close"]), 6)
      assert.strictEqual(yield* seedLength([2, "open", 2, "close", 3]), 9)
      assert.strictEqual(yield* seedLength([2, "open", 2, "close", 1, "open", 3]), 7)
      // The open turn is farther back than the first look goes.
      assert.strictEqual(yield* seedLength([5, "open", 700]), 5)
      assert.strictEqual(yield* seedLength([1, "open", 1, "close", 2000]), 2004)
    }))

  test("a boundary outside the log is refused", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* log.append(header.id, notes(0, 1))
      for (const boundary of [-2, 2, 0.5, Number.NaN]) {
        const error = yield* Effect.flip(log.fork(header.id, { boundary }))
        assert.deepInclude(error, { _tag: "InvalidForkBoundary", lastSeq: 1 })
      }
      assert.strictEqual((yield* log.fork(header.id, { boundary: -1 })).seedLength, undefined)
    }))

  test("forks of forks read through all their ancestors, also when those are gone", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      let current = (yield* log.create()).id
      yield* log.append(current, notes(0))
      const expected: Array<number> = [0]
      for (let level = 1; level <= 12; level++) {
        const child = yield* log.fork(current)
        yield* log.append(child.id, notes(level))
        yield* log.remove(current)
        expected.push(level)
        current = child.id
      }
      assert.deepStrictEqual(dataOf(yield* events(current)), expected)
    }))
}
