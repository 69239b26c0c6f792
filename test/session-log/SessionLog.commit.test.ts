import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionLogOptions } from "@afterturn/session-log/SessionLog"
import type { CommitRequest, SessionStore } from "@afterturn/session-log/SessionStore"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { total } from "../support/contracts/SessionLog.js"
import { added, collect, dataOf, logOf, makeProcess, memoryStore, notes, seqsOf } from "../support/sessionLog.js"

type Store = (typeof SessionStore)["Service"]
type Commit = Store["commit"]

/** A process over a memory store whose commits go through `around`; `batches` are the requests of each commit. */
const make = (
  around: (commit: Effect.Effect<unknown>) => Effect.Effect<unknown, SessionStoreError>,
  options?: SessionLogOptions
) =>
  Effect.gen(function* () {
    const inner = yield* memoryStore
    const batches: Array<ReadonlyArray<CommitRequest>> = []
    const commit: Commit = (requests) =>
      Effect.suspend(() => {
        batches.push(requests)
        return around(inner.commit(requests) as Effect.Effect<unknown>) as ReturnType<Commit>
      })
    const process = yield* makeProcess({ ...inner, commit }, "here", options)
    const log = logOf(process)
    const { id } = yield* log.create()
    const data = Effect.map(collect(log.read(id)), dataOf)
    return { process, log, id, batches, data }
  })

/** Lets the fibers that can run do so until they all wait. */
const settle = Effect.repeatN(Effect.yieldNow(), 20)

/** A commit that waits: `reached` once it began, goes on with `go`. */
const makeGate = Effect.gen(function* () {
  const reached = yield* Deferred.make<void>()
  const go = yield* Deferred.make<void>()
  const pass = Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(go))
  return { reached: Deferred.await(reached), go: Deferred.succeed(go, undefined), pass }
})

const storeError = (reason: SessionStoreError["reason"]) =>
  new SessionStoreError({ reason, message: `it is ${reason}` })

