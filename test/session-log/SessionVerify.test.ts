import * as Projection from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import { verify } from "@afterturn/session-log/SessionVerify"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { added, collect, notes, types } from "../support/sessionLog.js"

const sqlite = Layer.provideMerge(types, layerSqlite({ filename: ":memory:" }))

const counts = Projection.make({
  key: "test/counts",
  version: 2,
  schema: Schema.Record({ key: Schema.String, value: Schema.Int }),
  initial: {},
  apply: (state: { readonly [type: string]: number }, event) => ({
    ...state,
    [event.type]: (state[event.type] ?? 0) + 1
  })
})

/** A session with a fork's prefix, events over several pages and a snapshot, and statements that damage it. */
const prepared = Effect.gen(function* () {
  const log = yield* SessionLog
  const projections = yield* Projections
  const parent = yield* log.create()
  yield* log.append(parent.id, added(1, 2, 3))
  const { id } = yield* log.fork(parent.id)
  yield* log.append(id, [...added(4), ...notes(...Array.from({ length: 600 }, (_, index) => index))])
  yield* projections.get(id, counts)
  yield* projections.snapshot(id)
  yield* log.append(id, added(5))
  return id
})

const damage = (statement: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe("PRAGMA ignore_check_constraints = ON")
    yield* sql.unsafe(statement)
  })

const check = (id: SessionId) => verify(id, { projections: [counts] })

describe("verification of a session", () => {
  it.effect("finds nothing wrong with a sound session, driven or not, or imported with unknown types", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const id = yield* prepared
      assert.isNull(yield* check(id))
      assert.isNull(
        yield* Effect.scoped(
          Effect.zipRight(
            Effect.flatMap(SessionLeases, (leases) => leases.acquire(id)),
            check(id)
          )
        )
      )
      const text = (yield* collect(log.exportJsonl(id))).join("\n").replaceAll("test/note", "other/note")
      assert.isNull(yield* check((yield* log.importJsonl(Stream.make(text), { id: "copy" as SessionId })).id))
      assert.isNull(yield* check((yield* log.create()).id))
      assert.strictEqual((yield* Effect.flip(check("none" as SessionId)))._tag, "SessionNotFound")
    }).pipe(Effect.provide(sqlite))
  )

  it.effect(
    "names the first fault of each kind",
    () =>
      Effect.gen(function* () {
        const own = "segment = (SELECT segment FROM afterturn_sessions WHERE parent IS NOT NULL)"
        const cases: ReadonlyArray<readonly [string, object, string]> = [
          [`DELETE FROM afterturn_events WHERE ${own} AND seq = 300`, { part: "event", seq: 300 }, "got one at 301"],
          [`DELETE FROM afterturn_events WHERE ${own} AND seq > 600`, { part: "event", seq: 601 }, "got none"],
          [`UPDATE afterturn_events SET data = '{' WHERE seq = 1`, { part: "event", seq: 1 }, "expected JSON data"],
          [
            `UPDATE afterturn_events SET data = '{"amount":"x"}' WHERE seq = 2`,
            { part: "event", seq: 2 },
            "data.amount"
          ],
          [`UPDATE afterturn_events SET time = 1.5 WHERE seq = 5`, { part: "event", seq: 5 }, "expected a time"],
          [`UPDATE afterturn_events SET type = '' WHERE seq = 5`, { part: "event", seq: 5 }, "expected an event type"],
          [
            `UPDATE afterturn_events SET source_event_seqs = '[-1]' WHERE seq = 5`,
            { part: "event", seq: 5 },
            "array of seqs"
          ],
          [
            `UPDATE afterturn_events SET source_event_seqs = 'x' WHERE seq = 5`,
            { part: "event", seq: 5 },
            "sourceEventSeqs"
          ],
          [
            `UPDATE afterturn_sessions SET last_seq = 600`,
            { part: "snapshot", key: "test/counts", seq: 603 },
            "through 600"
          ],
          [`UPDATE afterturn_sessions SET last_seq = 603`, { part: "event", seq: 604 }, "expected no event after 603"],
          [`UPDATE afterturn_sessions SET created_at = 9e18`, { part: "header" }, "createdAt"],
          [`UPDATE afterturn_sessions SET seed_length = 900`, { part: "header" }, "seedLength"],
          [`UPDATE afterturn_sessions SET delegation_depth = -1`, { part: "header" }, "delegationDepth"],
          [
            `UPDATE afterturn_snapshots SET state = '{"test/note":1}'`,
            { part: "snapshot", seq: 603 },
            "got another state"
          ],
          [`UPDATE afterturn_snapshots SET state = '{'`, { part: "snapshot", key: "test/counts" }, "state"],
          [`UPDATE afterturn_snapshots SET seq = 602`, { part: "snapshot", seq: 602 }, "got another state"],
          [
            `UPDATE afterturn_sessions SET lease_epoch = 0, lease_host = 'h', lease_boot_id = 'b', lease_pid = 1,
             lease_started_at = 's', lease_expires_at = 1`,
            { part: "lease" },
            "epoch"
          ],
          [
            `UPDATE afterturn_sessions SET lease_epoch = 1, lease_host = 'h', lease_boot_id = 'b', lease_pid = -1,
             lease_started_at = 's', lease_expires_at = 1`,
            { part: "lease" },
            "pid"
          ],
          [
            `UPDATE afterturn_sessions SET lease_epoch = 1, lease_host = 'h', lease_boot_id = 'b', lease_pid = 1,
             lease_started_at = 's', lease_expires_at = 9e18`,
            { part: "lease" },
            "expiresAt"
          ]
        ]
        for (const [statement, expected, reason] of cases) {
          const fault = yield* prepared.pipe(
            Effect.tap(() => damage(statement)),
            Effect.flatMap(check),
            Effect.provide(sqlite)
          )
          assert(fault !== null, `expected a fault after ${statement}`)
          assert.deepInclude(fault, expected, statement)
          assert.include(fault.reason, reason, statement)
        }
      }),
    60_000
  )

  it.effect("compares states, not the order of their keys, and leaves snapshots of other versions alone", () =>
    Effect.gen(function* () {
      const id = yield* prepared
      yield* damage(`UPDATE afterturn_snapshots SET state = '{"test/note":600,"test/added":1}'`)
      assert.isNull(yield* check(id))
      yield* damage(`UPDATE afterturn_snapshots SET state = '{}', version = 1`)
      assert.isNull(yield* check(id))
    }).pipe(Effect.provide(sqlite))
  )

  it.effect("tells a fold that no longer takes its events", () =>
    Effect.gen(function* () {
      const id = yield* prepared
      const picky = Projection.make({
        ...counts,
        apply: (state, event) => {
          if (event.seq === 10) throw new Error("no tens")
          return state
        }
      })
      assert.deepInclude(yield* verify(id, { projections: [picky] }), { part: "event", seq: 10 })
    }).pipe(Effect.provide(Layer.provideMerge(types, layerMemory)))
  )
})

