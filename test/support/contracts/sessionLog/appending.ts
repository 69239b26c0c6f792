import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert } from "@effect/vitest"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import type { Services } from "../../sessionLog.js"
import { Added, dataOf, events, Hint, Note, notes, seqsOf } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { plain } from "./test.js"

export const appending = (test: Test): void => {
  test("appended events come back as stored, under contiguous seqs", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const header = yield* log.create()
      yield* TestClock.setTime(Date.parse("1970-01-01T00:00:05.123Z"))
      const first = yield* log.append(header.id, notes("a", { b: [1, null] }))
      const second = yield* log.append(header.id, [Hint.make("c"), Note.make("d", { sourceEventSeqs: [0, 1] })])
      const time = "1970-01-01T00:00:05.123Z"
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

  test("a clock that stands between two milliseconds gives whole ones", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const leases = yield* SessionLeases
      const clock = yield* Effect.clock
      const between: Clock.Clock = Object.assign(Object.create(clock), {
        unsafeCurrentTimeMillis: () => 1.5,
        currentTimeMillis: Effect.succeed(1.5)
      })
      const [stored] = yield* Effect.gen(function* () {
        const header = yield* log.create()
        yield* leases.acquire(header.id)
        return yield* log.append((yield* log.fork(header.id)).id, notes(1))
      }).pipe(Effect.withClock(between))
      assert.strictEqual(stored?.time, "1970-01-01T00:00:00.001Z")
      const { sessions } = yield* log.list()
      assert.deepStrictEqual(
        sessions.map((session) => session.createdAt),
        [stored?.time, stored?.time]
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
      cyclic.a = { back: cyclic }
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
  ).map((values) => values.map(plain))

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
