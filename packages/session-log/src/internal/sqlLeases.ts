import type { Connection } from "@effect/sql/SqlConnection"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionStore, StoredLease, StoredSnapshot } from "../SessionStore.js"
import { blocks, storedLease } from "./commit.js"
import { leaseColumns, leaseRow } from "./sqlCommit.js"
import type { Database, Row } from "./sqlDatabase.js"
import { query, run } from "./sqlDatabase.js"
import { nextNumber } from "./sqlSessions.js"
import { fromStored, toStored } from "./text.js"

type Service = SessionStore["Type"]
type AcquireRequest = Parameters<Service["acquireLease"]>[0]

/**
 * A lease lives in its session's row, which a commit reads and locks anyway: no statement can see one without the other. A
 * given-up lease keeps its epoch; epochs are numbers of the whole database, so that none ever comes back.
 */
export const makeLeases = (
  database: Database
): Pick<Service, "lease" | "acquireLease" | "renewLease" | "releaseLease"> => {
  const { dialect } = database
  const select = `SELECT ${leaseColumns} FROM afterturn_sessions WHERE id = ?`
  const selectLease = dialect.text(select)
  const lockLease = dialect.text(`${select}${dialect.forUpdate}`)
  const take = dialect.text(
    `UPDATE afterturn_sessions SET lease_epoch = ?, lease_host = ?, lease_boot_id = ?, lease_pid = ?, lease_started_at = ?,
     lease_expires_at = ? WHERE id = ?`
  )
  const renew = dialect.text(
    "UPDATE afterturn_sessions SET lease_expires_at = ? WHERE id = ? AND lease_epoch = ? AND lease_host IS NOT NULL"
  )
  const release = dialect.text("UPDATE afterturn_sessions SET lease_host = NULL WHERE id = ? AND lease_epoch = ?")

  const acquire = Effect.fnUntraced(function* (connection: Connection, request: AcquireRequest) {
    const [row] = yield* query(connection, lockLease, [request.sessionId])
    if (row === undefined) return { _tag: "not-found" } as const
    const present = leaseRow(row)
    const standing = present === undefined ? undefined : storedLease(request.sessionId, present)
    if (standing !== undefined && blocks(present, request)) return { _tag: "held", lease: standing } as const
    const { expiresAt, holder, sessionId } = request
    const epoch = yield* nextNumber(connection, dialect)
    const { bootId, host, pid, startedAt } = holder
    yield* run(connection, take, [epoch, host, bootId, pid, startedAt, expiresAt, sessionId])
    return { _tag: "acquired", lease: { sessionId, epoch, host, bootId, pid, startedAt, expiresAt } } as const
  })

  return {
    lease: (id) =>
      Effect.map(
        database.read((connection) => query(connection, selectLease, [id])),
        ([row]) => {
          const present = row === undefined ? undefined : leaseRow(row)
          return Option.fromNullable<StoredLease | undefined>(
            present === undefined ? undefined : storedLease(id, present)
          )
        }
      ),
    acquireLease: (request) => database.write((connection) => acquire(connection, request)),
    renewLease: (id, epoch, expiresAt) =>
      Effect.map(
        database.write((connection) => run(connection, renew, [expiresAt, id, epoch])),
        (changed) => changed > 0
      ),
    releaseLease: (id, epoch) => Effect.asVoid(database.write((connection) => run(connection, release, [id, epoch])))
  }
}

const storedSnapshot = (row: Row): StoredSnapshot => ({
  key: fromStored(row.key as string),
  version: Number(row.version),
  seq: Number(row.seq),
  state: row.state as string
})

export const makeSnapshots = (database: Database): Pick<Service, "snapshot" | "snapshots" | "saveSnapshot"> => {
  const { dialect } = database
  const select = `SELECT n.key, n.version, n.seq, n.state FROM afterturn_snapshots n
    JOIN afterturn_sessions s ON s.segment = n.owner WHERE s.id = ?`
  const selectOne = dialect.text(`${select} AND n.key = ? AND n.version = ?`)
  const selectAll = dialect.text(`${select} ORDER BY n.key`)
  const save = dialect.text(
    `INSERT INTO afterturn_snapshots (owner, key, version, seq, state)
     SELECT segment, ?, ${dialect.integer}, ${dialect.integer}, ? FROM afterturn_sessions WHERE id = ? AND last_seq >= ?
     ON CONFLICT (owner, key) DO UPDATE SET version = excluded.version, seq = excluded.seq, state = excluded.state
     WHERE afterturn_snapshots.version <> excluded.version OR afterturn_snapshots.seq <= excluded.seq`
  )
  return {
    snapshot: (id, key, version) =>
      Effect.map(
        database.read((connection) => query(connection, selectOne, [id, toStored(key), version])),
        ([row]) => Option.map(Option.fromNullable(row), storedSnapshot)
      ),
    snapshots: (id) =>
      Effect.map(
        database.read((connection) => query(connection, selectAll, [id])),
        (rows) => rows.map(storedSnapshot)
      ),
    saveSnapshot: (id, { key, seq, state, version }) =>
      Effect.asVoid(
        database.write((connection) => run(connection, save, [toStored(key), version, seq, state, id, seq]))
      )
  }
}