describe("a read of a damaged session", () => {
  it.effect("names the event, and keeps what comes before it", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, number, string]> = [
        ["DELETE FROM afterturn_events WHERE seq = 300", 300, "expected the event at 300, got one at 301"],
        ["DELETE FROM afterturn_events WHERE seq > 600", 601, "expected the event at 601, got none"],
        ["UPDATE afterturn_events SET data = 'nope' WHERE seq = 400", 400, "expected JSON data"],
        ["UPDATE afterturn_events SET time = 9e18 WHERE seq = 400", 400, "expected a time in milliseconds"]
      ]
      for (const [statement, seq, reason] of cases) {
        yield* Effect.gen(function* () {
          const log = yield* SessionLog
          const id = yield* prepared
          yield* damage(statement)
          const seen: Array<number> = []
          const error = yield* Effect.flip(
            Stream.runForEach(log.read(id), (event) => Effect.sync(() => seen.push(event.seq)))
          )
          assert.deepInclude(error, { _tag: "SessionLogCorrupt", sessionId: id, seq })
          assert.include(error.message, reason)
          assert.deepStrictEqual(
            seen,
            Array.from({ length: seq }, (_, index) => index)
          )
          const exported = yield* Effect.flip(collect(log.exportJsonl(id)))
          assert.strictEqual(exported._tag, "SessionLogCorrupt")
          const followed = yield* Effect.flip(collect(log.changes(id)))
          assert.strictEqual(followed._tag, "SessionLogCorrupt")
        }).pipe(Effect.provide(sqlite))
      }
    })
  )

  it.effect("a projection does not fold what its type refuses", () =>
    Effect.gen(function* () {
      const projections = yield* Projections
      const id = yield* prepared
      yield* damage(`DELETE FROM afterturn_snapshots`)
      yield* damage(`UPDATE afterturn_events SET data = '{"amount":"x"}' WHERE seq = 3`)
      const fresh = Projection.make({ ...counts, key: "test/fresh" })
      const error = yield* Effect.flip(projections.get(id, fresh))
      assert.deepInclude(error, { _tag: "SessionLogCorrupt", seq: 3 })
      assert.include(error.message, 'event "test/added": Expected number, actual "x" at data.amount')
      const followed = yield* Effect.flip(collect(projections.changes(id, fresh)))
      assert.strictEqual(followed._tag, "SessionLogCorrupt")
    }).pipe(Effect.provide(sqlite))
  )
})

describe("an append to a damaged session", () => {
  it.effect("that would overwrite an event says that what is stored contradicts itself, and stores nothing", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const id = yield* prepared
      yield* damage(`UPDATE afterturn_sessions SET last_seq = 600 WHERE id = '${id}'`)
      const error = yield* Effect.flip(log.append(id, added(6)))
      assert.deepInclude(error, { _tag: "SessionStoreError", reason: "unavailable" })
      assert.include(error.message, "an event stands where the next one belongs; see `afterturn sessions verify`")
      assert.strictEqual((yield* log.header(id)).lastSeq, 600)
    }).pipe(Effect.provide(sqlite))
  )
})
