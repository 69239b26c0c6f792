import type { Connection } from "@effect/sql/SqlConnection"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStore, StoredLease, StoredSnapshot } from "../SessionStore.js"
import type { LeaseRow } from "./commit.js"
import { blocks, storedLease } from "./commit.js"
import { withNow } from "./now.js"
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
 *
 * Where leases go by the database's clock, rows hold its time and callers give and get theirs.
 */
export const makeLeases = (
  database: Database
): Pick<Service, "lease" | "acquireLease" | "renewLease" | "releaseLease" | "expiredLeases"> => {
  const { dialect, leaseClock } = database
  const present = leaseClock ?? dialect.integer
  const select = `SELECT ${leaseColumns}, ${present} AS now FROM afterturn_sessions WHERE id = ?`
  const selectLease = dialect.text(select)
  const lockLease = dialect.text(`${select}${dialect.forUpdate}`)
  const later = leaseClock === undefined ? dialect.integer : `${leaseClock} + ${dialect.integer}`
  const take = dialect.text(
    `UPDATE afterturn_sessions SET lease_epoch = ?, lease_host = ?, lease_boot_id = ?, lease_pid = ?, lease_started_at = ?,
     lease_expires_at = ${later} WHERE id = ?`
  )
  const renew = dialect.text(
    `UPDATE afterturn_sessions SET lease_expires_at = ${later} WHERE id = ? AND lease_epoch = ? AND lease_host IS NOT NULL`
  )
  const release = dialect.text("UPDATE afterturn_sessions SET lease_host = NULL WHERE id = ? AND lease_epoch = ?")
  const selectExpired = dialect.text(
    `SELECT id FROM afterturn_sessions WHERE lease_host IS NOT NULL AND lease_expires_at <= ${present}
     ORDER BY lease_expires_at, id LIMIT ?`
  )
  /** What stands for the caller's `now` in a statement, first of its parameters. */
  const at = (now: number): ReadonlyArray<number> => (leaseClock === undefined ? [now] : [])
  /** The end of a lease as a statement takes it. */
  const until = (expiresAt: number, now: number): number => (leaseClock === undefined ? expiresAt : expiresAt - now)
  const standing = (row: Row, now: number): LeaseRow | undefined => {
    const lease = leaseRow(row)
    return lease && { ...lease, expiresAt: lease.expiresAt - Number(row.now) + now }
  }

  const acquire = Effect.fnUntraced(function* (connection: Connection, request: AcquireRequest) {
    const { expiresAt, holder, now, sessionId } = request
    const [row] = yield* query(connection, lockLease, [...at(now), sessionId])
    if (row === undefined) return { _tag: "not-found" } as const
    const found = standing(row, now)
    const lease = found === undefined ? undefined : storedLease(sessionId, found)
    if (lease !== undefined && blocks(found, request)) return { _tag: "held", lease } as const
    const epoch = yield* nextNumber(connection, dialect)
    const { bootId, host, pid, startedAt } = holder
    yield* run(connection, take, [epoch, host, bootId, pid, startedAt, until(expiresAt, now), sessionId])
    return { _tag: "acquired", lease: { sessionId, epoch, host, bootId, pid, startedAt, expiresAt } } as const
  })

  return {
    lease: (id) =>
      withNow((now) =>
        Effect.map(
          database.read((connection) => query(connection, selectLease, [...at(now), id])),
          ([row]) => {
            const found = row === undefined ? undefined : standing(row, now)
            return Option.fromNullable<StoredLease | undefined>(
              found === undefined ? undefined : storedLease(id, found)
            )
          }
        )
      ),
    acquireLease: (request) => database.write((connection) => acquire(connection, request)),
    renewLease: (id, epoch, expiresAt) =>
      withNow((now) =>
        Effect.map(
          database.write((connection) => run(connection, renew, [until(expiresAt, now), id, epoch])),
          (changed) => changed > 0
        )
      ),
    releaseLease: (id, epoch) => Effect.asVoid(database.write((connection) => run(connection, release, [id, epoch]))),
    expiredLeases: ({ limit, now }) =>
      Effect.map(
        database.read((connection) => query(connection, selectExpired, [...at(now), limit])),
        (rows) => rows.map((row) => row.id as SessionId)
      )
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
