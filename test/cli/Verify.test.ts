import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import { emptyStoreLayer } from "@afterturn/cli/Compose/Store"
import * as Verify from "@afterturn/cli/Verify"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { StoredLease, StoredSnapshot } from "@afterturn/session-log/SessionStore"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

const id = SessionId.make("s1")
const user = { kind: "user" } as const

/** A session of one turn with snapshots. */
const session = Effect.gen(function* () {
  const log = yield* SessionLog
  const projections = yield* Projections
  yield* log.create({ id })
  const message = { id: "msg-1", source: user, content: [] }
  yield* log.append(id, [
    AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "insert", messages: [message] }),
    AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: ["msg-1"], turn: 1 }),
    AgentEvents.TurnStart.make({ turn: 1, source: user }),
    AgentEvents.TurnEnd.make({ turn: 1, reason: { kind: "completed" } })
  ])
  yield* projections.get(id, AgentLog.state)
  yield* projections.get(id, AgentLog.counters)
  yield* projections.snapshot(id)
})

/** What is wrong with the session, as the store answers it. */
const fault = (change: (store: (typeof SessionStore)["Service"]) => Partial<(typeof SessionStore)["Service"]>) =>
  Effect.gen(function* () {
    yield* session
    const store = yield* SessionStore
    const changed = SessionStore.of({ ...store, ...change(store) })
    const error = yield* Effect.flip(Effect.provideService(Verify.session(id), SessionStore, changed))
    return error.message
  }).pipe(Effect.provide(emptyStoreLayer))

const snapshot = (change: Partial<StoredSnapshot>) =>
  fault((store) => ({
    snapshots: () =>
      Effect.map(store.snapshots(id), (rows) =>
        rows.map((row) => (row.key === "agent-counters" ? { ...row, ...change } : row))
      )
  }))

const lease = (change: Partial<StoredLease>) =>
  fault(() => ({
    lease: () =>
      Effect.succeedSome({
        sessionId: id,
        host: "here",
        bootId: "b",
        pid: 1,
        startedAt: "0",
        epoch: 1,
        expiresAt: 15_000,
        ...change
      })
  }))

