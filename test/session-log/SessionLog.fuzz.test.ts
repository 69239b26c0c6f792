import * as Projection from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as SqliteStore from "@afterturn/session-log/SessionStore/Sqlite"
import { verify } from "@afterturn/session-log/SessionVerify"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as fc from "fast-check"
import { jsonTexts, nearly, nearlyText, numbers, runs, strings } from "../support/hostile.js"
import type { Services } from "../support/sessionLog.js"
import { added, collect, makeProcess, notes, types } from "../support/sessionLog.js"

const layer = Layer.provideMerge(types, layerSqlite({ filename: ":memory:" }))

const sum = Projection.make({
  key: "test/sum",
  version: 1,
  schema: Schema.Struct({ sum: Schema.Int, notes: Schema.Int }),
  initial: { sum: 0, notes: 0 },
  apply: (state, event) =>
    event.type === "test/added"
      ? { ...state, sum: state.sum + (event.data as { readonly amount: number }).amount }
      : { ...state, notes: state.notes + 1 }
})

/** A value, or a typed error that says something within bounds; never a defect. */
const answered = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  what: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<Option.Option<A>, never, R> =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return Option.some(exit.value)
    const failure = Cause.failureOption(exit.cause)
    if (Option.isNone(failure)) return assert.fail(`${what}: ${Cause.pretty(exit.cause)}`)
    assert.isAbove(failure.value.message.length, 10, what)
    assert.isBelow(failure.value.message.length, 10_000, what)
    return Option.none()
  })

const counted = Effect.flatMap(
  SqlClient,
  (
    sql
  ) => sql`SELECT (SELECT count(*) FROM afterturn_sessions) AS sessions, (SELECT count(*) FROM afterturn_events) AS events,
    (SELECT count(*) FROM afterturn_lineage) AS lineage, (SELECT count(*) FROM afterturn_loose_segments) AS loose`
)

/** A session with a fork of it, whose export is `lines`. */
const prepared = Effect.gen(function* () {
  const log = yield* SessionLog
  const projections = yield* Projections
  const { id: parent } = yield* log.create({ title: "parent", cwd: "/tmp" })
  yield* log.append(parent, added(1, 2, 3))
  const { id } = yield* log.fork(parent)
  yield* log.append(id, [...notes({ a: [1, { b: "c" }] }, "text", -0.5), ...added(4)])
  yield* projections.get(id, sum)
  yield* projections.snapshot(id)
  return { id, parent, lines: yield* collect(log.exportJsonl(id)) }
})

describe("an import of whatever is called an export", () => {
  const imported = Effect.fnUntraced(function* (text: string, id: SessionId) {
    const log = yield* SessionLog
    const before = yield* counted
    const header = yield* answered(
      text.slice(0, 500),
      log.importJsonl(Stream.fromIterable(text.match(/[\s\S]{1,30000}/g) ?? []), { id })
    )
    if (Option.isNone(header)) return assert.deepStrictEqual(yield* counted, before, text.slice(0, 500))
    assert.isNull(yield* verify(id, { projections: [sum] }))
    const again = yield* collect(log.exportJsonl(id))
    const copy = `${id}-copy` as SessionId
    yield* log.importJsonl(Stream.fromIterable(again.map((line) => `${line}\n`)), { id: copy })
    const [, ...events] = yield* collect(log.exportJsonl(copy))
    assert.deepStrictEqual(events, again.slice(1))
    for (const made of [id, copy]) yield* log.remove(made)
  })

  it.scoped("stores a sound session, which exports as it came, or nothing at all", () =>
    Effect.gen(function* () {
      const { lines } = yield* prepared
      const [header = "", first = "", ...rest] = lines
      const whole = (changed: ReadonlyArray<string>) => changed.map((line) => `${line}\n`).join("")
      const parsed = lines.map((line) => JSON.parse(line) as unknown)
      const texts = [
        ...jsonTexts.flatMap((json) => [
          json,
          whole([json, first]),
          whole([header.replace('"parent"', `"title":${json},"parent"`), first, ...rest]),
          whole([header, first.replace(/"data":.*\}$/, `"data":${json}}`), ...rest])
        ]),
        `\ufeff${lines.join("\r\n")}`,
        whole([
          header,
          first,
          JSON.stringify({ seq: 1, type: "other/type", time: "2026-01-01T00:00:00.000Z", data: "x".repeat(10_000_000) })
        ]),
        whole([header, "x".repeat(10_000_000)]),
        ...fc.sample(
          fc.oneof(
            nearlyText([whole(lines)]),
            nearly([parsed]).map((value) =>
              Array.isArray(value)
                ? whole(value.map((line) => JSON.stringify(line) ?? ""))
                : (JSON.stringify(value) ?? "")
            )
          ),
          runs(15, 300)
        )
      ]
      for (const [index, text] of texts.entries()) yield* imported(text, `import-${index}` as SessionId)
    }).pipe(Effect.provide(layer))
  )
})

