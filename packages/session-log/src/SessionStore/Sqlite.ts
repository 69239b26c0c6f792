/**
 * The session store in an SQLite file: the embedded default.
 *
 * Many processes may use one file at once. A database appears whole or not at all; a file that is empty, of another kind,
 * damaged or written by a newer version is refused and left as it is.
 *
 * @since 0.1.0
 */

import * as fs from "node:fs"
import * as path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as dialects from "../internal/dialect.js"
import { probe } from "../internal/fileSystem.js"
import { schemaVersion } from "../internal/migrations.js"
import type { Database } from "../internal/sqlDatabase.js"
import * as Databases from "../internal/sqlDatabase.js"
import { fromCause } from "../internal/sqlErrors.js"
import { makeCommit } from "../internal/sqliteCommit.js"
import type { SqliteConnection } from "../internal/sqliteConnection.js"
import * as SqliteConnections from "../internal/sqliteConnection.js"
import { create, inspect, makeFolder } from "../internal/sqliteFile.js"
import { immediate } from "../internal/sqlSchema.js"
import { SessionStore, SessionStoreError } from "../SessionStore.js"
import * as Sql from "./Sql.js"

/**
 * What kind of file system a folder is on, and whether it is one of this machine alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface FileSystemKind {
  readonly name: string
  readonly local: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Sql.Options {
  /** The database file, or `:memory:`. Its folder is made when it is missing. */
  readonly filename: string
  /**
   * What an acknowledged append survives. `normal` (the default): the end of the process, however it comes; a power loss or a
   * crash of the system may take the last appends, never leave a hole or a half. `full`: these too, at the price of a disk sync
   * a commit.
   */
  readonly durability?: "normal" | "full"
  /** Bytes that the write-ahead log's file keeps once its content was moved to the database. Default 64 MiB. */
  readonly journalSizeLimit?: number
  /** Tells what kind of file system a folder is on. Default: asks the system. */
  readonly fileSystem?: (folder: string) => Effect.Effect<FileSystemKind>
}

/**
 * How the database is open, for those who look for trouble.
 *
 * @since 0.1.0
 * @category models
 */
