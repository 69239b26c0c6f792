/**
 * A session store over any `@effect/sql` client of SQLite or PostgreSQL.
 *
 * The store makes its tables (named `afterturn_…`) in the client's database, beside whatever else is there. Every operation is
 * a transaction of its own, never part of the caller's: run inside `sql.withTransaction` it would wait for the one connection
 * that SQLite has.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { openDatabase } from "../internal/openDatabase.js"
import { makeAlarms } from "../internal/sqlAlarms.js"
import { makeCommit, makeWrites } from "../internal/sqlCommit.js"
import { makeLeases, makeSnapshots } from "../internal/sqlLeases.js"
import { makeRead } from "../internal/sqlRead.js"
import { makeGc, makeReclaim, makeRemove } from "../internal/sqlReclaim.js"
import { makeCreate, makeFork, makeHeader, makeList, makeTypes } from "../internal/sqlSessions.js"
import { makeStage } from "../internal/sqlStaging.js"
import type { SessionStoreError } from "../SessionStore.js"
import { SessionStore } from "../SessionStore.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How long an operation waits in all for others' locks before it fails with `busy`. Default 10 seconds. */
  readonly busyTimeout?: Duration.DurationInput
  /**
   * How long an import may be idle between two writes before `gc` takes it for crashed. Default 1 day.
   */
  readonly stagingMaxAge?: Duration.DurationInput
  /**
   * Whose clock says when a lease has expired. `database`: the server's, so that machines whose clocks disagree agree about leases.
   * `caller`: the clock of the process, for tests that play time. Default: `database` on PostgreSQL; on SQLite there is but one machine
   * and its clock.
   */
  readonly leaseClock?: "caller" | "database"
}

/**
 * Brings the client's database to this release's schema and opens the store on it. A database of a newer schema is refused
 * before anything is written.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const sql = yield* SqlClient.SqlClient
  const database = yield* openDatabase(sql, options)
  const writes = makeWrites(database.dialect)
  const reclaim = makeReclaim(database)
  return SessionStore.of({
    create: makeCreate(database),
    fork: makeFork(database),
    stage: makeStage(database, writes, reclaim),
    header: makeHeader(database),
    list: makeList(database),
    remove: makeRemove(database, reclaim),
    commit: makeCommit(database, writes),
    read: makeRead(database),
    types: makeTypes(database),
    ...makeSnapshots(database),
    ...makeLeases(database),
    ...makeAlarms(database),
    changed: Stream.empty,
    gc: makeGc(database, reclaim, options?.stagingMaxAge ?? "1 day")
  })
})

/**
 * The store over the client in the context.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<SessionStore, SessionStoreError, SqlClient.SqlClient> =>
  Layer.effect(SessionStore, make(options))