describe("a session whose stored rows were changed", () => {
  const columns = [
    ["afterturn_events", ["segment", "seq", "type", "time", "size", "ignorable", "source_event_seqs", "data"]],
    [
      "afterturn_sessions",
      [
        "version",
        "created_at",
        "cwd",
        "title",
        "parent",
        "seed_length",
        "delegation_depth",
        "last_seq",
        "lease_epoch",
        "lease_host",
        "lease_pid",
        "lease_expires_at"
      ]
    ],
    ["afterturn_lineage", ["segment", "from_seq", "to_seq", "position"]],
    ["afterturn_snapshots", ["version", "seq", "state", "key"]],
    ["afterturn_session_types", ["type", "ignorable", "first_seq"]]
  ] as const

  const cell = fc.oneof(
    fc.constantFrom<string | number | null>(null, ...numbers, ...strings, ...jsonTexts),
    nearly([{ sum: 10, notes: 3 }, { amount: 4 }, { a: [1, { b: "c" }] }, [0, 1]]).map(
      (value) => JSON.stringify(value) ?? null
    )
  )

  const change = fc
    .constantFrom(...columns)
    .chain(([table, names]) =>
      fc.record({ table: fc.constant(table), column: fc.constantFrom(...names), row: fc.nat(20), value: cell })
    )

  /** Everything that reads a session. */
  const everyReader = (id: SessionId, what: string) =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      const leases = yield* SessionLeases
      yield* answered(`header ${what}`, log.header(id))
      yield* answered(`list ${what}`, log.list())
      yield* answered(`read ${what}`, collect(log.read(id)))
      yield* answered(`read types ${what}`, collect(log.read(id, { types: ["test/added"] })))
      yield* answered(`fold ${what}`, projections.get(id, sum))
      yield* answered(`verify ${what}`, verify(id, { projections: [sum] }))
      yield* answered(`export ${what}`, collect(log.exportJsonl(id)))
      yield* answered(`lease ${what}`, Effect.scoped(leases.acquire(id)))
      yield* answered(`fork ${what}`, log.fork(id))
    })

  const tables = columns.map(([table]) => table)

  it.scoped("is read as far as it is sound, or the damage is named; nothing crashes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* SessionStore
      /** With nothing in memory of what was read before. */
      const cold = <A, E>(use: Effect.Effect<A, E, Services>) =>
        Effect.scoped(Effect.flatMap(makeProcess(store, "here"), (process) => Effect.provide(use, process)))
      const { id } = yield* cold(prepared)
      yield* sql`PRAGMA ignore_check_constraints = ON`
      yield* sql`PRAGMA foreign_keys = OFF`
      for (const table of tables) yield* sql.unsafe(`CREATE TABLE kept_${table} AS SELECT * FROM ${table}`)
      for (const { column, row, table, value } of fc.sample(change, runs(12, 300))) {
        const rows = yield* sql.unsafe(`SELECT * FROM ${table}`)
        // A change that the schema itself refuses is no damage.
        yield* Effect.option(updated(sql, table, column, value, rows[row % rows.length] ?? {}))
        const what = `${table}.${column} = ${JSON.stringify(value).slice(0, 100)}`
        yield* cold(everyReader(id, what))
        for (const each of tables) {
          yield* sql.unsafe(`DELETE FROM ${each}`)
          yield* sql.unsafe(`INSERT INTO ${each} SELECT * FROM kept_${each}`)
        }
      }
      assert.isNull(yield* cold(verify(id, { projections: [sum] })))
    }).pipe(Effect.provide(SqliteStore.layer({ filename: ":memory:" })))
  )

  const updated = (sql: SqlClient, table: string, column: string, value: unknown, row: object) => {
    const keys = Object.entries(row).filter(([, held]) => held !== null)
    const where = keys.map(([key]) => `${key} = ?`).join(" AND ")
    return sql.unsafe(`UPDATE ${table} SET ${column} = ? WHERE ${where}`, [value, ...keys.map(([, held]) => held)])
  }
})