describe("Verify.session", () => {
  it.effect("answers what it found of a sound session", () =>
    Effect.gen(function* () {
      yield* session
      const found = yield* Verify.session(id)
      assert.deepStrictEqual(found, { id, events: 4, snapshots: 2, unread: 0, lease: null })
    }).pipe(Effect.provide(emptyStoreLayer))
  )

  it.effect("folds no further than a snapshot goes", () =>
    Effect.gen(function* () {
      yield* session
      const log = yield* SessionLog
      yield* log.append(id, [AgentEvents.TurnStart.make({ turn: 2, source: user })])
      assert.deepInclude(yield* Verify.session(id), { events: 5, snapshots: 2 })
    }).pipe(Effect.provide(emptyStoreLayer))
  )

  it.scoped("says who drives it", () =>
    Effect.gen(function* () {
      yield* session
      const store = yield* SessionStore
      const expiring = SessionStore.of({
        ...store,
        lease: (of) =>
          Effect.map(
            store.lease(of),
            Option.map((row) => ({ ...row, expiresAt: 5_000 }))
          )
      })
      yield* Effect.flatMap(SessionLeases, (leases) => leases.acquire(id))
      const found = yield* Effect.provideService(Verify.session(id), SessionStore, expiring)
      assert.deepInclude(found.lease, { pid: 0, expiresAt: "1970-01-01T00:00:05.000Z", expired: false })
    }).pipe(Effect.provide(emptyStoreLayer))
  )

  it.effect("finds a fork sound, whose own state does not include its parent's", () =>
    Effect.gen(function* () {
      yield* session
      const log = yield* SessionLog
      const projections = yield* Projections
      const child = yield* log.fork(id, { boundary: 0 })
      yield* log.append(child.id, [AgentEvents.TurnStart.make({ turn: 2, source: user })])
      yield* projections.get(child.id, AgentLog.state)
      yield* projections.get(child.id, AgentLog.counters)
      yield* projections.snapshot(child.id)
      assert.deepInclude(yield* Verify.session(child.id), { events: 2, snapshots: 2 })
    }).pipe(Effect.provide(emptyStoreLayer))
  )

  it.effect("passes over snapshots that it cannot judge", () =>
    Effect.gen(function* () {
      yield* session
      const store = yield* SessionStore
      yield* store.saveSnapshot(id, { key: "weather", version: 1, seq: 3, state: "{}" })
      yield* store.saveSnapshot(id, { key: "agent", version: 99, seq: 3, state: "{}" })
      assert.deepInclude(yield* Verify.session(id), { snapshots: 1, unread: 2 })
    }).pipe(Effect.provide(emptyStoreLayer))
  )

  it.effect("names a snapshot that differs, cannot be read, or is of no event", () =>
    Effect.gen(function* () {
      const name = 'session "s1" is corrupt at seq'
      assert.strictEqual(
        yield* snapshot({ state: '{"turn":7,"message":1}' }),
        `${name} 3: snapshot of projection "agent-counters": it differs from the fold of its events`
      )
      assert.match(yield* snapshot({ state: "nonsense" }), /"agent-counters": it cannot be read$/)
      assert.match(yield* snapshot({ seq: 4 }), /"agent-counters": expected a seq through 3$/)
    })
  )

  it.effect("names an event of a type that nobody may skip and it does not know", () =>
    Effect.gen(function* () {
      yield* session
      const log = yield* SessionLog
      const exported = Array.from(yield* Stream.runCollect(log.exportJsonl(id)))
      const strange = { seq: 4, type: "weather/report", time: "2026-03-09T06:30:00.000Z", data: null }
      const imported = (newId: SessionId, event: object) =>
        log.importJsonl(Stream.make([...exported, JSON.stringify(event)].join("\n")), { id: newId })
      const skippable = yield* imported(SessionId.make("s2"), { ...strange, ignorable: true })
      assert.deepInclude(yield* Verify.session(skippable.id), { events: 5 })
      const needed = yield* imported(SessionId.make("s3"), strange)
      const error = yield* Effect.flip(Verify.session(needed.id))
      assert.strictEqual(error.message, 'session "s3" is corrupt at seq 4: unknown event type "weather/report"')
    }).pipe(Effect.provide(emptyStoreLayer))
  )

  it.effect("names what is wrong with a header, a lease and the index of types", () =>
    Effect.gen(function* () {
      const header = (change: Partial<{ version: number; seedLength: number; createdAt: number }>) =>
        fault((store) => ({
          header: (of) =>
            Effect.map(
              store.header(of),
              Option.map((row) => ({ ...row, ...change }))
            )
        }))
      assert.match(yield* header({ seedLength: 9 }), /expected a seed of 0 to 4 events, got 9$/)
      assert.match(yield* header({ createdAt: 1e18 }), /expected a creation time in milliseconds, got/)
      assert.match(yield* header({ version: 0 }), /expected header version 1, got 0$/)
      assert.match(yield* header({ version: 2 }), /written by a newer version/)
      assert.match(yield* lease({ epoch: 0 }), /lease: expected an epoch from 1, got 0$/)
      assert.match(yield* lease({ expiresAt: Number.NaN }), /lease: expected an expiry in milliseconds, got NaN$/)
      assert.match(yield* lease({ expiresAt: 1e10 }), /lease: expected one that is renewed every few seconds/)
      assert.match(
        yield* fault((store) => ({ types: (of) => Effect.map(store.types(of), (rows) => rows.slice(1)) })),
        /the index of types is wrong about "agent\/inbox\/spliced"$/
      )
    })
  )
})

describe("Verify.all", () => {
  it.effect("goes through every session and passes over those of a newer version", () =>
    Effect.gen(function* () {
      yield* session
      const log = yield* SessionLog
      const store = yield* SessionStore
      for (let count = 0; count < 3; count++) yield* log.create()
      const newer = SessionStore.of({
        ...store,
        list: (query) =>
          Effect.map(store.list(query), (rows) => rows.map((row) => (row.id === id ? { ...row, version: 2 } : row)))
      })
      const skipped: Array<string> = []
      const found = yield* Verify.all((error) => Effect.sync(() => void skipped.push(error.sessionId))).pipe(
        Stream.runCollect,
        Effect.provideService(SessionStore, newer)
      )
      assert.strictEqual(found.length, 3)
      assert.deepStrictEqual(skipped, [id])
    }).pipe(Effect.provide(emptyStoreLayer))
  )
})
