import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Sql from "@afterturn/session-log/SessionStore/Sql"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqliteClient } from "@effect/sql-sqlite-node"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { contract, event, freshId, given, header, notes, request, texts } from "../../support/contracts/SessionStore.js"
import { agreesWithMemory } from "../../support/contracts/SessionStoreAgreement.js"
import { postgres, withPostgres } from "../../support/postgres.js"

const sqlite = SqliteClient.layer({ filename: ":memory:" })

const count = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<{ readonly n: number | string }>(`SELECT count(*) AS n FROM ${table}`)
  return Number(rows[0]?.n)
})

const fork = Effect.fnUntraced(function* (parent: ReturnType<typeof freshId>, seedLength: number) {
  const store = yield* SessionStore
  const id = freshId()
  assert.strictEqual(yield* store.fork({ ...header(id, { seedLength }), parent }), "forked")
  return id
})

/** What only a look at the tables shows. */
const tables = <E>(name: string, client: Layer.Layer<SqlClient.SqlClient, E>): void =>
  layer(Sql.layer().pipe(Layer.provideMerge(client)), { timeout: 30_000 })(`session tables: ${name}`, (it) => {
    it.effect("copies no event for a fork and deletes what nobody reads any more", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const before = yield* count("afterturn_events")
        const parent = yield* given(notes(40))
        const child = yield* fork(parent, 30)
        yield* store.commit([request(child, notes(2))])
        const grandchild = yield* fork(child, 31)
        assert.strictEqual((yield* count("afterturn_events")) - before, 42)
        yield* store.remove(parent)
        assert.strictEqual((yield* count("afterturn_events")) - before, 32)
        yield* store.remove(child)
        assert.strictEqual((yield* count("afterturn_events")) - before, 31)
        assert.lengthOf(yield* texts(grandchild), 31)
        yield* store.remove(grandchild)
        assert.strictEqual((yield* count("afterturn_events")) - before, 0)
        assert.strictEqual(yield* count("afterturn_loose_segments"), 0)
        assert.strictEqual(yield* count("afterturn_lineage"), yield* count("afterturn_sessions"))
      })
    )

    it.effect("removes a session of many events in several transactions", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const before = yield* count("afterturn_events")
        const id = yield* given(notes(1_203))
        assert.isTrue(yield* store.remove(id))
        assert.strictEqual(yield* count("afterturn_events"), before)
      })
    )

    it.effect("collects a crashed import once it has been idle for long, and not one at work", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        // A crash is a scope that is never closed.
        const crashed = yield* Scope.make()
        const [idle, busy] = yield* Scope.extend(Effect.all([store.stage, store.stage]), crashed)
        yield* idle.write(notes(7))
        yield* busy.write(notes(2))
        yield* TestClock.adjust("23 hours")
        yield* busy.write(notes(1))
        assert.deepStrictEqual(yield* store.gc, { events: 0 })
        yield* TestClock.adjust("2 hours")
        assert.deepStrictEqual(yield* store.gc, { events: 7 })
        assert.strictEqual((yield* Effect.flip(idle.write(notes(1)))).reason, "unavailable")
        assert.strictEqual((yield* Effect.flip(idle.publish(header(freshId())))).reason, "unavailable")
        const id = freshId()
        assert.isTrue(yield* busy.publish(header(id)))
        assert.lengthOf(yield* texts(id), 3)
        yield* Scope.close(crashed, Exit.void)
        assert.lengthOf(yield* texts(id), 3)
      })
    )

    it.effect("keeps nothing of an import that was given up", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const before = yield* count("afterturn_events")
        yield* Effect.scoped(Effect.flatMap(store.stage, (staging) => staging.write(notes(9))))
        assert.strictEqual(yield* count("afterturn_events"), before)
        assert.strictEqual(yield* count("afterturn_loose_segments"), 0)
      })
    )

    it.effect("finishes what an interrupted removal left", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const sql = yield* SqlClient.SqlClient
        const parent = yield* given(notes(5))
        const child = yield* fork(parent, 2)
        yield* store.remove(parent)
        // As if the process had died before it deleted these.
        const [row] = yield* sql.unsafe<{ readonly segment: number }>("SELECT segment FROM afterturn_loose_segments")
        yield* sql.unsafe(`INSERT INTO afterturn_events (segment, seq, type, time, size, ignorable, data)
          VALUES (${row!.segment}, 2, 'note', 0, 1, 0, '1'), (${row!.segment}, 3, 'note', 0, 1, 0, '1')`)
        assert.deepStrictEqual(yield* store.gc, { events: 2 })
        assert.deepStrictEqual(yield* texts(child), ["n0", "n1"])
        yield* store.remove(child)
        assert.strictEqual(yield* count("afterturn_loose_segments"), 0)
      })
    )

    it.effect("stores nothing of a commit that fails in the middle, and goes on", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const [first, second] = [yield* given(notes(1)), yield* given([])]
        // An integer column does not take this: the failure comes with the last event of the last request.
        const broken = event("x", { time: Number.NaN })
        const error = yield* Effect.flip(
          store.commit([request(first, [event("a", { type: "fresh" })]), request(second, [...notes(70), broken])])
        )
        assert.strictEqual(error.reason, "unavailable")
        assert.deepStrictEqual(yield* texts(first), ["n0"])
        assert.deepStrictEqual(yield* texts(second), [])
        assert.deepStrictEqual(yield* store.commit([request(first, [event("a", { type: "fresh" })])]), [
          { _tag: "committed", firstSeq: 1 }
        ])
        assert.deepStrictEqual(
          (yield* store.types(first)).map((found) => found.type),
          ["note", "fresh"]
        )
      })
    )

    it.effect("finds the one event of a type far into a session", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const id = yield* given(notes(10_000))
        yield* store.commit([request(id, [event("here", { type: "rare" }), ...notes(3)])])
        assert.deepStrictEqual(yield* texts(id, { types: ["rare"] }), ["here"])
        assert.deepStrictEqual(yield* texts(id, { types: ["rare"], fromSeq: 10_001 }), [])
      })
    )

    it.effect("shows a reader what comes after missing events", () =>
      Effect.gen(function* () {
        const store = yield* SessionStore
        const sql = yield* SqlClient.SqlClient
        const id = yield* given(notes(30))
        const [row] = yield* sql.unsafe<{ readonly segment: number }>(
          `SELECT segment FROM afterturn_sessions WHERE id = '${id}'`
        )
        yield* sql.unsafe(`DELETE FROM afterturn_events WHERE segment = ${row!.segment} AND seq BETWEEN 3 AND 20`)
        const page = { fromSeq: 3, toSeq: 100, types: undefined, limit: 5, maxBytes: 1_000 }
        const seqs = (yield* store.read(id, page)).map((found) => found.seq)
        assert.deepStrictEqual(seqs, [21, 22, 23, 24, 25])
      })
    )

    it.effect("opens a second time on the tables that are there", () =>
      Effect.gen(function* () {
        const id = yield* given(notes(2))
        const again = yield* Sql.make()
        assert.deepStrictEqual(yield* Effect.provideService(texts(id), SessionStore, again), ["n0", "n1"])
      })
    )
  })

