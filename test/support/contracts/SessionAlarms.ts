/**
 * What alarms do whatever store is under them. Each test builds the layer anew.
 */
import { format } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { Alarm } from "@afterturn/session-log/SessionAlarms"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { Services } from "../sessionLog.js"
import { added, events, notes, types } from "../sessionLog.js"
import { total } from "./SessionLog.js"

const id = (text: string): SessionId => text as SessionId

const at = (millis: number) => format(millis)

const alarm = (sessionId: SessionId, millis: number, key = "reminders"): Alarm => ({
  sessionId,
  key,
  dueAt: at(millis)
})

const set = (dueAt: number | null, key = "reminders") => ({ key, dueAt: dueAt === null ? null : at(dueAt) })

const due = (until: number, limit = 100, after?: Alarm) =>
  Effect.flatMap(SessionAlarms, (alarms) =>
    alarms.due({ until: at(until), limit, ...(after === undefined ? {} : { after }) })
  )

const ringsOf = (session: SessionId) => Effect.flatMap(SessionAlarms, (alarms) => alarms.of(session))

/** A session with an alarm. */
const given = (session: string, millis: number, key?: string) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    yield* log.create({ id: id(session) })
    yield* log.append(id(session), notes("made"), { alarms: [set(millis, key)] })
    return id(session)
  })