describe("group commit", () => {
  it.scoped("writes what waited during a commit in one transaction, in the order of the calls", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      const { batches, data, id, log } = yield* make((commit) => Effect.zipRight(gate.pass, commit))
      const first = yield* Effect.fork(log.append(id, notes("first")))
      yield* gate.reached
      const rest = yield* Effect.forEach([1, 2, 3, 4], (index) => Effect.fork(log.append(id, notes(index, -index))))
      yield* settle
      assert.strictEqual(batches.length, 1)
      yield* gate.go
      assert.deepStrictEqual(seqsOf(yield* Fiber.join(first)), [0])
      assert.deepStrictEqual((yield* Effect.forEach(rest, Fiber.join)).map(seqsOf), [
        [1, 2],
        [3, 4],
        [5, 6],
        [7, 8]
      ])
      assert.deepStrictEqual(
        batches.map((batch) => batch.length),
        [1, 4]
      )
      assert.deepStrictEqual(yield* data, ["first", 1, -1, 2, -2, 3, -3, 4, -4])
    })
  )

  it.scoped("lets the event loop turn while a fiber appends without end", () =>
    Effect.gen(function* () {
      const { id, log } = yield* make((commit) => commit)
      let turns = 0
      let next: NodeJS.Immediate
      const count = () => {
        turns++
        next = setImmediate(count)
      }
      count()
      yield* Effect.repeatN(log.append(id, notes("more")), 63)
      clearImmediate(next!)
      assert.isAtLeast(turns, 8)
    })
  )

  it.scoped("bounds a transaction by events and by characters, and never splits an append", () =>
    Effect.gen(function* () {
      const sizes = (options: SessionLogOptions, appends: ReadonlyArray<ReadonlyArray<string>>) =>
        Effect.gen(function* () {
          const gate = yield* makeGate
          const { batches, id, log } = yield* make((commit) => Effect.zipRight(gate.pass, commit), options)
          const first = yield* Effect.fork(log.append(id, notes("first")))
          yield* gate.reached
          const rest = yield* Effect.forEach(appends, (data) => Effect.fork(log.append(id, notes(...data))))
          yield* settle
          yield* gate.go
          yield* Effect.forEach([first, ...rest], Fiber.join)
          return batches.slice(1).map((batch) => batch.map((request) => request.events.length))
        })
      assert.deepStrictEqual(yield* sizes({ maxBatchEvents: 3 }, [["a"], ["b", "c"], ["d", "e"], ["f", "g"]]), [
        [1, 2],
        [2, 2]
      ])
      assert.deepStrictEqual(yield* sizes({ maxBatchEvents: 2 }, [["a", "b", "c", "d"], ["e"]]), [[4], [1]])
      const long = "x".repeat(60)
      assert.deepStrictEqual(yield* sizes({ maxBatchBytes: 100 }, [[long], [long], [long], ["s"]]), [
        [1, 1],
        [1, 1]
      ])
    })
  )

  it.scoped("fails each caller of a batch that the store refuses, and goes on", () =>
    Effect.gen(function* () {
      for (const reason of ["busy", "full", "read-only", "unavailable"] as const) {
        const gate = yield* makeGate
        let failing = true
        const { data, id, log } = yield* make((commit) =>
          Effect.zipRight(
            gate.pass,
            Effect.suspend(() => (failing ? Effect.fail(storeError(reason)) : commit))
          )
        )
        const callers = yield* Effect.forEach([1, 2, 3], (index) =>
          Effect.fork(Effect.flip(log.append(id, notes(index))))
        )
        yield* gate.reached
        const late = yield* Effect.fork(Effect.flip(log.append(id, notes("late"))))
        yield* settle
        yield* gate.go
        for (const caller of [...callers, late]) {
          assert.deepInclude(yield* Fiber.join(caller), { _tag: "SessionStoreError", reason })
        }
        failing = false
        assert.deepStrictEqual(seqsOf(yield* log.append(id, notes("again"))), [0])
        assert.deepStrictEqual(yield* data, ["again"])
      }
    })
  )

  it.scoped("survives a defect of the store, which its callers see", () =>
    Effect.gen(function* () {
      let broken = true
      const { data, id, log } = yield* make((commit) =>
        Effect.suspend(() => (broken ? Effect.die(new Error("out of order")) : commit))
      )
      const exit = yield* Effect.exit(log.append(id, notes(1)))
      assert(Exit.isFailure(exit) && Cause.isDie(exit.cause))
      broken = false
      yield* log.append(id, notes(2))
      assert.deepStrictEqual(yield* data, [2])
    })
  )

  it.scoped("does not let a failed append advance what this process believes", () =>
    Effect.gen(function* () {
      let full = false
      const { id, log, process } = yield* make((commit) =>
        Effect.suspend(() => (full ? Effect.fail(storeError("full")) : commit))
      )
      const projections = Context.get(process, Projections)
      yield* Context.get(process, SessionLeases).acquire(id)
      yield* log.append(id, added(1))
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 1, asOfSeq: 0 })
      full = true
      assert.strictEqual((yield* Effect.flip(log.append(id, added(2))))._tag, "SessionStoreError")
      const decided = projections.decide(id, total, () => Effect.succeed({ events: added(4), value: undefined }))
      assert.strictEqual((yield* Effect.flip(decided))._tag, "SessionStoreError")
      assert.strictEqual(yield* log.lastSeq(id), 0)
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 1, asOfSeq: 0 })
      full = false
      yield* decided
      assert.deepStrictEqual(yield* projections.get(id, total), { value: 5, asOfSeq: 1 })
    })
  )

  it.scoped("stores nothing of a caller that is interrupted before its turn", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      const { batches, data, id, log } = yield* make((commit) => Effect.zipRight(gate.pass, commit))
      const first = yield* Effect.fork(log.append(id, notes("first")))
      yield* gate.reached
      const gone = yield* Effect.fork(log.append(id, notes("gone")))
      const kept = yield* Effect.fork(log.append(id, notes("kept")))
      yield* settle
      // Does not wait for the commit under way.
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(gone)))
      yield* gate.go
      yield* Effect.forEach([first, kept], Fiber.join)
      assert.deepStrictEqual(yield* data, ["first", "kept"])
      assert.deepStrictEqual(
        batches.map((batch) => batch.length),
        [1, 1]
      )
    })
  )

  it.scoped("stores a caller's append whole when it is interrupted during the commit, which it waits for", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      const { data, id, log } = yield* make((commit) => Effect.zipRight(gate.pass, commit))
      const caller = yield* Effect.fork(log.append(id, notes(1, 2, 3)))
      yield* gate.reached
      const interruption = yield* Effect.fork(Fiber.interrupt(caller))
      yield* settle
      assert.strictEqual((yield* Fiber.status(interruption))._tag, "Suspended")
      yield* gate.go
      assert.isTrue(Exit.isInterrupted(yield* Fiber.join(interruption)))
      assert.deepStrictEqual(yield* data, [1, 2, 3])
      yield* log.append(id, notes(4))
    })
  )

  it.scoped("keeps an append whole, and its projection with it, wherever it is interrupted", () =>
    Effect.gen(function* () {
      const pauses = Effect.flatMap(Random.nextIntBetween(0, 8), (times) => Effect.repeatN(Effect.yieldNow(), times))
      const { id, log, process } = yield* make((commit) => Effect.zipLeft(Effect.zipRight(pauses, commit), pauses))
      const projections = Context.get(process, Projections)
      let stored = 0
      for (let round = 0; round < 200; round++) {
        const caller = yield* Effect.fork(
          round % 2 === 0
            ? log.append(id, added(1, 1, 1))
            : projections.decide(id, total, () => Effect.as(pauses, { events: added(1, 1, 1), value: undefined }))
        )
        yield* Effect.repeatN(Effect.yieldNow(), yield* Random.nextIntBetween(0, 25))
        yield* Fiber.interrupt(caller)
        const count = (yield* log.lastSeq(id)) + 1
        assert.strictEqual(count % 3, 0)
        assert.isAtLeast(count, stored)
        stored = count
        assert.deepStrictEqual(yield* projections.get(id, total), { value: count, asOfSeq: count - 1 })
      }
      // Both happened: the points lie before and after the commit.
      assert.isAbove(stored, 0)
      assert.isBelow(stored, 600)
    })
  )

  it.scoped("answers those who still wait when the log is closed, and those who come later", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const gate = yield* makeGate
      const { data, id, log } = yield* Scope.extend(
        make((commit) => Effect.zipRight(gate.pass, commit)),
        scope
      )
      const taken = yield* Effect.fork(log.append(id, notes("taken")))
      yield* gate.reached
      const waiting = yield* Effect.fork(Effect.flip(log.append(id, notes("waiting"))))
      yield* settle
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* settle
      yield* gate.go
      yield* Fiber.join(closing)
      assert.deepStrictEqual(seqsOf(yield* Fiber.join(taken)), [0])
      const expected = { _tag: "SessionStoreError", reason: "unavailable" } as const
      assert.deepInclude(yield* Fiber.join(waiting), expected)
      assert.deepInclude(yield* Effect.flip(log.append(id, notes("later"))), expected)
      assert.deepStrictEqual(yield* data, ["taken"])
    })
  )

  it.scoped("refuses an append whole or not at all when some of a batch are refused", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      const { data, id, log } = yield* make((commit) => Effect.zipRight(gate.pass, commit))
      const first = yield* Effect.fork(log.append(id, notes("first")))
      yield* gate.reached
      const results = yield* Effect.fork(
        Effect.all(
          [
            Effect.either(log.append(id, notes("a"), { expectedSeq: 0 })),
            Effect.either(log.append(id, notes("b", "c"), { expectedSeq: 0 })),
            Effect.either(log.append("none" as SessionId, notes("d"))),
            Effect.either(log.append(id, notes("e"), { expectedSeq: 1 }))
          ],
          { concurrency: "unbounded" }
        )
      )
      yield* settle
      yield* gate.go
      yield* Fiber.join(first)
      const tags = (yield* Fiber.join(results)).map((result) => (result._tag === "Left" ? result.left._tag : "stored"))
      assert.deepStrictEqual(tags, ["stored", "SessionConflict", "SessionNotFound", "stored"])
      assert.deepStrictEqual(yield* data, ["first", "a", "e"])
    })
  )

  it.scoped("asks about a session's version and event types once, and again as long as they are wrong", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      const asked: Array<string> = []
      const store: Store = {
        ...inner,
        header: (id) =>
          Effect.zipRight(
            Effect.sync(() => asked.push("header")),
            inner.header(id)
          ),
        types: (id) =>
          Effect.zipRight(
            Effect.sync(() => asked.push("types")),
            inner.types(id)
          )
      }
      const first = logOf(yield* makeProcess(store, "first"))
      const { id } = yield* first.create()
      yield* first.append(id, notes(1))
      assert.deepStrictEqual(asked, [])
      const second = yield* makeProcess(store, "second")
      yield* Effect.repeatN(logOf(second).append(id, notes(2)), 3)
      assert.deepStrictEqual(asked.splice(0), ["header", "types"])
      const foreign = { type: "other/event", time: 0, data: "1", sourceEventSeqs: null, ignorable: false }
      yield* inner.commit([{ sessionId: id, expectedSeq: undefined, epoch: undefined, now: 0, events: [foreign] }])
      const third = yield* makeProcess(store, "third")
      assert.strictEqual((yield* Effect.flip(logOf(third).append(id, notes(3))))._tag, "UnknownEventType")
      // A capability that comes later may know the type.
      yield* Context.get(third, EventTypes.EventTypes).register(EventTypes.make("other/event", Schema.Int))
      yield* logOf(third).append(id, notes(3))
      assert.deepStrictEqual(asked, ["header", "types", "header", "types"])
    })
  )

  it.scoped("keeps the order of thousands that wait", () =>
    Effect.gen(function* () {
      const gate = yield* makeGate
      const { batches, data, id, log } = yield* make((commit) => Effect.zipRight(gate.pass, commit), {
        maxBatchEvents: 100
      })
      const first = yield* Effect.fork(log.append(id, notes(0)))
      yield* gate.reached
      const numbers = Array.from({ length: 3000 }, (_, index) => index + 1)
      const rest = yield* Effect.fork(
        Effect.forEach(numbers, (number) => log.append(id, notes(number)), { concurrency: "unbounded", discard: true })
      )
      yield* settle
      yield* gate.go
      yield* Fiber.join(first)
      yield* Fiber.join(rest)
      assert.strictEqual(batches.length, 31)
      assert.deepStrictEqual(yield* data, [0, ...numbers])
    })
  )

  it.scoped("forgets sessions that it has seen least recently, but none that is driven", () =>
    Effect.gen(function* () {
      const inner = yield* memoryStore
      let asked: Array<SessionId> = []
      const store: Store = {
        ...inner,
        types: (id) =>
          Effect.zipRight(
            Effect.sync(() => asked.push(id)),
            inner.types(id)
          )
      }
      const creator = logOf(yield* makeProcess(inner, "creator"))
      const ids = yield* Effect.forEach([0, 1, 2, 3], () => Effect.map(creator.create(), ({ id }) => id))
      const process = yield* makeProcess(store, "here", { sessionCapacity: 2 })
      const append = (which: number) => logOf(process).append(ids[which]!, notes("x"))
      yield* Context.get(process, SessionLeases).acquire(ids[0]!)
      yield* Effect.forEach([0, 1, 2, 3], append)
      assert.deepStrictEqual(asked, ids)
      asked = []
      yield* Effect.forEach([0, 3, 0, 1, 0], append)
      assert.deepStrictEqual(asked, [ids[1]])
    })
  )
})