export interface Info {
  readonly filename: string
  readonly fileSystem: FileSystemKind
  /** `wal`; `delete` on a file system where that is not safe; `memory`. */
  readonly journalMode: string
  readonly synchronous: "normal" | "full"
  readonly schemaVersion: number
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SqliteInfo extends Context.Tag("@afterturn/session-log/SqliteInfo")<SqliteInfo, Info>() {}

type Commit = SessionStore["Type"]["commit"]

/** How a connection is set up. */
interface Setup {
  readonly wal: boolean
  readonly synchronous: "normal" | "full"
  readonly journalSizeLimit: number
  readonly busyTimeout: Duration.DurationInput
}

interface Connected {
  readonly sql: SqlClient.SqlClient
  readonly database: Database
  readonly connection: SqliteConnection
  readonly journalMode: string
}

/**
 * Opens the store on a file, made when there is none. The client is for tables of one's own beside the store's: its transactions
 * take the write lock when they begin.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<
  { readonly store: SessionStore["Type"]; readonly sql: SqlClient.SqlClient; readonly info: Info },
  SessionStoreError,
  Scope.Scope
> {
  const inMemory = options.filename === ":memory:"
  const filename = inMemory ? options.filename : path.resolve(options.filename)
  if (!inMemory) yield* makeFolder(filename)
  const fileSystem = inMemory
    ? { name: "memory", local: true }
    : yield* (options.fileSystem ?? probe)(path.dirname(filename))
  const setup: Setup = {
    wal: fileSystem.local,
    // A rollback journal may be damaged by a power loss under NORMAL.
    synchronous: fileSystem.local ? (options.durability ?? "normal") : "full",
    journalSizeLimit: options.journalSizeLimit ?? 64 * 1024 * 1024,
    busyTimeout: options.busyTimeout ?? "10 seconds"
  }
  if (!inMemory) yield* ensureFile(filename, setup, options)
  const { connection, database, journalMode, sql } = yield* connect(filename, setup)
  const general = yield* Effect.provideService(Sql.make(options), SqlClient.SqlClient, sql)
  const store = SessionStore.of({ ...general, commit: makeCommit(connection, database) })
  // A write that changes nothing says now, not at the first append, that the file cannot be written.
  yield* database.write((connection) =>
    Databases.run(connection, "DELETE FROM afterturn_loose_segments WHERE segment < 0", [])
  )
  if (!inMemory && !setup.wal) yield* warnOfJournal(filename, fileSystem)
  if (journalMode === "wal") yield* checkpointAtClose(sql)
  const commit = warnOfGrowth(filename, setup.journalSizeLimit, store.commit)
  const info: Info = { filename, fileSystem, journalMode, synchronous: setup.synchronous, schemaVersion }
  return { store: { ...store, commit }, sql, info }
})

/**
 * The store on a file, with the client that it uses and how that is open.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<SessionStore | SqlClient.SqlClient | SqliteInfo, SessionStoreError> =>
  Layer.scopedContext(
    Effect.map(make(options), ({ info, sql, store }) =>
      Context.make(SessionStore, store).pipe(Context.add(SqlClient.SqlClient, sql), Context.add(SqliteInfo, info))
    )
  )

const ensureFile = (filename: string, setup: Setup, options: Sql.Options): Effect.Effect<void, SessionStoreError> => {
  const build = (temporary: string) =>
    Effect.scoped(
      Effect.flatMap(connect(temporary, { ...setup, synchronous: "full" }), ({ sql }) =>
        Effect.asVoid(Effect.provideService(Sql.make(options), SqlClient.SqlClient, sql))
      )
    )
  const step = Effect.gen(function* () {
    if (yield* inspect(filename)) return
    yield* create(filename, build)
    if (yield* inspect(filename)) return
    return yield* new SessionStoreError({
      reason: "unavailable",
      message: `expected the new database at ${filename}, it is gone again`
    })
  })
  return Databases.retryBusy(setup.busyTimeout)(step)
}

const pragmas = (setup: Setup): ReadonlyArray<string> => [
  // Short: the driver waits for a lock with the whole process standing still. Longer waits are retries that sleep.
  "busy_timeout = 100",
  `journal_mode = ${setup.wal ? "WAL" : "DELETE"}`,
  // Always set: the driver's default differs between the run that makes a file and those after it.
  `synchronous = ${setup.synchronous === "full" ? "FULL" : "NORMAL"}`,
  "foreign_keys = ON",
  `journal_size_limit = ${setup.journalSizeLimit}`
]

/** A connection set up for the store, closed with the scope. What the driver throws while it opens a file is a failure too. */
const connect = (filename: string, setup: Setup): Effect.Effect<Connected, SessionStoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const connection = yield* SqliteConnections.open(filename)
    const sql = yield* immediate(connection)
    const database = Databases.make(sql, dialects.sqlite, { busyTimeout: setup.busyTimeout })
    const rows = yield* database.read((connection) =>
      Effect.forEach(pragmas(setup), (pragma) => unprepared(connection, `PRAGMA ${pragma}`))
    )
    return { sql, database, connection, journalMode: String(rows[1]?.[0]?.journal_mode) }
  }).pipe(Effect.catchAllDefect((defect) => Effect.fail(fromCause(defect))))

/** Past the client's cache, which would keep the failure of a busy moment. */
const unprepared = (connection: Connection, text: string): Effect.Effect<ReadonlyArray<Databases.Row>, SqlError> =>
  Effect.suspend(() => connection.executeUnprepared(text, [], undefined)).pipe(
    Effect.catchAllDefect((cause) => Effect.fail(new SqlError({ cause })))
  )

const warnOfJournal = (filename: string, fileSystem: FileSystemKind) =>
  Effect.logWarning(
    `the session database is on a ${fileSystem.name} file system, where a write-ahead log is not safe: ` +
      "opened with a rollback journal, which is slower; keep it on a local disk if you can"
  ).pipe(Effect.annotateLogs({ filename }))

/** Moves the log into the database when the store closes. */
const checkpointAtClose = (sql: SqlClient.SqlClient) =>
  // A checkpoint that others hold up is made up for by the last of them to close.
  Effect.addFinalizer(() => Effect.ignore(sql.unsafe("PRAGMA wal_checkpoint(TRUNCATE)")))

/** Commits between two looks at the log's size. By count, not by time: a clock that tests move must have nothing to wake. */
const commitsBetweenLooks = 200

/**
 * Says so, once each time, when the log's file has grown far beyond its limit: then some process keeps a read open, and the log
 * cannot begin anew.
 */
const warnOfGrowth = (filename: string, limit: number, commit: Commit): Commit => {
  const threshold = 4 * limit
  let commits = 0
  let large = false
  const look = Effect.suspend(() => {
    const size = fs.statSync(`${filename}-wal`, { throwIfNoEntry: false })?.size ?? 0
    const grown = size > threshold && !large
    large = size > threshold
    return grown ? warn(size) : Effect.void
  })
  const warn = (size: number) =>
    Effect.logWarning(
      `the write-ahead log of the session database has grown to ${size} bytes: some process keeps a read open`
    ).pipe(Effect.annotateLogs({ filename }))
  return (requests) => Effect.tap(commit(requests), () => (++commits % commitsBetweenLooks === 0 ? look : Effect.void))
}
