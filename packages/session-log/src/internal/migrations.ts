/**
 * The schema. Text is TEXT on both databases: PostgreSQL's jsonb refuses NUL and lone surrogates. Times are milliseconds.
 *
 * Events live in segments: each session owns the one that it appends to and reads those that its lineage names, so that a fork
 * shares its parent's events. A segment that no session owns (an import in progress, what forks share of a removed session) is
 * loose. `session_types` and `last_seq` change in the transaction of the append that they follow from.
 */
import * as Migrator from "@effect/sql/Migrator"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"

export const table = "afterturn_migrations"

const columns = (pg: boolean) => ({
  integer: pg ? "BIGINT" : "INTEGER",
  flag: pg ? "SMALLINT" : "INTEGER",
  // Ids are compared byte by byte on both.
  id: pg ? `TEXT COLLATE "C"` : "TEXT",
  // Measured: small rows found by their key are faster and smaller without a rowid, events are slower and larger.
  withoutRowid: pg ? "" : " WITHOUT ROWID"
})

const schema = (pg: boolean): ReadonlyArray<string> => {
  const { flag, id, integer, withoutRowid } = columns(pg)
  return [
    ...(pg
      ? [`CREATE SEQUENCE afterturn_numbers`]
      : [
          `CREATE TABLE afterturn_counter (only INTEGER PRIMARY KEY CHECK (only = 1), value INTEGER NOT NULL)`,
          `INSERT INTO afterturn_counter VALUES (1, 0)`
        ]),
    `CREATE TABLE afterturn_sessions (
      segment ${integer} PRIMARY KEY,
      id ${id} NOT NULL UNIQUE,
      version ${integer} NOT NULL,
      created_at ${integer} NOT NULL,
      cwd TEXT,
      title TEXT,
      parent ${id},
      seed_length ${integer} NOT NULL,
      delegation_depth ${integer} NOT NULL,
      last_seq ${integer} NOT NULL,
      lease_epoch ${integer},
      lease_host TEXT,
      lease_boot_id TEXT,
      lease_pid ${integer},
      lease_started_at TEXT,
      lease_expires_at ${integer}
    )`,
    `CREATE INDEX afterturn_sessions_by_time ON afterturn_sessions (created_at DESC, id DESC)`,
    `CREATE INDEX afterturn_sessions_by_cwd ON afterturn_sessions (cwd, created_at DESC, id DESC)`,
    `CREATE INDEX afterturn_sessions_by_parent ON afterturn_sessions (parent, created_at DESC, id DESC)`,
    `CREATE TABLE afterturn_lineage (
      owner ${integer} NOT NULL REFERENCES afterturn_sessions (segment),
      position ${integer} NOT NULL,
      segment ${integer} NOT NULL,
      from_seq ${integer} NOT NULL,
      to_seq ${integer} NOT NULL,
      PRIMARY KEY (owner, position)
    )${withoutRowid}`,
    `CREATE INDEX afterturn_lineage_by_segment ON afterturn_lineage (segment, to_seq)`,
    `CREATE TABLE afterturn_events (
      segment ${integer} NOT NULL,
      seq ${integer} NOT NULL,
      type TEXT NOT NULL,
      time ${integer} NOT NULL,
      size ${integer} NOT NULL,
      ignorable ${flag} NOT NULL,
      source_event_seqs TEXT,
      data TEXT NOT NULL,
      PRIMARY KEY (segment, seq)
    )`,
    `CREATE TABLE afterturn_session_types (
      owner ${integer} NOT NULL REFERENCES afterturn_sessions (segment),
      type TEXT NOT NULL,
      ignorable ${flag} NOT NULL,
      first_seq ${integer} NOT NULL,
      PRIMARY KEY (owner, type, ignorable)
    )${withoutRowid}`,
    `CREATE TABLE afterturn_snapshots (
      owner ${integer} NOT NULL REFERENCES afterturn_sessions (segment),
      key ${id} NOT NULL,
      version ${integer} NOT NULL,
      seq ${integer} NOT NULL,
      state TEXT NOT NULL,
      PRIMARY KEY (owner, key)
    )`,
    `CREATE TABLE afterturn_loose_segments (
      segment ${integer} PRIMARY KEY,
      staged_at ${integer}
    )`
  ]
}

/**
 * Commands for whoever drives a session. Rows live for seconds: the sender deletes its own, and nobody takes one that has expired. No
 * reference to the session, whose removal must not wait for them.
 */
const mailbox = (pg: boolean): ReadonlyArray<string> => {
  const { id, integer } = columns(pg)
  return [
    `CREATE TABLE afterturn_mailbox (
      id ${integer} PRIMARY KEY,
      session ${id} NOT NULL,
      command TEXT NOT NULL,
      created_at ${integer} NOT NULL,
      expires_at ${integer} NOT NULL,
      claimed_at ${integer},
      answer TEXT,
      answered_at ${integer}
    )`,
    `CREATE INDEX afterturn_mailbox_by_session ON afterturn_mailbox (session, id)`
  ]
}

/**
 * When a session needs a host. `by_time` is what hosts ask: it has every column, so that a look touches the rows that are due and
 * no others.
 */
const alarms = (pg: boolean): ReadonlyArray<string> => {
  const { id, integer, withoutRowid } = columns(pg)
  return [
    `CREATE TABLE afterturn_alarms (
      session ${id} NOT NULL,
      key ${id} NOT NULL,
      due_at ${integer} NOT NULL,
      PRIMARY KEY (session, key)
    )${withoutRowid}`,
    `CREATE INDEX afterturn_alarms_by_time ON afterturn_alarms (due_at, session, key)`
  ]
}

/** Of sessions that somebody holds, or held when he died. On no column that a heartbeat changes. */
const leased = (): ReadonlyArray<string> => [
  `CREATE INDEX afterturn_sessions_leased ON afterturn_sessions (id) WHERE lease_host IS NOT NULL`
]

const run = (statements: (pg: boolean) => ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const pg = sql.onDialectOrElse({ pg: () => true, orElse: () => false })
    yield* Effect.forEach(statements(pg), (statement) => sql.unsafe(statement).unprepared, { discard: true })
  })

/** Append to this; never change an entry that was released. */
const migrations = {
  "0001_session_log": run(schema),
  "0002_mailbox": run(mailbox),
  "0003_alarms": run(alarms),
  "0004_leased": run(leased)
}

/** The schema version that this release reads and writes: the number of the last migration. */
export const schemaVersion = Object.keys(migrations).length

/** Runs what is missing, all of it in one transaction of the client. */
export const migrate = Migrator.make({})({ loader: Migrator.fromRecord(migrations), table })
