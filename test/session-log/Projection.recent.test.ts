import * as Projection from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { added, logOf, makeProcess, memoryStore, notes } from "../support/sessionLog.js"

/** Remembers where each amount came from, so that an event that is missed, repeated or out of order shows. */
const amounts = Projection.make({
  key: "amounts",
  version: 1,
  schema: Schema.Array(Schema.Tuple(Schema.Int, Schema.Int)),
  initial: [],
  types: ["test/added"],
  apply: (state, event) => [...state, [event.seq, (event.data as { readonly amount: number }).amount] as const]
})

const counting = (store: (typeof SessionStore)["Service"]) => {
  const reads = { count: 0 }
  const counted: (typeof SessionStore)["Service"] = {
    ...store,
    read: (id, page) => {
      reads.count++
      return store.read(id, page)
    }
  }
  return { reads, counted }
}

/** A session that this process drives, its fold begun. */
const driven = Effect.gen(function* () {
  const store = yield* memoryStore
  const { counted, reads } = counting(store)
  const here = yield* makeProcess(counted, "here", { pollInterval: "1 hour" })
  const log = logOf(here)
  const { id } = yield* log.create()
  const leases = Context.get(here, SessionLeases)
  const lease = yield* Scope.make()
  yield* Scope.extend(leases.acquire(id), lease)
  const projections = Context.get(here, Projections)
  const get = Effect.map(projections.get(id, amounts), ({ asOfSeq, value }) => ({ asOfSeq, value }))
  yield* get
  reads.count = 0
  return { store, reads, here, log, id, leases, lease, get }
})

describe("Projection, of events that this process has just appended", () => {
  it.scoped("goes on with them and asks the store for none", () =>
    Effect.gen(function* () {
      const { get, id, log, reads } = yield* driven
      yield* log.append(id, added(1, 2))
      yield* log.append(id, notes("beside"))
      assert.deepStrictEqual(yield* get, {
        asOfSeq: 2,
        value: [
          [0, 1],
          [1, 2]
        ]
      })
      yield* log.append(id, [...notes("before"), ...added(3)])
      assert.deepStrictEqual(yield* get, {
        asOfSeq: 4,
        value: [
          [0, 1],
          [1, 2],
          [4, 3]
        ]
      })
      assert.strictEqual(reads.count, 0)
    })
  )

  it.scoped("asks the store for what is too much to be kept", () =>
    Effect.gen(function* () {
      const { get, id, log, reads } = yield* driven
      yield* log.append(id, added(1))
      yield* log.append(id, notes("x".repeat(300_000)))
      yield* log.append(id, added(2))
      assert.deepStrictEqual(yield* get, {
        asOfSeq: 2,
        value: [
          [0, 1],
          [2, 2]
        ]
      })
      assert.isAbove(reads.count, 0)
    })
  )

  it.scoped("asks the store for what another process appended between two leases", () =>
    Effect.gen(function* () {
      const { get, id, lease, leases, log, store } = yield* driven
      const there = logOf(yield* makeProcess(store, "there"))
      yield* log.append(id, added(1))
      yield* Scope.close(lease, Exit.void)
      yield* there.append(id, added(2))
      yield* leases.acquire(id)
      yield* log.append(id, added(3))
      assert.deepStrictEqual(yield* get, {
        asOfSeq: 2,
        value: [
          [0, 1],
          [1, 2],
          [2, 3]
        ]
      })
    })
  )

  it.scoped("asks the store for what came between, from a host whose clock is ahead", () =>
    Effect.gen(function* () {
      const { get, id, log, store } = yield* driven
      yield* log.append(id, added(1))
      const foreign = { type: "test/added", time: 0, data: `{"amount":2}`, sourceEventSeqs: null, ignorable: false }
      const request = { sessionId: id, expectedSeq: undefined, epoch: undefined, now: 1e12, events: [foreign] }
      assert.deepStrictEqual(yield* store.commit([request]), [{ _tag: "committed", firstSeq: 1 }])
      yield* log.append(id, added(3))
      assert.deepStrictEqual(yield* get, {
        asOfSeq: 2,
        value: [
          [0, 1],
          [1, 2],
          [2, 3]
        ]
      })
    })
  )

  it.effect.prop(
    "is what another process folds from the store",
    [FastCheck.array(FastCheck.tuple(FastCheck.integer({ min: 1, max: 60 }), FastCheck.boolean()), { maxLength: 12 })],
    ([steps]) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { get, id, log, store } = yield* driven
          for (const [count, looks] of steps) {
            yield* Effect.forEach(
              Array.from({ length: count }, (_, index) => index),
              (amount) => log.append(id, amount % 3 === 0 ? [...notes(amount), ...added(amount)] : added(amount))
            )
            if (looks) yield* get
          }
          const there = Context.get(yield* makeProcess(store, "there"), Projections)
          assert.deepStrictEqual(yield* get, yield* there.get(id, amounts))
        })
      ),
    { fastCheck: { numRuns: 25 } }
  )
})
