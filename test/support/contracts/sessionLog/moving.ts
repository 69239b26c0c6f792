import { Projections } from "@afterturn/session-log/Projection"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { Services } from "../../sessionLog.js"
import { added, collect, events, Hint, Note, notes } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { id, plain, total } from "./test.js"

export const moving = (test: Test): void => {
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
      const renamed = yield* log.importJsonl(Stream.make(`${lines.join("\n")}\n\n`), { id: id("renamed") })
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
        [[header.replace("}", ',"seedLength":2}'), line(0)], 1, "expected a parent, from which the first 2 events"],
        [[header.replace("}", ',"parent":"i-1"}'), line(0)], 1, 'expected another session as parent, got "i-1" itself'],
        [
          [header.replace("}", ',"parent":"p","seedLength":2}'), line(0)],
          1,
          "expected at least 2 events (seedLength), got 1"
        ],
        [[line(0)], 1, "header"],
        [[header, "nonsense"], 2, "expected JSON"],
        [[header, line(0), "", line(1)], 3, "expected an event, got an empty line"],
        [[header, line(1)], 2, "expected seq 0, got 1"],
        [[header, line(0), line(0)], 3, "expected seq 1, got 0"],
        [[header, line(0), line(1, { time: "yesterday" })], 3, "event.time"],
        [[header, line(0, { more: 1 })], 2, "event.more"],
        [[header, line(0).replace('"data":0', '"data":1e400')], 2, "expected a finite number, got Infinity at data"],
        [[header, line(0, { type: "test/added", data: { amount: 0.5 } })], 2, "data.amount"],
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
