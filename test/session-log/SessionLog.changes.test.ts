import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { collect, dataOf, logOf, makeProcess, memoryStore, notes, seqsOf } from "../support/sessionLog.js"

type Store = (typeof SessionStore)["Service"]

const settle = Effect.repeatN(Effect.yieldNow(), 50)

/** Counts what a store is asked. */
const counting = (store: Store) => {
  const asked = { header: 0, read: 0 }
  const count =
    <A extends Array<unknown>, B>(name: keyof typeof asked, ask: (...args: A) => B) =>
    (...args: A) => {
      asked[name]++
      return ask(...args)
    }
  return { asked, store: { ...store, header: count("header", store.header), read: count("read", store.read) } }
}

describe("following a session that another process writes", () => {
  it.scoped("sees its events within the poll interval", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const here = logOf(yield* makeProcess(store, "here"))
      const there = logOf(yield* makeProcess(store, "there"))
      const { id } = yield* here.create()
      yield* there.append(id, notes(0))
      const seen: Array<unknown> = []
      const follower = yield* Effect.fork(
        Stream.runForEach(here.changes(id), (event) => Effect.sync(() => seen.push(event.data)))
      )
      yield* settle
      assert.deepStrictEqual(seen, [0])
      yield* there.append(id, notes(1, 2))
      yield* settle
      assert.deepStrictEqual(seen, [0])
      yield* TestClock.adjust("1 second")
      yield* settle
      assert.deepStrictEqual(seen, [0, 1, 2])
      // Its own are seen at once, and bring the others' along.
      yield* there.append(id, notes(3))
      yield* here.append(id, notes(4))
      yield* settle
      assert.deepStrictEqual(seen, [0, 1, 2, 3, 4])
      yield* there.remove(id)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(Fiber.join(follower)))._tag, "SessionNotFound")
    })
  )

  it.scoped("polls as configured, and not at all where nobody else writes", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const never = counting(store)
      const often = counting(store)
      const first = logOf(yield* makeProcess(never.store, "never", { pollInterval: Duration.infinity }))
      const second = logOf(yield* makeProcess(often.store, "often", { pollInterval: "100 millis" }))
      const { id } = yield* first.create()
      yield* Effect.fork(Stream.runDrain(first.changes(id)))
      yield* Effect.fork(Stream.runDrain(second.changes(id)))
      yield* settle
      const before = never.asked.header
      const beforeOften = often.asked.header
      for (let tick = 0; tick < 10; tick++) {
        yield* TestClock.adjust("100 millis")
        yield* settle
      }
      assert.strictEqual(never.asked.header, before)
      assert.strictEqual(often.asked.header - beforeOften, 10)
      assert.strictEqual(often.asked.read, 0)
    })
  )

  it.scoped("asks nothing while this process drives the session, and goes on when it no longer does", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const { asked, store } = counting(inner)
      const process = yield* makeProcess(store, "here")
      const log = logOf(process)
      const there = logOf(yield* makeProcess(inner, "there"))
      const { id } = yield* log.create()
      const seen: Array<number> = []
      yield* log.append(id, notes(0))
      const drive = Effect.zipRight(Context.get(process, SessionLeases).acquire(id), Effect.never)
      const driver = yield* Effect.fork(Effect.scoped(drive))
      yield* Effect.fork(Stream.runForEach(log.changes(id), (event) => Effect.sync(() => seen.push(event.seq))))
      yield* settle
      yield* log.append(id, notes(1))
      yield* settle
      const before = asked.header
      yield* TestClock.adjust("4 seconds")
      yield* settle
      assert.strictEqual(asked.header, before)
      yield* Fiber.interrupt(driver)
      yield* there.append(id, notes(2))
      yield* TestClock.adjust("1 second")
      yield* settle
      assert.deepStrictEqual(seen, [0, 1, 2])
    })
  )

  it.scoped("misses no wake-up between the look at the store and the wait", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const looked = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      let looks = 0
      // The second look (the first is that of the start) finds nothing, and is held up before it says so.
      const store: Store = {
        ...inner,
        header: (id) =>
          Effect.tap(inner.header(id), () =>
            ++looks === 2 ? Effect.zipRight(Deferred.succeed(looked, undefined), Deferred.await(go)) : Effect.void
          )
      }
      const log = logOf(yield* makeProcess(store, "here", { pollInterval: Duration.infinity }))
      const { id } = yield* log.create()
      const follower = yield* Effect.fork(collect(Stream.take(log.changes(id), 1)))
      yield* Deferred.await(looked)
      yield* log.append(id, notes("in between"))
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual(dataOf(yield* Fiber.join(follower)), ["in between"])
    })
  )

  it.scoped("holds pages, not the log: a reader that stops pulling stops reading", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const { asked, store } = counting(inner)
      const log = logOf(yield* makeProcess(store, "here", { pageEvents: 10 }))
      const { id } = yield* log.create()
      yield* log.append(id, notes(...Array.from({ length: 1000 }, (_, index) => index)))
      const blocked = yield* Deferred.make<void>()
      yield* Effect.fork(
        Stream.runForEach(log.changes(id), (event: SessionEvent) =>
          event.seq === 25 ? Deferred.await(blocked) : Effect.void
        )
      )
      yield* settle
      yield* Effect.repeatN(log.append(id, notes("more")), 200)
      yield* settle
      assert.strictEqual(asked.read, 3)
    })
  )

  it.scoped("takes up where it is told to, also past the end", () =>
    Effect.gen(function* () {
      const log = logOf(yield* makeProcess(yield* memoryStore, "here"))
      const { id } = yield* log.create()
      yield* log.append(id, notes(0, 1))
      const follower = yield* Effect.fork(collect(Stream.take(log.changes(id, { fromSeq: 4 }), 2)))
      yield* settle
      yield* Effect.repeatN(log.append(id, notes("x", "y")), 2)
      assert.deepStrictEqual(seqsOf(yield* Fiber.join(follower)), [4, 5])
    })
  )
})
