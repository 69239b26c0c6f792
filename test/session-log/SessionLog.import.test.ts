import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { collect, logOf, makeProcess, memoryStore, notes } from "../support/sessionLog.js"

type Store = (typeof SessionStore)["Service"]

/** A process whose stagings note the size of what they are given, and an export to import. */
const make = Effect.gen(function* () {
  const inner = yield* memoryStore
  const writes: Array<number> = []
  const store: Store = {
    ...inner,
    stage: Effect.map(inner.stage, (staging) => ({
      ...staging,
      write: (events) =>
        Effect.zipRight(
          Effect.sync(() => writes.push(events.length)),
          staging.write(events)
        )
    }))
  }
  const log = logOf(yield* makeProcess(store, "here"))
  const source = yield* log.create()
  yield* log.append(source.id, notes(...Array.from({ length: 1000 }, (_, index) => index)))
  yield* log.append(source.id, notes(...Array.from({ length: 6 }, () => "x".repeat(600_000))))
  const lines = (yield* collect(log.exportJsonl(source.id))).map((line) => `${line}\n`)
  return { lines, log, source, writes }
})

describe("an import", () => {
  it.scoped("holds a piece of the session at a time, by events and by characters", () =>
    Effect.gen(function* () {
      const { lines, log, writes } = yield* make
      yield* log.importJsonl(Stream.fromIterable(lines), { id: "copy" as SessionId })
      assert.deepStrictEqual(writes, [256, 256, 256, 234, 2, 2, 0])
    })
  )

  it.scoped("of an id that is taken ends at the header, whatever follows", () =>
    Effect.gen(function* () {
      const { lines, log, source, writes } = yield* make
      let pulled = 0
      const text = Stream.tap(Stream.rechunk(Stream.fromIterable(lines), 1), () => Effect.sync(() => pulled++))
      const error = yield* Effect.flip(log.importJsonl(text))
      assert.deepInclude(error, { _tag: "SessionExists", sessionId: source.id })
      assert.deepStrictEqual([pulled, writes], [1, []])
    })
  )

  it.scoped("of an id that is taken meanwhile stores nothing", () =>
    Effect.gen(function* () {
      const { lines, log } = yield* make
      const copy = "copy" as SessionId
      const late = Stream.concat(
        Stream.fromIterable(lines),
        Stream.execute(log.create({ id: copy, title: "came first" }))
      )
      assert.strictEqual((yield* Effect.flip(log.importJsonl(late, { id: copy })))._tag, "SessionExists")
      assert.deepInclude(yield* log.header(copy), { title: "came first", lastSeq: -1 })
    })
  )
})
