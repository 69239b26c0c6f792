/**
 * What the session log does whatever store is under it. Each test builds the layer anew, so a layer over a file must make a
 * file of its own.
 */

import * as Projection from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { Services } from "../sessionLog.js"
import {
  Added,
  added,
  Closed,
  collect,
  dataOf,
  events,
  Hint,
  Note,
  notes,
  Opened,
  seqsOf,
  types
} from "../sessionLog.js"

export const contract = <E>(name: string, layer: Layer.Layer<Services, E>): void =>
  describe(`session log on ${name}`, () => {
    const all = Layer.provideMerge(types, layer)
    const test = <A, Failure>(title: string, effect: () => Effect.Effect<A, Failure, Services | Scope.Scope>) =>
      it.scoped(title, () => Effect.provide(Effect.suspend(effect), all), 30_000)
    sessions(test)
    appending(test)
    reading(test)
    following(test)
    forking(test)
    moving(test)
    projecting(test)
    leasing(test)
  })

type Test = <A, E>(title: string, effect: () => Effect.Effect<A, E, Services | Scope.Scope>) => void

const id = (text: string): SessionId => text as SessionId

const sessions = (test: Test): void => {
  test("a session is created with what was given and the time of the clock", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* TestClock.setTime(Date.parse("2026-03-09T06:30:00.000Z"))
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
        createdAt: "2026-03-09T06:30:00.000Z",
        cwd: "/home/ada",
        title: "Tea 🫖",
        parent: "p-1",
        delegationDepth: 2
      }
      assert.deepStrictEqual<unknown>(header, expected)
      assert.deepStrictEqual<unknown>(yield* log.header(id("s-1")), { ...expected, lastSeq: -1 })
    }))

  test("a header keeps no text that a database cannot hold", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create({ title: "a\0b\uD800c", cwd: "/x\0" })
      assert.strictEqual(header.title, "ab\uFFFDc")
      assert.deepStrictEqual({ ...(yield* log.header(header.id)) }, { ...header, cwd: "/x", lastSeq: -1 })
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
      yield* log.append(id("s-1"), added(5))
      assert.deepStrictEqual(yield* projections.get(id("s-1"), total), { value: 5, asOfSeq: 0 })
      assert.deepStrictEqual(seqsOf(yield* events(id("s-1"))), [0])
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

/** Sums up amounts. */
export const total = Projection.make({
  key: "test/total",
  version: 1,
  schema: Schema.Number,
  initial: 0,
  types: ["test/added"],
  apply: (sum, event) => (event.type === "test/added" ? sum + (event.data as { amount: number }).amount : sum)
})

/** Seqs of all events. */
const seqs = Projection.make({
  key: "test/seqs",
  version: 1,
  schema: Schema.Array(Schema.Int),
  initial: [] as ReadonlyArray<number>,
  apply: (sofar, event) => [...sofar, event.seq]
})

const appending = (test: Test): void => {
  test("appended events come back as stored, under contiguous seqs", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* TestClock.setTime(Date.parse("2026-03-09T06:30:00.123Z"))
      const first = yield* log.append(header.id, notes("a", { b: [1, null] }))
      const second = yield* log.append(header.id, [Hint.make("c"), Note.make("d", { sourceEventSeqs: [0, 1] })])
      const time = "2026-03-09T06:30:00.123Z"
      assert.deepStrictEqual<unknown>(
        [...first, ...second],
        [
          { seq: 0, type: "test/note", time, data: "a" },
          { seq: 1, type: "test/note", time, data: { b: [1, null] } },
          { seq: 2, type: "test/hint", time, data: "c", ignorable: true },
          { seq: 3, type: "test/note", time, data: "d", sourceEventSeqs: [0, 1] }
        ]
      )
      assert.deepStrictEqual(yield* events(header.id), [...first, ...second])
      assert.strictEqual(yield* log.lastSeq(header.id), 3)
    }))

  test("time may fall: order is by seq", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* TestClock.setTime(2_000)
      yield* log.append(header.id, notes("late"))
      yield* TestClock.setTime(1_000)
      yield* log.append(header.id, notes("early"))
      assert.deepStrictEqual(
        (yield* events(header.id)).map((event) => [event.data, event.time]),
        [
          ["late", "1970-01-01T00:00:02.000Z"],
          ["early", "1970-01-01T00:00:01.000Z"]
        ]
      )
    }))

  test("appends of many fibers to many sessions are all stored, each session's in the order of the calls", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const ids = yield* Effect.forEach([0, 1, 2, 3], () => Effect.map(log.create(), (header) => header.id))
      yield* Effect.forEach(
        ids,
        (session, which) =>
          Effect.forEach(
            Array.from({ length: 50 }, (_, index) => index),
            (index) => log.append(session, notes([which, index, "a"], [which, index, "b"])),
            { concurrency: "unbounded" }
          ),
        {
          concurrency: "unbounded"
        }
      )
      for (const [which, session] of ids.entries()) {
        const all = yield* events(session)
        assert.deepStrictEqual(
          seqsOf(all),
          Array.from({ length: 100 }, (_, seq) => seq)
        )
        assert.deepStrictEqual(
          dataOf(all),
          Array.from({ length: 50 }, (_, index) => [
            [which, index, "a"],
            [which, index, "b"]
          ]).flat()
        )
      }
    }))

  test("an expected seq that does not hold stores nothing", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* log.append(header.id, notes(0), { expectedSeq: -1 })
      const error = yield* Effect.flip(log.append(header.id, notes("x"), { expectedSeq: -1 }))
      assert.deepInclude(error, { _tag: "SessionConflict", expectedSeq: -1, actualSeq: 0 })
      const nothing = yield* Effect.flip(log.append(header.id, [], { expectedSeq: 7 }))
      assert.deepInclude(nothing, { _tag: "SessionConflict", expectedSeq: 7, actualSeq: 0 })
      assert.deepStrictEqual(yield* log.append(header.id, [], { expectedSeq: 0 }), [])
      yield* log.append(header.id, notes(1), { expectedSeq: 0 })
      assert.deepStrictEqual(dataOf(yield* events(header.id)), [0, 1])
    }))

  test("of concurrent appends that expect the same seq one is stored", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const results = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index),
        (index) => Effect.either(log.append(header.id, notes(index), { expectedSeq: -1 })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter((result) => result._tag === "Right").length, 1)
      assert.strictEqual(yield* log.lastSeq(header.id), 0)
    }))

  test("one bad event refuses the batch and is named", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const refuse = (type: string, data: unknown) =>
        Effect.map(Effect.flip(log.append(header.id, [Note.make("good"), { type, data }])), (error) =>
          error._tag === "EventRejected" ? `${error.type}: ${error.reason}` : error._tag
        )
      const cyclic: Record<string, unknown> = { a: {} }
      cyclic["a"] = { back: cyclic }
      class Point {
        readonly x = 1
      }
      const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)])
      const cases: ReadonlyArray<readonly [string, unknown, string]> = [
        ["test/none", 1, "test/none: expected a registered event type"],
        ["test/added", { amount: "1" }, 'test/added: Expected number, actual "1" at data.amount'],
        ["test/added", { amount: 1, more: 2 }, 'test/added: is unexpected, expected: "amount" at data.more'],
        ["test/note", undefined, "test/note: expected JSON, got undefined at data"],
        ["test/note", { a: [1, undefined] }, "test/note: expected JSON, got undefined at data.a[1]"],
        ["test/note", { a: Number.NaN }, "test/note: expected a finite number, got NaN at data.a"],
        ["test/note", [[-Infinity]], "test/note: expected a finite number, got -Infinity at data[0][0]"],
        ["test/note", { "a b": -0 }, 'test/note: expected a number that JSON keeps, got -0 at data["a b"]'],
        ["test/note", 1n, "test/note: expected JSON, got a bigint at data"],
        ["test/note", { f: () => 1 }, "test/note: expected JSON, got a function at data.f"],
        ["test/note", { s: Symbol.iterator }, "test/note: expected JSON, got a symbol at data.s"],
        ["test/note", { [Symbol("k")]: 1 }, "test/note: expected string keys, got Symbol(k) at data"],
        ["test/note", { d: new Date(0) }, "test/note: expected a plain object, got a Date at data.d"],
        ["test/note", new Map(), "test/note: expected a plain object, got a Map at data"],
        ["test/note", [new Point()], "test/note: expected a plain object, got a Point at data[0]"],
        ["test/note", new (class extends Array {})(), "test/note: expected a plain array at data"],
        [
          "test/note",
          Object.assign([1], { x: 1 }),
          "test/note: expected an array without holes or named properties at data"
        ],
        ["test/note", { a: new Array(2) }, "test/note: expected an array without holes or named properties at data.a"],
        [
          "test/note",
          {
            get a() {
              return 1
            }
          },
          "test/note: expected a value, got an accessor at data.a"
        ],
        [
          "test/note",
          Object.defineProperty({}, "a", { value: 1, enumerable: false }),
          "test/note: expected an enumerable property at data.a"
        ],
        ["test/note", cyclic, "test/note: expected a tree, got a cycle at data.a.back"],
        ["test/note", deep(513), `test/note: expected at most 512 levels at data${"[0]".repeat(512)}`]
      ]
      for (const [type, data, expected] of cases) assert.strictEqual(yield* refuse(type, data), expected)
      assert.strictEqual(yield* log.lastSeq(header.id), -1)
      yield* log.append(header.id, [{ type: "test/note", data: deep(512) }])
    }))

  test("an event made by its type is refused all the same when it is not JSON", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const error = yield* Effect.flip(log.append(header.id, [Note.make({ a: undefined })]))
      assert.include(error.message, 'event "test/note" refused: expected JSON, got undefined at data.a')
      const sources = yield* Effect.flip(log.append(header.id, [Note.make(1, { sourceEventSeqs: [-1] })]))
      assert.include(sources.message, "expected sourceEventSeqs to be an array of seqs")
    }))

  test("what was checked is what is stored: a made event is frozen, a changed copy is checked again", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const given = { amount: 1 }
      const made = Added.make(given)
      given.amount = 2
      assert.throws(() => {
        ;(made.data as { amount: number }).amount = 3
      }, TypeError)
      const error = yield* Effect.flip(log.append(header.id, [{ ...made, data: { amount: "4" } }]))
      assert.strictEqual(error._tag, "EventRejected")
      yield* log.append(header.id, [made, { ...made, data: { amount: 5 } }])
      assert.deepStrictEqual<unknown>(dataOf(yield* events(header.id)), [{ amount: 1 }, { amount: 5 }])
    }))

  test("data that changes after the call is stored as it was at the call", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const data = { list: [1] }
      const stored = yield* Effect.zipLeft(
        log.append(header.id, [{ type: "test/note", data }]),
        Effect.sync(() => data.list.push(2)),
        { concurrent: true }
      )
      assert.deepStrictEqual<unknown>(dataOf(stored), [{ list: [1] }])
      assert.deepStrictEqual(yield* events(header.id), stored)
    }))

  const json = FastCheck.jsonValue({ maxDepth: 4, noUnicodeString: false })
  const anyJson = FastCheck.array(
    FastCheck.oneof(
      json,
      FastCheck.string({ unit: "binary" }),
      FastCheck.dictionary(FastCheck.oneof(FastCheck.constant("__proto__"), FastCheck.string()), json)
    ),
    { minLength: 1, maxLength: 5 }
  ).map((values) => values.map(withoutNegativeZero))

  test("any JSON comes back as it went in", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const runtime = yield* Effect.runtime<Services>()
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(anyJson, async (values) => {
            const program = Effect.gen(function* () {
              const header = yield* log.create()
              const stored = yield* log.append(header.id, notes(...values))
              assert.deepStrictEqual(dataOf(stored), values.map(plain))
              assert.deepStrictEqual(yield* events(header.id), stored)
            })
            await Effect.runPromise(Effect.provide(program, runtime))
          }),
          { numRuns: 60 }
        )
      )
    }))

  test("NUL, lone surrogates and emoji survive, also as keys", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const data = { "nul\0": "\0", "lone\uD800": "\uDC00\uD800", "🫖": "👩‍👩‍👧", "\u2028": "\u2029\r\n\t" }
      yield* log.append(header.id, notes(data))
      assert.deepStrictEqual(dataOf(yield* events(header.id)), [data])
    }))

  test("an event of a megabyte and one of fifty are stored and read", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const small = "é".repeat(1024 * 1024)
      const large = "x".repeat(50 * 1024 * 1024)
      yield* Effect.all([log.append(header.id, notes(small)), log.append(header.id, notes({ large }))], {
        concurrency: "unbounded"
      })
      const [first, second] = yield* events(header.id)
      assert.isTrue(first!.data === small)
      assert.isTrue((second!.data as { large: string }).large === large)
    }))
}

