import * as Projection from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionLogOptions } from "@afterturn/session-log/SessionLog"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { total } from "../support/contracts/SessionLog.js"
import { added, logOf, makeProcess, memoryStore, notes } from "../support/sessionLog.js"

type Store = (typeof SessionStore)["Service"]

const settle = Effect.repeatN(Effect.yieldNow(), 50)

/** A store that notes what it is asked. */
const noting = (inner: Store) => {
  const asked: Array<string> = []
  let rows = 0
  const note =
    <A extends ReadonlyArray<unknown>, B, E>(name: string, ask: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A) =>
      Effect.tap(
        Effect.suspend(() => {
          asked.push(name)
          return ask(...args)
        }),
        (answer) =>
          Effect.sync(() => {
            if (name === "read") rows += (answer as ReadonlyArray<unknown>).length
          })
      )
  const store: Store = {
    ...inner,
    header: note("header", inner.header),
    read: note("read", inner.read),
    snapshot: note("snapshot", inner.snapshot),
    saveSnapshot: note("saveSnapshot", inner.saveSnapshot)
  }
  /** What was asked since the last look. */
  const since = () => {
    const answer = { asked: asked.splice(0), rows }
    rows = 0
    return answer
  }
  return { since, store }
}

const make = (store: Store, options?: SessionLogOptions) =>
  Effect.map(makeProcess(store, "here", options), (process) => ({
    log: logOf(process),
    projections: Context.get(process, Projections),
    leases: Context.get(process, SessionLeases)
  }))

/** The data of notes, in order. */
const trail = Projection.make({
  key: "test/trail",
  version: 3,
  schema: Schema.Array(Schema.Unknown),
  initial: [] as ReadonlyArray<unknown>,
  apply: (sofar, event: SessionEvent) => (event.type === "test/note" ? [...sofar, event.data] : sofar)
})

describe("what a projection costs", () => {
  it.scoped("nothing while this process drives the session and nothing was appended", () =>
    Effect.gen(function* () {
      const { since, store } = noting(yield* memoryStore)
      const { leases, log, projections } = yield* make(store)
      const { id } = yield* log.create()
      yield* leases.acquire(id)
      yield* log.append(id, added(1))
      yield* projections.get(id, total)
      since()
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 1, asOfSeq: 0 })
      yield* projections.decide(id, total, () => Effect.succeed({ events: added(2), value: undefined }))
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 3, asOfSeq: 1 })
      assert.deepStrictEqual(since().asked, [])
      // The tail, and only that.
      yield* log.append(id, added(4, 5))
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 12, asOfSeq: 3 })
      assert.deepStrictEqual(since(), { asked: ["read"], rows: 2 })
    })
  )

  it.scoped("a look at the header while others may append", () =>
    Effect.gen(function* () {
      const { since, store } = noting(yield* memoryStore)
      const { log, projections } = yield* make(store)
      const { id } = yield* log.create()
      yield* log.append(id, added(1))
      yield* projections.get(id, total)
      since()
      yield* projections.get(id, total)
      assert.deepStrictEqual(since().asked, ["header"])
    })
  )

  it.scoped("the tail after the snapshot, in a process that comes later", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const first = yield* make(inner)
      const { id } = yield* first.log.create()
      yield* first.log.append(id, notes(...Array.from({ length: 1000 }, (_, index) => index)))
      yield* first.projections.get(id, trail)
      yield* first.projections.snapshot(id)
      yield* first.log.append(id, notes("a", "b"))
      const { since, store } = noting(inner)
      const second = yield* make(store)
      const { asOfSeq, value } = yield* second.projections.get(id, trail)
      assert.strictEqual(asOfSeq, 1001)
      assert.deepStrictEqual(value.slice(-3), [999, "a", "b"])
      assert.strictEqual(since().rows, 2)
    })
  )

  it.scoped("only the events of its types", () =>
    Effect.gen(function* () {
      const { since, store } = noting(yield* memoryStore)
      const { log, projections } = yield* make(store)
      const { id } = yield* log.create()
      yield* log.append(id, [...notes(...Array.from({ length: 700 }, () => "x")), ...added(1, 2)])
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 3, asOfSeq: 701 })
      assert.strictEqual(since().rows, 2)
    })
  )

  it.scoped("one fold for all who ask at once", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const slow: Store = { ...inner, read: (id, page) => Effect.zipRight(Effect.yieldNow(), inner.read(id, page)) }
      const { since, store } = noting(slow)
      const { log, projections } = yield* make(store)
      const { id } = yield* log.create()
      yield* log.append(id, notes(...Array.from({ length: 600 }, (_, index) => index)))
      since()
      const values = yield* Effect.all(
        Array.from({ length: 20 }, () => projections.get(id, trail)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(since().rows, 600)
      assert.strictEqual(new Set(values.map(({ value }) => value)).size, 1)
    })
  )

  it.scoped("a fold anew for the value that was used least recently, when too many are held", () =>
    Effect.gen(function* () {
      const { since, store } = noting(yield* memoryStore)
      const { log, projections } = yield* make(store, { projectionCapacity: 2 })
      const ids = yield* Effect.forEach([0, 1, 2], () => Effect.map(log.create(), ({ id }) => id))
      yield* Effect.forEach(ids, (id) => log.append(id, notes("x")))
      const folds = (which: number) =>
        Effect.map(Effect.zipRight(Effect.sync(since), projections.get(ids[which]!, trail)), () => since().rows)
      assert.deepStrictEqual(yield* Effect.forEach([0, 1, 0, 2, 0, 1], folds), [1, 1, 0, 1, 0, 1])
    })
  )
})

