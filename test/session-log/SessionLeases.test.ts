import { Projections } from "@afterturn/session-log/Projection"
import type { Lease } from "@afterturn/session-log/SessionLeases"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { total } from "../support/contracts/SessionLog.js"
import type { Services } from "../support/sessionLog.js"
import { added, holder, logOf, makeProcess, memoryStore, notes } from "../support/sessionLog.js"

type Store = (typeof SessionStore)["Service"]

const settle = Effect.repeatN(Effect.yieldNow(), 50)

const leasesOf = (process: Context.Context<Services>) => Context.get(process, SessionLeases)

/** Whether the lease was lost so far. */
const isLost = (lease: Lease) =>
  Effect.map(
    Effect.flatMap(Effect.fork(lease.lost), (fiber) => Effect.zipRight(settle, Fiber.poll(fiber))),
    Option.isSome
  )

/** A store of which a part can be made to fail. */
const breakable = (inner: Store) => {
  const state = { fails: false }
  const error = new SessionStoreError({ reason: "busy", message: "somebody else writes" })
  const unlessBroken = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.suspend((): Effect.Effect<A, E | SessionStoreError> => (state.fails ? Effect.fail(error) : effect))
  const store: Store = {
    ...inner,
    renewLease: (...args) => unlessBroken(inner.renewLease(...args)),
    releaseLease: (...args) => unlessBroken(inner.releaseLease(...args))
  }
  return { state, store }
}

describe("leases between hosts", () => {
  it.scoped("keep a second host out, which is told who and until when", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const [one, two] = [yield* makeProcess(store, "one"), yield* makeProcess(store, "two")]
      const { id } = yield* logOf(one).create()
      yield* TestClock.setTime(Date.parse("2026-03-09T06:30:00.000Z"))
      yield* leasesOf(one).acquire(id)
      const refused = yield* Effect.flip(Effect.scoped(leasesOf(two).acquire(id)))
      assert.deepInclude(refused, { _tag: "SessionLeased", sessionId: id, expiresAt: "2026-03-09T06:30:15.000Z" })
      assert(refused._tag === "SessionLeased")
      assert.deepStrictEqual({ ...refused.holder }, holder("one"))
      const append = yield* Effect.flip(logOf(two).append(id, notes(1)))
      assert.strictEqual(append._tag, "SessionLeased")
      yield* logOf(one).append(id, notes(1))
      // Reading needs none.
      assert.strictEqual(yield* logOf(two).lastSeq(id), 0)
    })
  )

  it.scoped("live as long as their heartbeat", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const [one, two] = [yield* makeProcess(store, "one"), yield* makeProcess(store, "two")]
      const { id } = yield* logOf(one).create()
      const lease = yield* leasesOf(one).acquire(id)
      for (let beat = 0; beat < 20; beat++) {
        yield* TestClock.adjust("5 seconds")
        yield* settle
        assert.strictEqual((yield* Effect.flip(Effect.scoped(leasesOf(two).acquire(id))))._tag, "SessionLeased")
      }
      assert.isFalse(yield* isLost(lease))
      assert.deepInclude(Option.getOrThrow(yield* store.lease(id)), { epoch: lease.epoch, expiresAt: 115_000 })
    })
  )

  it.scoped("are given back when their scope closes, whatever the outcome", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const [one, two] = [yield* makeProcess(store, "one"), yield* makeProcess(store, "two")]
      const { id } = yield* logOf(one).create()
      const held = yield* Deferred.make<void>()
      const driver = yield* Effect.fork(
        Effect.scoped(
          leasesOf(one)
            .acquire(id)
            .pipe(Effect.zipRight(Deferred.succeed(held, undefined)), Effect.zipRight(Effect.never))
        )
      )
      yield* Deferred.await(held)
      yield* Fiber.interrupt(driver)
      assert.isTrue(Option.isNone(yield* store.lease(id)))
      const lease = yield* leasesOf(two).acquire(id)
      assert.isAbove(lease.epoch, 1)
      // The heartbeat went with the scope: the other's lease is not touched.
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.flip(Effect.scoped(leasesOf(one).acquire(id))))._tag, "SessionLeased")
    })
  )

  it.scoped("are refused to a second driver of the same process, which names itself", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const process = yield* makeProcess(store, "one")
      const { id } = yield* logOf(process).create()
      const first = yield* Scope.make()
      yield* Scope.extend(leasesOf(process).acquire(id), first)
      const second = yield* Scope.make()
      let isClosed = false
      yield* Scope.addFinalizer(
        second,
        Effect.sync(() => {
          isClosed = true
        })
      )
      const refused = yield* Effect.flip(Scope.extend(leasesOf(process).acquire(id), second))
      assert(refused._tag === "SessionLeased")
      assert.strictEqual(refused.holder.host, "one")
      yield* Scope.close(first, Exit.void)
      // The refusal left nothing behind, and the scope as it was.
      assert.isFalse(isClosed)
      yield* Scope.extend(leasesOf(process).acquire(id), second)
      assert.isTrue(Option.isSome(yield* store.lease(id)))
      yield* Scope.close(second, Exit.void)
      assert.isTrue(Option.isNone(yield* store.lease(id)))
    })
  )

  it.scoped("are taken by one of two drivers that ask at once", () =>
    Effect.gen(function* () {
      const process = yield* makeProcess(yield* memoryStore, "one")
      const { id } = yield* logOf(process).create()
      const results = yield* Effect.all(
        Array.from({ length: 5 }, () => Effect.either(leasesOf(process).acquire(id))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(results.filter((result) => result._tag === "Right").length, 1)
    })
  )

  it.scoped("of a dead holder are replaced at once, of one that may live only when they expire", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const dead = new Set<number>()
      const two = yield* makeProcess(store, "two", { dead })
      const { id } = yield* logOf(two).create()
      const crashed = yield* store.acquireLease({
        sessionId: id,
        holder: holder("one", 41),
        now: 0,
        expiresAt: 15_000,
        replaces: undefined
      })
      assert.strictEqual(crashed._tag, "acquired")
      assert.strictEqual((yield* Effect.flip(Effect.scoped(leasesOf(two).acquire(id))))._tag, "SessionLeased")
      dead.add(41)
      const lease = yield* Effect.scoped(leasesOf(two).acquire(id))
      assert.isAbove(lease.epoch, 1)
      dead.clear()
      yield* store.acquireLease({
        sessionId: id,
        holder: holder("one", 41),
        now: 0,
        expiresAt: 15_000,
        replaces: undefined
      })
      yield* TestClock.adjust("14999 millis")
      assert.strictEqual((yield* Effect.flip(Effect.scoped(leasesOf(two).acquire(id))))._tag, "SessionLeased")
      yield* TestClock.adjust("1 millis")
      yield* leasesOf(two).acquire(id)
    })
  )

  it.scoped("that a third has taken after the holder died are not replaced with it", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      // While this process finds out that the holder is dead, a third one replaces it.
      let third = Effect.void
      const store: Store = {
        ...inner,
        acquireLease: (request) =>
          request.replaces === undefined
            ? inner.acquireLease(request)
            : Effect.zipRight(third, inner.acquireLease(request))
      }
      const two = yield* makeProcess(store, "two", { dead: new Set([41]) })
      const { id } = yield* logOf(two).create()
      const crashed = yield* inner.acquireLease({
        sessionId: id,
        holder: holder("one", 41),
        now: 0,
        expiresAt: 15_000,
        replaces: undefined
      })
      assert(crashed._tag === "acquired")
      third = Effect.asVoid(
        inner.acquireLease({
          sessionId: id,
          holder: holder("three", 42),
          now: 0,
          expiresAt: 15_000,
          replaces: crashed.lease
        })
      ) as Effect.Effect<void>
      const refused = yield* Effect.flip(Effect.scoped(leasesOf(two).acquire(id)))
      assert(refused._tag === "SessionLeased")
      assert.strictEqual(refused.holder.host, "three")
    })
  )
})

