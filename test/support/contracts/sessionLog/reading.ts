import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { collect, events, Hint, Note, notes, seqsOf } from "../../sessionLog.js"
import type { Test } from "./test.js"
import { id, total } from "./test.js"

export const reading = (test: Test): void => {
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