describe("snapshots of projections", () => {
  it.scoped("are written in the background once enough was folded since the last", () =>
    Effect.gen(function* () {
      const { since, store } = noting(yield* memoryStore)
      const { log, projections } = yield* make(store)
      const { id } = yield* log.create()
      const fold = (count: number) =>
        Effect.gen(function* () {
          yield* log.append(id, notes(...Array.from({ length: count }, () => "x")))
          since()
          yield* projections.get(id, trail)
          yield* settle
          return since().asked.includes("saveSnapshot")
        })
      assert.deepStrictEqual(yield* Effect.forEach([499, 1, 499, 1, 1200], fold), [false, true, false, true, true])
      const [snapshot] = yield* store.snapshots(id)
      assert.deepInclude(snapshot, { key: "test/trail", version: 3, seq: 2199 })
    })
  )

  it.scoped("that cannot be written are said and forgotten, the value is given out all the same", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      let attempts = 0
      const store: Store = {
        ...inner,
        saveSnapshot: () => {
          attempts++
          return Effect.fail(new SessionStoreError({ reason: "full", message: "no space" }))
        }
      }
      const warnings: Array<unknown> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => warnings.push(message))
      )
      const run = Effect.gen(function* () {
        const { log, projections } = yield* make(store, { snapshotEvery: 10 })
        const { id } = yield* log.create()
        yield* log.append(id, notes(...Array.from({ length: 10 }, () => "x")))
        assert.strictEqual((yield* projections.get(id, trail)).asOfSeq, 9)
        yield* settle
        assert.strictEqual(attempts, 1)
        yield* projections.get(id, trail)
        yield* settle
        assert.strictEqual(attempts, 1)
        assert.strictEqual(
          (yield* Effect.flip(
            Effect.zipRight(
              log.append(id, notes("y")),
              Effect.zipRight(projections.get(id, trail), projections.snapshot(id))
            )
          ))._tag,
          "SessionStoreError"
        )
      })
      yield* Effect.provide(run, logger)
      assert.include(String(warnings[0]), 'projection "test/trail"')
    })
  )

  it.scoped("of another version, that cannot be read, or ahead of the log, are passed over", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const { log } = yield* make(inner)
      const { id } = yield* log.create()
      yield* log.append(id, notes("a", "b"))
      const found: ReadonlyArray<{ version: number; seq: number; state: string }> = [
        { version: 2, seq: 0, state: '["old"]' },
        { version: 3, seq: 0, state: "[" },
        { version: 3, seq: 0, state: '{"not":"an array"}' },
        { version: 3, seq: 7, state: '["ahead"]' },
        { version: 3, seq: -9, state: '["behind"]' }
      ]
      for (const snapshot of found) {
        const store: Store = {
          ...inner,
          snapshot: (_, key, version) =>
            Effect.succeed(snapshot.version === version ? Option.some({ key, ...snapshot }) : Option.none())
        }
        const { projections } = yield* make(store)
        assert.deepStrictEqual(yield* projections.get(id, trail), { value: ["a", "b"], asOfSeq: 1 })
      }
    })
  )

  const schedules = FastCheck.array(
    FastCheck.oneof(
      FastCheck.record({
        append: FastCheck.array(FastCheck.integer({ min: -9, max: 9 }), { minLength: 1, maxLength: 4 })
      }),
      FastCheck.constant("get" as const),
      FastCheck.constant("snapshot" as const),
      FastCheck.constant("restart" as const),
      FastCheck.constant("fork" as const),
      FastCheck.constant("decide" as const)
    ),
    { maxLength: 25 }
  )

  it.effect(
    "on any schedule give the same value as a fold from the start",
    () =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(schedules, FastCheck.boolean(), (steps, inherited) =>
            Effect.runPromise(Effect.scoped(runSchedule(steps, inherited)))
          ),
          { numRuns: 150 }
        )
      ),
    60_000
  )
})

type Step = { readonly append: ReadonlyArray<number> } | "get" | "snapshot" | "restart" | "fork" | "decide"