describe("a lease that is taken over", () => {
  /** Host one stands still past its expiry; host two takes over. */
  const takenOver = Effect.gen(function* () {
    const inner = yield* memoryStore
    const { state, store } = breakable(inner)
    const [one, two] = [yield* makeProcess(store, "one"), yield* makeProcess(inner, "two")]
    const { id } = yield* logOf(one).create()
    const scope = yield* Scope.make()
    const lease = yield* Scope.extend(leasesOf(one).acquire(id), scope)
    yield* logOf(one).append(id, added(1))
    assert.deepStrictEqual(yield* Context.get(one, Projections).get(id, total), { value: 1, asOfSeq: 0 })
    return { id, inner, lease, one, scope, state, two }
  })

  it.scoped("fences the old holder's appends, and tells it at the first", () =>
    Effect.gen(function* () {
      const { id, inner, lease, one, scope, two } = yield* takenOver
      const crashed = Option.getOrThrow(yield* inner.lease(id))
      const taken = yield* inner.acquireLease({
        sessionId: id,
        holder: holder("two"),
        now: 0,
        expiresAt: 15_000,
        replaces: crashed
      })
      assert(taken._tag === "acquired")
      assert.isFalse(yield* isLost(lease))
      const append = yield* Effect.flip(logOf(one).append(id, added(2)))
      assert.deepInclude(append, { _tag: "LeaseLost", sessionId: id })
      assert.isTrue(yield* isLost(lease))
      assert.strictEqual((yield* lease.lost)._tag, "LeaseLost")
      // A decision is fenced the same way, and does not see it as a conflict to be retried.
      const decision = Context.get(one, Projections).decide(id, total, () =>
        Effect.succeed({ events: added(1), value: 0 })
      )
      assert.strictEqual((yield* Effect.flip(decision))._tag, "LeaseLost")
      // What the new holder appends is seen at once, though the lost lease has not expired.
      const event = { type: "test/added", time: 0, data: '{"amount":10}', sourceEventSeqs: null, ignorable: false }
      const { epoch } = taken.lease
      yield* inner.commit([{ sessionId: id, expectedSeq: 0, epoch, now: 0, events: [event] }])
      assert.deepStrictEqual(yield* Context.get(one, Projections).get(id, total), { value: 11, asOfSeq: 1 })
      yield* Scope.close(scope, Exit.void)
      assert.deepInclude(Option.getOrThrow(yield* inner.lease(id)), { epoch: taken.lease.epoch })
      assert.strictEqual((yield* Effect.flip(logOf(one).append(id, added(2))))._tag, "SessionLeased")
      assert.strictEqual(yield* logOf(two).lastSeq(id), 1)
    })
  )

  it.scoped("is not taken again by its process before the old driver has stopped", () =>
    Effect.gen(function* () {
      const { id, inner, one, scope } = yield* takenOver
      const crashed = Option.getOrThrow(yield* inner.lease(id))
      yield* inner.releaseLease(id, crashed.epoch)
      assert.strictEqual((yield* Effect.flip(logOf(one).append(id, added(2))))._tag, "LeaseLost")
      const refused = yield* Effect.flip(Effect.scoped(leasesOf(one).acquire(id)))
      assert(refused._tag === "SessionLeased")
      assert.strictEqual(refused.holder.host, "one")
      yield* Scope.close(scope, Exit.void)
      yield* leasesOf(one).acquire(id)
    })
  )

  it.scoped("is noticed by the next heartbeat", () =>
    Effect.gen(function* () {
      const { id, inner, lease } = yield* takenOver
      yield* inner.acquireLease({
        sessionId: id,
        holder: holder("two"),
        now: 0,
        expiresAt: 60_000,
        replaces: Option.getOrThrow(yield* inner.lease(id))
      })
      yield* TestClock.adjust("4999 millis")
      assert.isFalse(yield* isLost(lease))
      yield* TestClock.adjust("1 millis")
      assert.isTrue(yield* isLost(lease))
    })
  )

  it.scoped("is lost when the store cannot be asked until it has expired, and not before", () =>
    Effect.gen(function* () {
      const { id, lease, one, state, two } = yield* takenOver
      state.fails = true
      for (let second = 0; second < 14; second++) yield* TestClock.adjust("1 second")
      assert.isFalse(yield* isLost(lease))
      for (let second = 0; second < 6; second++) yield* TestClock.adjust("1 second")
      assert.isTrue(yield* isLost(lease))
      // No other host is blamed for it.
      assert.include((yield* lease.lost).message, "could not be renewed before it expired, since")
      yield* leasesOf(two).acquire(id)
      yield* logOf(two).append(id, added(10))
      // What the old holder knew of the session is not trusted any more.
      assert.deepStrictEqual(yield* Context.get(one, Projections).get(id, total), { value: 11, asOfSeq: 1 })
    })
  )

  it.scoped("is kept through store errors that pass", () =>
    Effect.gen(function* () {
      const { id, inner, lease, state } = yield* takenOver
      state.fails = true
      for (let second = 0; second < 12; second++) yield* TestClock.adjust("1 second")
      state.fails = false
      for (let second = 0; second < 10; second++) yield* TestClock.adjust("1 second")
      assert.isFalse(yield* isLost(lease))
      assert.isAbove(Option.getOrThrow(yield* inner.lease(id)).expiresAt, 22_000)
    })
  )

  /** Two hosts and a clock that is set by hand: a sleep ends when it is told to. */
  const asleep = Effect.gen(function* () {
    const store = yield* memoryStore
    const [one, two] = [yield* makeProcess(store, "one"), yield* makeProcess(store, "two")]
    const clock = yield* Effect.clock
    const state = { now: 0, alarm: yield* Deferred.make<void>() }
    const hand: Clock.Clock = Object.assign(Object.create(clock), {
      unsafeCurrentTimeMillis: () => state.now,
      currentTimeMillis: Effect.sync(() => state.now),
      sleep: () => Effect.suspend(() => Deferred.await(state.alarm))
    })
    const { id } = yield* logOf(one).create()
    const value = Effect.withClock(Context.get(one, Projections).get(id, total), hand)
    const lease = yield* Effect.withClock(leasesOf(one).acquire(id), hand)
    yield* Effect.withClock(logOf(one).append(id, added(1)), hand)
    assert.deepStrictEqual(yield* value, { value: 1, asOfSeq: 0 })
    // The machine sleeps for an hour; when it wakes up, the other host comes before the heartbeat.
    state.now = 3_600_000
    yield* Effect.withClock(logOf(two).append(id, added(10)), hand)
    const heartbeat = Effect.gen(function* () {
      const alarm = state.alarm
      state.alarm = yield* Deferred.make<void>()
      yield* Deferred.succeed(alarm, undefined)
      yield* settle
    })
    return { hand, heartbeat, id, lease, one, two, value }
  })

  it.scoped("says nothing about the session any more once it has expired", () =>
    Effect.gen(function* () {
      const { value } = yield* asleep
      assert.deepStrictEqual(yield* value, { value: 11, asOfSeq: 1 })
    })
  )

  it.scoped("is kept over a jump of the clock when nobody took it, with what others appended meanwhile", () =>
    Effect.gen(function* () {
      const { hand, heartbeat, id, lease, one, two, value } = yield* asleep
      yield* heartbeat
      assert.isFalse(yield* isLost(lease))
      assert.deepStrictEqual(yield* value, { value: 11, asOfSeq: 1 })
      yield* Effect.withClock(logOf(one).append(id, added(100)), hand)
      assert.deepStrictEqual(yield* value, { value: 111, asOfSeq: 2 })
      const refused = yield* Effect.flip(Effect.withClock(logOf(two).append(id, added(1)), hand))
      assert.strictEqual(refused._tag, "SessionLeased")
    })
  )

  it.scoped("does not keep a decision from seeing what a host with a fast clock appended", () =>
    Effect.gen(function* () {
      const { id, one, two } = yield* takenOver
      const clock = yield* Effect.clock
      const fast: Clock.Clock = Object.assign(Object.create(clock), { unsafeCurrentTimeMillis: () => 3_600_000 })
      yield* Effect.withClock(logOf(two).append(id, added(10)), fast)
      const seen: Array<number> = []
      yield* Context.get(one, Projections).decide(id, total, ({ value }) => {
        seen.push(value)
        return Effect.succeed({ events: added(100), value: undefined })
      })
      assert.deepStrictEqual(seen, [1, 11])
    })
  )

  it.scoped("is kept when the clock falls back", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      yield* TestClock.setTime(1_000_000)
      const one = yield* makeProcess(store, "one")
      const { id } = yield* logOf(one).create()
      const lease = yield* leasesOf(one).acquire(id)
      yield* TestClock.setTime(500_000)
      for (let beat = 0; beat < 4; beat++) yield* TestClock.adjust("5 seconds")
      yield* settle
      assert.isFalse(yield* isLost(lease))
      yield* logOf(one).append(id, notes(1))
    })
  )
})