/** Databases that this release did not make. */
const schema = <E>(name: string, client: Layer.Layer<SqlClient.SqlClient, E>): void => {
  describe(`session schema: ${name}`, () => {
    it.effect("refuses a newer one, naming both versions, and leaves it as it is", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe("CREATE TABLE afterturn_migrations (migration_id INTEGER PRIMARY KEY, name TEXT)")
        yield* sql.unsafe("INSERT INTO afterturn_migrations VALUES (1, 'session_log'), (7, 'later')")
        const error = yield* Effect.flip(Sql.make())
        assert.strictEqual(error.reason, "newer-schema")
        assert.match(error.message, /schema 7.*up to 4/)
        assert.strictEqual(yield* count("afterturn_migrations"), 2)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(count("afterturn_events"))))
      }).pipe(Effect.provide(Layer.fresh(client)))
    )

    it.effect("migrates in one transaction: a failure leaves nothing, and the next start does it all", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.unsafe("CREATE TABLE afterturn_loose_segments (in_the_way INTEGER)")
        yield* Effect.flip(Sql.make())
        assert.isTrue(Exit.isFailure(yield* Effect.exit(count("afterturn_events"))))
        assert.strictEqual(yield* count("afterturn_migrations"), 0)
        yield* sql.unsafe("DROP TABLE afterturn_loose_segments")
        const store = yield* Sql.make()
        const id = yield* Effect.provideService(given(notes(1)), SessionStore, store)
        assert.deepStrictEqual(yield* Effect.provideService(texts(id), SessionStore, store), ["n0"])
      }).pipe(Effect.provide(Layer.fresh(client)))
    )

    it.effect("is made once by many that start at the same time", () =>
      Effect.gen(function* () {
        const stores = yield* Effect.all([Sql.make(), Sql.make(), Sql.make(), Sql.make()], { concurrency: "unbounded" })
        const id = yield* Effect.provideService(given(notes(1)), SessionStore, stores[0])
        for (const store of stores) {
          assert.deepStrictEqual(yield* Effect.provideService(texts(id), SessionStore, store), ["n0"])
        }
        assert.strictEqual(yield* count("afterturn_migrations"), 4)
      }).pipe(Effect.provide(Layer.fresh(client)))
    )
  })
}

contract("SQL over a plain SQLite client", Sql.layer().pipe(Layer.provide(sqlite)))
agreesWithMemory("SQL over a plain SQLite client", Sql.layer().pipe(Layer.provide(sqlite)), 150)
tables("SQLite", sqlite)
schema("SQLite", sqlite)

withPostgres(() => {
  // These play time.
  const store = Sql.layer({ leaseClock: "caller" }).pipe(Layer.provide(postgres))
  contract("PostgreSQL", store)
  agreesWithMemory("PostgreSQL", store, 20)
  tables("PostgreSQL", postgres)
  schema("PostgreSQL", postgres)
})