/** With the prototype and the property order that parsed JSON has. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const withoutNegativeZero = (value: unknown): unknown => plain(value)

const reading = (test: Test): void => {
  test("a read keeps to its range, its types and its limit, over many pages", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      const batch = Array.from({ length: 600 }, (_, seq) => (seq % 3 === 0 ? Hint.make(`${seq}`) : Note.make(seq)))
      yield* log.append(header.id, batch)
      const read = (options: Parameters<typeof log.read>[1]) => Effect.map(events(header.id, options), seqsOf)
      const range = (from: number, to: number, step = 1) =>
        Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step)
      assert.deepStrictEqual(yield* read({}), range(0, 599))
      assert.deepStrictEqual(yield* read({ fromSeq: 100, toSeq: 400 }), range(100, 400))
      assert.deepStrictEqual(yield* read({ fromSeq: -3, toSeq: 10_000 }), range(0, 599))
      assert.deepStrictEqual(yield* read({ fromSeq: 600 }), [])
      assert.deepStrictEqual(yield* read({ fromSeq: 5, toSeq: 4 }), [])
      assert.deepStrictEqual(yield* read({ limit: 0 }), [])
      assert.deepStrictEqual(yield* read({ fromSeq: 10, limit: 300 }), range(10, 309))
      assert.deepStrictEqual(yield* read({ types: ["test/hint"] }), range(0, 597, 3))
      assert.deepStrictEqual(yield* read({ types: ["test/hint"], fromSeq: 1, limit: 2 }), [3, 6])
      assert.deepStrictEqual(yield* read({ types: [] }), [])
      assert.deepStrictEqual(yield* read({ types: ["test/none"] }), [])
    }))

  test("a read ends where the log ended when it began", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* log.append(header.id, notes(...Array.from({ length: 300 }, (_, index) => index)))
      const read = yield* log.read(header.id).pipe(
        Stream.tap((event) => (event.seq < 3 ? log.append(header.id, notes("later")) : Effect.void)),
        collect
      )
      assert.strictEqual(read.length, 300)
      assert.strictEqual(yield* log.lastSeq(header.id), 302)
    }))

  test("a session without events reads as empty", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      assert.deepStrictEqual(yield* events(header.id), [])
      assert.strictEqual(yield* log.lastSeq(header.id), -1)
    }))

  test("an unknown event type can be read, not continued, unless it may be ignored", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const store = yield* SessionStore
      const foreign = (session: SessionId, ignorable: boolean) =>
        store.commit([
          {
            sessionId: session,
            expectedSeq: undefined,
            epoch: undefined,
            now: 0,
            events: [{ type: "other/event", time: 1, data: '{"a":1}', sourceEventSeqs: null, ignorable }]
          }
        ])
      // Stored by another process: this one has not looked at the sessions yet.
      for (const session of [id("required"), id("optional")]) {
        yield* store.create({
          id: session,
          version: 1,
          createdAt: 0,
          cwd: null,
          title: null,
          parent: null,
          seedLength: 0,
          delegationDepth: 0
        })
        yield* foreign(session, session === "optional")
      }
      assert.deepStrictEqual(
        (yield* events(id("required"))).map((event) => event.type),
        ["other/event"]
      )
      const error = yield* Effect.flip(log.append(id("required"), notes(1)))
      assert.deepInclude(error, { _tag: "UnknownEventType", type: "other/event", seq: 0 })
      assert.strictEqual(yield* log.lastSeq(id("required")), 0)
      yield* log.append(id("optional"), notes(1))
    }))

  test("a session of a newer version is refused, and left out of lists", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const store = yield* SessionStore
      const projections = yield* Projections
      const newer = id("newer")
      yield* store.create({
        id: newer,
        version: 2,
        createdAt: 0,
        cwd: null,
        title: null,
        parent: null,
        seedLength: 0,
        delegationDepth: 0
      })
      const refusals: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>> = [
        log.header(newer),
        log.append(newer, notes(1)),
        collect(log.read(newer)),
        collect(log.changes(newer)),
        collect(log.exportJsonl(newer)),
        log.fork(newer),
        projections.get(newer, total)
      ]
      for (const refusal of refusals) {
        const error = yield* Effect.flip(refusal)
        assert.strictEqual(error._tag, "SessionVersionUnsupported")
        assert.include(error.message, "written by a newer version (header version 2, this release reads 1)")
      }
      assert.deepStrictEqual((yield* log.list()).sessions, [])
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.empty)), [])
      assert.isTrue(yield* log.exists(newer))
    }))
}

const following = (test: Test): void => {
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

const forking = (test: Test): void => {
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

const moving = (test: Test): void => {
  test("an exported session is imported as it was", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create({ title: "Tea", cwd: "/home" })
      yield* log.append(header.id, [
        ...notes({ a: "\u2028\0\uD800" }, [1, 2.5, -3e-300]),
        Hint.make("h"),
        Note.make(null, { sourceEventSeqs: [0] })
      ])
      const lines = yield* collect(log.exportJsonl(header.id))
      assert.strictEqual(lines.length, 5)
      assert.isTrue(lines.every((line) => !line.includes("\n")))
      assert.strictEqual((yield* Effect.flip(log.importJsonl(Stream.make(lines.join("\n")))))._tag, "SessionExists")
      const before = yield* events(header.id)
      yield* log.remove(header.id)
      assert.deepStrictEqual(yield* log.importJsonl(Stream.make(lines.join("\n"))), header)
      assert.deepStrictEqual(yield* events(header.id), before)
      const renamed = yield* log.importJsonl(Stream.make(lines.join("\n") + "\n\n"), { id: id("renamed") })
      assert.deepStrictEqual(renamed, { ...header, id: id("renamed") })
      assert.deepStrictEqual(yield* collect(log.exportJsonl(id("renamed"))), [
        JSON.stringify(renamed),
        ...lines.slice(1)
      ])
      yield* log.append(id("renamed"), notes("goes on"))
    }))

  test("any session in any pieces survives an export and an import", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const runtime = yield* Effect.runtime<Services>()
      const pieces = FastCheck.record({
        data: FastCheck.array(FastCheck.jsonValue({ noUnicodeString: false }), { maxLength: 6 }),
        cut: FastCheck.integer({ min: 1, max: 40 }),
        end: FastCheck.constantFrom("", "\n", "\r\n", "\n\n")
      })
      yield* Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(pieces, async ({ cut, data, end }) => {
            const program = Effect.gen(function* () {
              const header = yield* log.create()
              const stored = yield* log.append(header.id, notes(...data.map(plain)))
              const text = (yield* collect(log.exportJsonl(header.id))).join("\n") + end
              const parts = text.match(new RegExp(`[^]{1,${cut}}`, "g")) ?? []
              const copy = yield* log.importJsonl(Stream.fromIterable(parts), { id: id(`${header.id}-copy`) })
              assert.deepStrictEqual(yield* events(copy.id), stored)
            })
            await Effect.runPromise(Effect.provide(program, runtime))
          }),
          { numRuns: 40 }
        )
      )
    }))

  test("a fork is imported whole, its parent kept as a fact", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const parent = yield* log.create()
      yield* log.append(parent.id, added(1, 2))
      const child = yield* log.fork(parent.id)
      yield* log.append(child.id, added(4))
      const text = (yield* collect(log.exportJsonl(child.id))).join("\n")
      yield* log.remove(child.id)
      yield* log.remove(parent.id)
      assert.deepStrictEqual(yield* log.importJsonl(Stream.make(text)), child)
      assert.deepInclude(yield* log.header(child.id), { parent: parent.id, seedLength: 2, lastSeq: 2 })
      assert.strictEqual((yield* events(child.id)).length, 3)
      assert.strictEqual((yield* projections.get(child.id, total)).value, 4)
    }))

  test("the first bad line is named and nothing is stored", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = JSON.stringify({
        id: "i-1",
        version: 1,
        createdAt: "2026-03-09T06:30:00.000Z",
        delegationDepth: 0
      })
      const line = (seq: number, over: object = {}) =>
        JSON.stringify({ seq, type: "test/note", time: "2026-03-09T06:30:00.000Z", data: seq, ...over })
      const cases: ReadonlyArray<readonly [ReadonlyArray<string>, number, string]> = [
        [[], 1, "expected a session header, got nothing"],
        [["", header], 1, "expected a header, got an empty line"],
        [["{"], 1, "expected JSON"],
        [
          [JSON.stringify({ version: 3, id: "x" })],
          1,
          "written by a newer version (header version 3, this release reads 1)"
        ],
        [[header.replace('"delegationDepth":0', '"delegationDepth":-1')], 1, "header.delegationDepth"],
        [[header.replace("i-1", "../i")], 1, "expected a session id"],
        [[header.replace("}", ',"extra":1}')], 1, "header.extra"],
        [[header.replace("}", ',"seedLength":2}'), line(0)], 1, "expected at least 2 events (seedLength), got 1"],
        [[line(0)], 1, "header"],
        [[header, "nonsense"], 2, "expected JSON"],
        [[header, line(0), "", line(1)], 3, "expected an event, got an empty line"],
        [[header, line(1)], 2, "expected seq 0, got 1"],
        [[header, line(0), line(0)], 3, "expected seq 1, got 0"],
        [[header, line(0), line(1, { time: "yesterday" })], 3, "event.time"],
        [[header, line(0, { more: 1 })], 2, "event.more"],
        [[header, line(0).replace('"data":0', '"data":1e400')], 2, "expected a finite number, got Infinity at data"],
        [[header, line(0, { type: "test/added", data: { amount: 0.5 } })], 2, "data.amount"],
        [[header, line(0, { type: "bad\0type" })], 2, "expected an event type without NUL and lone surrogates"],
        [[header, line(0, { sourceEventSeqs: [-1] })], 2, "event.sourceEventSeqs[0]"]
      ]
      for (const [lines, number, reason] of cases) {
        const error = yield* Effect.flip(log.importJsonl(Stream.make(lines.join("\n"))))
        assert(error._tag === "ImportRejected", `${error}`)
        assert.strictEqual(error.line, number, error.reason)
        assert.include(error.reason, reason)
      }
      assert.deepStrictEqual((yield* log.list()).sessions, [])
    }))

  test("an import takes unknown types, a byte order mark and -0, which becomes 0", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const text = [
        `\uFEFF${JSON.stringify({ id: "i-1", version: 1, createdAt: "2026-03-09T06:30:00.000Z", delegationDepth: 0 })}`,
        `{"seq":0,"type":"other/event","time":"2026-03-09T06:30:00.001Z","data":{"z":-0,"deep":[-0.0]},"ignorable":true}`
      ].join("\r\n")
      const header = yield* log.importJsonl(Stream.make(text))
      assert.deepStrictEqual<unknown>(yield* events(header.id), [
        {
          seq: 0,
          type: "other/event",
          time: "2026-03-09T06:30:00.001Z",
          data: { z: 0, deep: [0] },
          ignorable: true
        }
      ])
    }))

  test("an import that is interrupted, or whose text fails, leaves nothing", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const store = yield* SessionStore
      const source = yield* log.create()
      yield* log.append(source.id, notes(...Array.from({ length: 1000 }, (_, index) => index)))
      const lines = (yield* collect(log.exportJsonl(source.id))).map((line) => `${line}\n`)
      const failing = Stream.concat(Stream.fromIterable(lines), Stream.fail("torn" as const))
      assert.strictEqual(yield* Effect.flip(log.importJsonl(failing, { id: id("torn") })), "torn")
      const reached = yield* Deferred.make<void>()
      const hanging = Stream.concat(
        Stream.fromIterable(lines),
        Stream.fromEffect(Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never))
      )
      const fiber = yield* Effect.fork(log.importJsonl(hanging, { id: id("hung") }))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(yield* log.exists(id("torn")))
      assert.isFalse(yield* log.exists(id("hung")))
      assert.strictEqual((yield* log.list()).sessions.length, 1)
      yield* store.gc
      assert.strictEqual((yield* events(source.id)).length, 1000)
      yield* log.importJsonl(Stream.fromIterable(lines), { id: id("hung") })
    }))
}

const projecting = (test: Test): void => {
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

  test("decisions of many fibers each see what the others decided", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const header = yield* log.create()
      const seen = yield* Effect.forEach(
        Array.from({ length: 30 }, (_, index) => index),
        () =>
          projections.decide(header.id, total, (current) =>
            Effect.as(Effect.yieldNow(), { events: added(1), value: current.value })
          ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        [...seen].sort((a, b) => a - b),
        Array.from({ length: 30 }, (_, index) => index)
      )
      assert.strictEqual((yield* projections.get(header.id, total)).value, 30)
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

const leasing = (test: Test): void => {
  test("a lease is held by one and given back with its scope", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const leases = yield* SessionLeases
      const header = yield* log.create()
      const epoch = yield* Effect.scoped(
        Effect.gen(function* () {
          const lease = yield* leases.acquire(header.id)
          yield* log.append(header.id, notes("driven"))
          const refused = yield* Effect.flip(Effect.scoped(leases.acquire(header.id)))
          assert.strictEqual(refused._tag, "SessionLeased")
          return lease.epoch
        })
      )
      yield* log.append(header.id, notes("free"))
      const again = yield* leases.acquire(header.id)
      assert.isAbove(again.epoch, epoch)
      assert.strictEqual((yield* Effect.flip(leases.acquire(id("none"))))._tag, "SessionNotFound")
    }))
}
