import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import * as Effect from "effect/Effect"
import { SessionStoreError } from "../SessionStore.js"
import type { Dialect } from "./dialect.js"
import { migrate, schemaVersion, table } from "./migrations.js"
import type { Database } from "./sqlDatabase.js"
import { query } from "./sqlDatabase.js"
import { fromCause, fromSqlError } from "./sqlErrors.js"

/** A client over the same connection whose own transactions take the write lock when they begin. */
export const immediate = (sql: Pick<SqlClient.SqlClient, "reserve">): Effect.Effect<SqlClient.SqlClient> =>
  SqlClient.make({
    acquirer: sql.reserve,
    transactionAcquirer: sql.reserve,
    compiler: Statement.makeCompilerSqlite(),
    beginTransaction: "BEGIN IMMEDIATE",
    spanAttributes: [["db.system.name", "sqlite"]]
  }).pipe(Effect.provide(Reactivity.layer))

const findTable: Record<Dialect["name"], string> = {
  sqlite: `SELECT name FROM sqlite_master WHERE type = 'table' AND name = '${table}'`,
  pg: `SELECT 1 AS name WHERE to_regclass('${table}') IS NOT NULL`
}

export const newestMigration = `SELECT max(migration_id) AS version FROM ${table}`

export const newerSchema = (found: number): SessionStoreError =>
  new SessionStoreError({
    reason: "newer-schema",
    message: `the database was written by a newer version (schema ${found}, this release reads up to ${schemaVersion}); it was left untouched`
  })

/** The schema version of the database, 0 before the first migration. Writes nothing. */
const currentVersion = (database: Database): Effect.Effect<number, SessionStoreError> =>
  database.read((connection) =>
    Effect.flatMap(query(connection, findTable[database.dialect.name], []), (found) =>
      found.length === 0
        ? Effect.succeed(0)
        : Effect.map(query(connection, newestMigration, []), (rows) => Number(rows[0]?.version ?? 0))
    )
  )

const asStoreError = (error: unknown): SessionStoreError =>
  error instanceof SqlError
    ? fromSqlError(error)
    : fromCause(error instanceof Object && "cause" in error ? unwrap(error) : error)

/** A failed migration wraps the statement's error, which wraps the driver's. */
const unwrap = (error: { readonly cause?: unknown }): unknown =>
  error.cause instanceof SqlError ? error.cause.cause : (error.cause ?? error)

/**
 * Brings the database to this release's schema. Of several processes that start at once one migrates; the others wait and find it done.
 */
export const prepare = (sql: SqlClient.SqlClient, database: Database): Effect.Effect<void, SessionStoreError> => {
  const step = Effect.gen(function* () {
    const version = yield* currentVersion(database)
    if (version > schemaVersion) return yield* newerSchema(version)
    if (version === schemaVersion) return
    const migrated = database.dialect.name === "sqlite" ? migrateSqlite(sql) : migratePostgres(sql)
    yield* migrated.pipe(
      Effect.mapError(asStoreError),
      // The migrator reports a failed migration, and a failed COMMIT, as a defect.
      Effect.catchAllDefect((defect) => Effect.fail(asStoreError(defect)))
    )
    if ((yield* currentVersion(database)) < schemaVersion) {
      return yield* new SessionStoreError({
        reason: "busy",
        message: "expected to migrate the database, another was at it"
      })
    }
  })
  return database.retryBusy(step)
}

const migrateSqlite = (sql: SqlClient.SqlClient) =>
  Effect.flatMap(immediate(sql), (client) => Effect.provideService(migrate, SqlClient.SqlClient, client))

/** One at a time a schema, from the table of migrations on: the migrator alone loses races for that. */
const migratePostgres = (sql: SqlClient.SqlClient) => {
  const alone = <A, E>(body: Effect.Effect<A, E>) =>
    sql.withTransaction(
      sql`SET LOCAL lock_timeout = '500ms'`.pipe(
        Effect.zipRight(
          sql`SELECT pg_advisory_xact_lock(hashtext('${sql.literal(table)}'), hashtext(coalesce(current_schema(), '')))`
        ),
        Effect.zipRight(body)
      )
    )
  const makeTable = sql`CREATE TABLE IF NOT EXISTS ${sql(table)} (
    migration_id integer PRIMARY KEY, created_at timestamptz NOT NULL DEFAULT now(), name text NOT NULL
  )`
  return Effect.zipRight(alone(makeTable), alone(Effect.provideService(migrate, SqlClient.SqlClient, sql)))
}