describe("the settings of leases", () => {
  it.scoped("change how long they live and how often they are renewed", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const one = yield* makeProcess(store, "one", { leaseTtl: "2 seconds", heartbeatInterval: "500 millis" })
      const { id } = yield* logOf(one).create()
      yield* leasesOf(one).acquire(id)
      assert.strictEqual(Option.getOrThrow(yield* store.lease(id)).expiresAt, 2_000)
      yield* TestClock.adjust("500 millis")
      yield* settle
      assert.strictEqual(Option.getOrThrow(yield* store.lease(id)).expiresAt, 2_500)
    })
  )

  it.scoped("allow a lease that never expires and has no heartbeat", () =>
    Effect.gen(function* () {
      const { state, store } = breakable(yield* memoryStore)
      state.fails = true
      const one = yield* makeProcess(store, "one", { leaseTtl: Duration.infinity })
      const { id } = yield* logOf(one).create()
      const lease = yield* leasesOf(one).acquire(id)
      yield* TestClock.adjust("400 days")
      assert.isFalse(yield* isLost(lease))
      yield* logOf(one).append(id, notes(1))
    })
  )

  it.scoped("are refused at the start when a lease would not live to its heartbeat", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(makeProcess(yield* memoryStore, "one", { leaseTtl: "5 seconds" }))
      assert.isTrue(Exit.isFailure(exit))
    })
  )

  it.scoped("that is not given back for lack of a store expires", () =>
    Effect.gen(function* () {
      const { state, store } = breakable(yield* memoryStore)
      const [one, two] = [yield* makeProcess(store, "one"), yield* makeProcess(store, "two")]
      const { id } = yield* logOf(one).create()
      state.fails = true
      yield* Effect.scoped(leasesOf(one).acquire(id))
      assert.strictEqual((yield* Effect.flip(Effect.scoped(leasesOf(two).acquire(id))))._tag, "SessionLeased")
      yield* TestClock.adjust("15 seconds")
      yield* leasesOf(two).acquire(id)
    })
  )
})