export const contract = <E>(name: string, layer: Layer.Layer<Services | SessionAlarms, E>): void => {
  const all = Layer.provideMerge(types, layer)
  const test = <A, E2>(
    title: string,
    effect: Effect.Effect<A, E2, Services | SessionAlarms | Scope.Scope>,
    timeout = 30_000
  ) => it.scoped(title, () => Effect.provide(effect, all), timeout)

  describe(`alarms on ${name}`, () => {
    test(
      "an alarm is set, moved and cleared with the events of its append",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const session = yield* given("a", 1_000)
        assert.deepStrictEqual(yield* ringsOf(session), [alarm(session, 1_000)])
        yield* log.append(session, notes("moved"), { alarms: [set(500), set(2_000, "other")] })
        assert.deepStrictEqual(yield* ringsOf(session), [alarm(session, 2_000, "other"), alarm(session, 500)])
        yield* log.append(session, notes("kept"))
        yield* log.append(session, notes("cleared"), { alarms: [set(null), set(null, "never-set")] })
        assert.deepStrictEqual(yield* ringsOf(session), [alarm(session, 2_000, "other")])
        assert.lengthOf(yield* events(session), 4)
      })
    )

    test(
      "an append of alarms alone stores no event",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const session = yield* given("a", 1_000)
        assert.deepStrictEqual(yield* log.append(session, [], { expectedSeq: 0, alarms: [set(7)] }), [])
        assert.deepStrictEqual(yield* ringsOf(session), [alarm(session, 7)])
        assert.strictEqual(yield* log.lastSeq(session), 0)
        assert.lengthOf(yield* events(session), 1)
      })
    )

    test(
      "an append that is refused leaves the alarms as they were",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const session = yield* given("a", 1_000)
        const conflict = yield* Effect.flip(log.append(session, [], { expectedSeq: 5, alarms: [set(1)] }))
        assert.strictEqual(conflict._tag, "SessionConflict")
        const rejected = yield* Effect.flip(
          log.append(session, [{ type: "test/unknown", data: null }], { alarms: [set(1)] })
        )
        assert.strictEqual(rejected._tag, "EventRejected")
        const missing = yield* Effect.flip(log.append(id("nobody"), notes("x"), { alarms: [set(1)] }))
        assert.strictEqual(missing._tag, "SessionNotFound")
        assert.deepStrictEqual(yield* ringsOf(session), [alarm(session, 1_000)])
        assert.deepStrictEqual(yield* ringsOf(id("nobody")), [])
      })
    )

    test(
      "what is no key is the caller's defect",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const session = yield* given("a", 1_000)
        for (const bad of [
          { key: "Reminders", dueAt: null },
          { key: "", dueAt: null },
          { key: "x", dueAt: "soon" }
        ]) {
          const exit = yield* Effect.exit(log.append(session, notes("x"), { alarms: [bad] }))
          assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Die", JSON.stringify(bad))
        }
        assert.strictEqual(yield* log.lastSeq(session), 0)
      })
    )

    test(
      "those that are due come in order, a page at a time",
      Effect.gen(function* () {
        for (const [session, millis] of [
          ["c", 300],
          ["a", 100],
          ["d", 400],
          ["b", 300]
        ] as const) {
          yield* given(session, millis)
        }
        const expected = [alarm(id("a"), 100), alarm(id("b"), 300), alarm(id("c"), 300)]
        assert.deepStrictEqual(yield* due(300), expected)
        assert.deepStrictEqual(yield* due(299), expected.slice(0, 1))
        assert.deepStrictEqual(yield* due(99), [])
        assert.deepStrictEqual(yield* due(300, 2), expected.slice(0, 2))
        assert.deepStrictEqual(yield* due(300, 2, expected[1]), expected.slice(2))
        assert.deepStrictEqual(yield* due(300, 0), [])
      })
    )

    test(
      "the next one is the earliest strictly after an instant",
      Effect.gen(function* () {
        const alarms = yield* SessionAlarms
        assert.deepStrictEqual(yield* alarms.next(at(0)), Option.none())
        yield* given("a", 300)
        yield* given("b", 200)
        assert.deepStrictEqual(yield* alarms.next(at(0)), Option.some(at(200)))
        assert.deepStrictEqual(yield* alarms.next(at(200)), Option.some(at(300)))
        assert.deepStrictEqual(yield* alarms.next(at(300)), Option.none())
      })
    )

    test(
      "sessions that somebody drives are left out until their lease is given up or has expired",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const leases = yield* SessionLeases
        const store = yield* SessionStore
        const driven = yield* given("driven", 100)
        const left = yield* given("left", 200)
        const cold = yield* given("cold", 300)
        const scope = yield* Scope.make()
        yield* Scope.extend(leases.acquire(driven), scope)
        yield* store.acquireLease({
          sessionId: left,
          holder: { host: "elsewhere", bootId: "", pid: 1, startedAt: "" },
          now: 0,
          expiresAt: 1_000,
          replaces: undefined
        })
        assert.deepStrictEqual(yield* due(1_000), [alarm(cold, 300)])
        yield* log.append(driven, notes("under its lease"), { alarms: [set(150)] })
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* due(1_000), [alarm(driven, 150), alarm(cold, 300)])
        yield* TestClock.setTime(1_000)
        assert.deepStrictEqual(yield* due(1_000), [alarm(driven, 150), alarm(left, 200), alarm(cold, 300)])
      })
    )

    test(
      "a removed session leaves none, a fork and an import begin without",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const session = yield* given("a", 100)
        const fork = yield* log.fork(session)
        const imported = yield* log.importJsonl(Stream.intersperse(log.exportJsonl(session), "\n"), {
          id: id("imported")
        })
        assert.deepStrictEqual(yield* ringsOf(fork.id), [])
        assert.deepStrictEqual(yield* ringsOf(imported.id), [])
        yield* log.append(fork.id, notes("own"), { alarms: [set(50)] })
        yield* log.remove(session)
        assert.deepStrictEqual(yield* due(1_000), [alarm(fork.id, 50)])
        yield* log.create({ id: session })
        assert.deepStrictEqual(yield* ringsOf(session), [])
      })
    )

    test(
      "appends of one transaction change alarms in their order",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const session = yield* given("a", 1)
        yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => index),
          (index) => log.append(session, notes(index), { alarms: [set(index % 2 === 0 ? null : index)] }),
          { concurrency: "unbounded", discard: true }
        )
        const stored = yield* events(session)
        const last = stored.at(-1)?.data as number
        assert.deepStrictEqual(yield* ringsOf(session), last % 2 === 0 ? [] : [alarm(session, last)])
      })
    )

    test(
      "a decision sets alarms on its condition",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const projections = yield* Projections
        const session = yield* given("a", 1)
        const decisions = Effect.forEach(
          Array.from({ length: 20 }, (_, index) => index),
          () =>
            projections.decide(session, total, ({ value }) =>
              Effect.succeed({ events: added(1), alarms: [set(value + 1)], value })
            ),
          { concurrency: "unbounded", discard: true }
        )
        const others = Effect.forEach(
          Array.from({ length: 20 }, (_, index) => index),
          (index) => log.append(session, notes(index)),
          { discard: true }
        )
        yield* Effect.all([decisions, others], { concurrency: "unbounded" })
        assert.deepStrictEqual(yield* ringsOf(session), [alarm(session, 20)])
        yield* projections.decide(session, total, ({ value }) =>
          Effect.succeed({ events: [], alarms: [set(null)], value })
        )
        assert.deepStrictEqual(yield* ringsOf(session), [])
      })
    )

    test(
      "any changes leave what a plain map holds",
      Effect.gen(function* () {
        const log = yield* SessionLog
        const names = ["p", "q", "r"]
        for (const name of names) yield* log.create({ id: id(name) })
        const change = FastCheck.record({
          name: FastCheck.constantFrom(...names),
          key: FastCheck.constantFrom("x", "y"),
          dueAt: FastCheck.option(FastCheck.nat({ max: 20 }), { nil: null })
        })
        const model = new Map<string, Alarm>()
        for (const { dueAt, key, name } of FastCheck.sample(change, { numRuns: 200, seed: 7 })) {
          yield* log.append(id(name), [], { alarms: [set(dueAt, key)] })
          if (dueAt === null) model.delete(`${name} ${key}`)
          else model.set(`${name} ${key}`, alarm(id(name), dueAt, key))
        }
        const order = ({ dueAt, key, sessionId }: Alarm) => `${dueAt} ${sessionId} ${key}`
        const expected = [...model.values()].sort((a, b) => (order(a) < order(b) ? -1 : 1))
        assert.deepStrictEqual(yield* due(20), expected)
        const paged: Array<Alarm> = []
        for (let page = yield* due(20, 2); page.length > 0; page = yield* due(20, 2, page.at(-1))) paged.push(...page)
        assert.deepStrictEqual(paged, expected)
      })
    )
  })
}