const runSchedule = (steps: ReadonlyArray<Step>, inherited: boolean) =>
  Effect.gen(function* () {
    const store = yield* memoryStore
    const sums = Projection.make({
      ...trail,
      key: "test/sums",
      apply: (sofar, event) =>
        event.type === "test/added" ? [...sofar, event.seq, (event.data as { amount: number }).amount] : sofar,
      history: inherited ? "inherited" : "own"
    })
    let process = yield* make(store, { snapshotEvery: 3, pageEvents: 2 })
    let { id } = yield* process.log.create()
    let start = 0
    let events: Array<readonly [seq: number, amount: number]> = []
    const note = (amounts: ReadonlyArray<number>) => {
      for (const amount of amounts) events.push([events.length, amount])
    }
    for (const step of steps) {
      if (typeof step === "object") {
        yield* process.log.append(id, added(...step.append))
        note(step.append)
      } else if (step === "get") yield* process.projections.get(id, sums)
      else if (step === "snapshot") yield* process.projections.snapshot(id)
      else if (step === "restart") process = yield* make(store, { snapshotEvery: 3, pageEvents: 2 })
      else if (step === "decide") {
        yield* process.projections.decide(id, sums, ({ value }) =>
          Effect.succeed({ events: added(value.length), value: undefined })
        )
        const seen = inherited ? events : events.slice(start)
        note([seen.length * 2])
      } else {
        const boundary = Math.floor((events.length - 1) / 2)
        id = (yield* process.log.fork(id, { boundary })).id
        events = events.slice(0, boundary + 1)
        start = events.length
      }
    }
    const expected = (inherited ? events : events.slice(start)).flat()
    assert.deepStrictEqual(yield* process.projections.get(id, sums), { value: expected, asOfSeq: events.length - 1 })
    yield* process.projections.snapshot(id)
    const later = yield* make(store)
    assert.deepStrictEqual(yield* later.projections.get(id, sums), { value: expected, asOfSeq: events.length - 1 })
  })

describe("a projected value", () => {
  it.scoped("stays right when a fold is interrupted half way", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const reached = yield* Deferred.make<void>()
      let pages = 0
      const store: Store = {
        ...inner,
        read: (id, page) =>
          ++pages === 2 ? Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never) : inner.read(id, page)
      }
      const { log, projections } = yield* make(store, { pageEvents: 10 })
      const { id } = yield* log.create()
      const data = Array.from({ length: 35 }, (_, index) => index)
      yield* log.append(id, notes(...data))
      const fiber = yield* Effect.fork(projections.get(id, trail))
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* projections.get(id, trail), { value: data, asOfSeq: 34 })
    })
  )

  it.scoped("takes an event once that a decision and a fold bring at the same time", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const reading = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      let concurrently: Effect.Effect<unknown> = Effect.void
      let isGated = false
      const store: Store = {
        ...inner,
        // What is committed is read by another fold before the decision hears of it.
        commit: (requests) =>
          Effect.zipLeft(
            inner.commit(requests),
            Effect.suspend(() => concurrently)
          ),
        read: (id, page) =>
          Effect.zipLeft(
            inner.read(id, page),
            Effect.suspend(() =>
              isGated ? Effect.zipRight(Deferred.succeed(reading, undefined), Deferred.await(go)) : Effect.void
            )
          )
      }
      const { log, projections } = yield* make(store)
      const { id } = yield* log.create()
      yield* log.append(id, notes("a"))
      yield* projections.get(id, trail)
      const scope = yield* Effect.scope
      concurrently = Effect.gen(function* () {
        isGated = true
        yield* Effect.forkIn(projections.get(id, trail), scope)
        yield* Deferred.await(reading)
        isGated = false
      })
      yield* projections.decide(id, trail, () => Effect.succeed({ events: notes("b"), value: undefined }))
      yield* Deferred.succeed(go, undefined)
      yield* settle
      assert.deepStrictEqual(yield* projections.get(id, trail), { value: ["a", "b"], asOfSeq: 1 })
    })
  )

  it.scoped("is not mixed up with that of another projection of the same key", () =>
    Effect.gen(function* () {
      const { log, projections } = yield* make(yield* memoryStore)
      const { id } = yield* log.create()
      yield* log.append(id, notes("a"))
      const other = Projection.make({ ...trail, apply: (sofar) => [...sofar, "other"] })
      assert.deepStrictEqual((yield* projections.get(id, trail)).value, ["a"])
      assert.deepStrictEqual((yield* projections.get(id, other)).value, ["other"])
      assert.deepStrictEqual((yield* projections.get(id, trail)).value, ["a"])
    })
  )

  it.scoped("sees what other processes appended", () =>
    Effect.gen(function* () {
      const store = yield* memoryStore
      const [here, there] = [yield* make(store), yield* make(store)]
      const { id } = yield* here.log.create()
      yield* here.log.append(id, added(1))
      assert.strictEqual((yield* here.projections.get(id, total)).value, 1)
      yield* there.log.append(id, added(2))
      assert.deepStrictEqual(yield* here.projections.get(id, total), { value: 3, asOfSeq: 1 })
      // Two processes that decide at once: the one that comes second decides again.
      const both = yield* Effect.all(
        [here, there].map(({ projections }) =>
          projections.decide(id, total, ({ value }) =>
            Effect.as(Effect.repeatN(Effect.yieldNow(), 3), { events: added(10), value })
          )
        ),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        [...both].sort((a, b) => a - b),
        [3, 13]
      )
    })
  )
})
