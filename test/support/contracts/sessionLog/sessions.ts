import { Projections } from "@afterturn/session-log/Projection"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { added, collect, events, notes, seqsOf } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { id, total } from "./test.js"

export const sessions = (test: Test): void => {
  test("a session is created with what was given and the time of the clock", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* TestClock.setTime(Date.parse("1970-01-01T00:00:05.000Z"))
      const header = yield* log.create({
        id: id("s-1"),
        cwd: "/home/ada",
        title: "Tea 🫖",
        parent: id("p-1"),
        delegationDepth: 2
      })
      const expected = {
        id: "s-1",
        version: 1,
        createdAt: "1970-01-01T00:00:05.000Z",
        cwd: "/home/ada",
        title: "Tea 🫖",
        parent: "p-1",
        delegationDepth: 2
      }
      assert.deepStrictEqual<unknown>(header, expected)
      assert.deepStrictEqual<unknown>(yield* log.header(id("s-1")), { ...expected, lastSeq: -1 })
    }))

  test("a title and a folder keep any text", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const odd = { title: "a\0b\uD800c", cwd: "/x\u0001\0" }
      const header = yield* log.create(odd)
      assert.deepInclude(yield* log.header(header.id), odd)
      assert.strictEqual((yield* log.list({ cwd: odd.cwd })).sessions.length, 1)
    }))

  test("new ids differ and sort by time", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const ids: Array<string> = []
      for (let index = 0; index < 20; index++) {
        ids.push((yield* log.create()).id)
        yield* TestClock.adjust(index % 2 === 0 ? 1 : 100_000)
      }
      assert.deepStrictEqual(ids, [...new Set(ids)].sort())
    }))

  test("an id is given out once", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* log.create({ id: id("s-1"), title: "first" })
      const error = yield* Effect.flip(log.create({ id: id("s-1"), title: "second" }))
      assert.strictEqual(error._tag, "SessionExists")
      assert.strictEqual((yield* log.header(id("s-1"))).title, "first")
    }))

  test("what is not there is said to be missing", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const tags = yield* Effect.forEach(
        [
          log.header(id("none")),
          log.lastSeq(id("none")),
          log.remove(id("none")),
          log.append(id("none"), notes(1)),
          log.append(id("none"), []),
          collect(log.read(id("none"))),
          collect(log.changes(id("none"))),
          collect(log.exportJsonl(id("none"))),
          log.fork(id("none"))
        ],
        (effect): Effect.Effect<string> =>
          Effect.match(effect as Effect.Effect<unknown, { readonly _tag: string }>, {
            onFailure: (error) => error._tag,
            onSuccess: () => "succeeded"
          })
      )
      assert.deepStrictEqual(new Set(tags), new Set(["SessionNotFound"]))
      assert.isFalse(yield* log.exists(id("none")))
    }))

  test("sessions are listed newest first, page by page, each once", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      for (let index = 0; index < 7; index++) {
        yield* log.create({ id: id(`s-${index}`), cwd: index % 2 === 0 ? "/even" : "/odd" })
        // Two share each instant: the order among them is by id.
        if (index % 2 === 1) yield* TestClock.adjust(1)
      }
      const pages: Array<ReadonlyArray<string>> = []
      let cursor: string | undefined
      do {
        const page = yield* log.list({ limit: 3, ...(cursor === undefined ? {} : { cursor }) })
        pages.push(page.sessions.map((session) => session.id))
        cursor = page.nextCursor
      } while (cursor !== undefined)
      assert.deepStrictEqual(pages, [["s-6", "s-5", "s-4"], ["s-3", "s-2", "s-1"], ["s-0"]])
      const even = yield* log.list({ cwd: "/even" })
      assert.deepStrictEqual(
        even.sessions.map((session) => session.id),
        ["s-6", "s-4", "s-2", "s-0"]
      )
      assert.isUndefined(even.nextCursor)
    }))

  test("a limit is brought into its range, a foreign cursor refused", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* Effect.forEach([1, 2, 3], () => log.create())
      assert.strictEqual((yield* log.list({ limit: 0 })).sessions.length, 1)
      assert.strictEqual((yield* log.list({ limit: -5 })).sessions.length, 1)
      assert.strictEqual((yield* log.list({ limit: Infinity })).sessions.length, 3)
      assert.strictEqual((yield* log.list({ limit: Number.NaN })).sessions.length, 3)
      for (const cursor of ["", "nonsense", "WzEsIiJd", "🫖"]) {
        assert.strictEqual((yield* Effect.flip(log.list({ cursor })))._tag, "InvalidCursor")
      }
    }))

  test("a removed session is gone and its id free", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      yield* log.create({ id: id("s-1") })
      yield* log.append(id("s-1"), added(1, 2))
      assert.strictEqual((yield* projections.get(id("s-1"), total)).value, 3)
      yield* log.remove(id("s-1"))
      assert.isFalse(yield* log.exists(id("s-1")))
      assert.strictEqual((yield* Effect.flip(log.append(id("s-1"), notes(1))))._tag, "SessionNotFound")
      yield* TestClock.adjust(1)
      yield* log.create({ id: id("s-1") })
      yield* log.append(id("s-1"), added(5, 6, 7))
      assert.deepStrictEqual(yield* projections.get(id("s-1"), total), { value: 18, asOfSeq: 2 })
      assert.deepStrictEqual(seqsOf(yield* events(id("s-1"))), [0, 1, 2])
    }))

  test("a session that is driven is not removed", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const leases = yield* SessionLeases
      const header = yield* log.create()
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* leases.acquire(header.id)
          assert.strictEqual((yield* Effect.flip(log.remove(header.id)))._tag, "SessionLeased")
          assert.isTrue(yield* log.exists(header.id))
        })
      )
      yield* log.remove(header.id)
    }))
}
