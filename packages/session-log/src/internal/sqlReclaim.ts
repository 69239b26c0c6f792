import type { Connection } from "@effect/sql/SqlConnection"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStore, SessionStoreError } from "../SessionStore.js"
import { eventLoopTurn } from "./eventLoop.js"
import type { Database } from "./sqlDatabase.js"
import { now, query, run } from "./sqlDatabase.js"

type Service = SessionStore["Type"]

/** Events deleted in one transaction: other writers get their turn in between. */
const chunk = 500

export type Reclaim = (segment: number) => Effect.Effect<number, SessionStoreError>

/**
 * Deletes the events of a loose segment that no session reads, from the last one back, a transaction a chunk; the segment too,
 * when nobody reads any. The number of events deleted. What references a segment that has lost its owner only gets less, so it
 * may be stopped and begun again at any point.
 */
export const makeReclaim = (database: Database): Reclaim => {
  const { dialect } = database
  const selectLoose = dialect.text(
    `SELECT segment FROM afterturn_loose_segments WHERE segment = ? AND staged_at IS NULL${dialect.forUpdate}`
  )
  const selectBounds = dialect.text(
    `SELECT (SELECT max(to_seq) FROM afterturn_lineage WHERE segment = ?) AS shared,
            (SELECT max(seq) FROM afterturn_events WHERE segment = ?) AS last`
  )
  const deleteEvents = dialect.text("DELETE FROM afterturn_events WHERE segment = ? AND seq > ?")
  const deleteLoose = dialect.text("DELETE FROM afterturn_loose_segments WHERE segment = ?")
  const step = Effect.fnUntraced(function* (connection: Connection, segment: number) {
    if ((yield* query(connection, selectLoose, [segment])).length === 0) return { deleted: 0, more: false }
    const bounds = (yield* query(connection, selectBounds, [segment, segment]))[0]!
    const shared = bounds.shared === null ? -1 : Number(bounds.shared)
    const last = bounds.last === null ? -1 : Number(bounds.last)
    const through = Math.max(shared, last - chunk)
    const deleted = last > through ? yield* run(connection, deleteEvents, [segment, through]) : 0
    const more = through > shared
    if (!more && bounds.shared === null) yield* run(connection, deleteLoose, [segment])
    return { deleted, more }
  })
  return Effect.fnUntraced(function* (segment) {
    let total = 0
    for (let more = true; more; ) {
      const result = yield* database.write((connection) => step(connection, segment))
      total += result.deleted
      more = result.more
      if (more) yield* eventLoopTurn
    }
    return total
  })
}

export const makeRemove = (database: Database, reclaim: Reclaim): Service["remove"] => {
  const { dialect } = database
  const selectOwner = dialect.text(`SELECT segment FROM afterturn_sessions WHERE id = ?${dialect.forUpdate}`)
  const selectSegments = dialect.text("SELECT segment FROM afterturn_lineage WHERE owner = ?")
  const insertLoose = dialect.text("INSERT INTO afterturn_loose_segments (segment, staged_at) VALUES (?, NULL)")
  const deleteAlarms = dialect.text("DELETE FROM afterturn_alarms WHERE session = ?")
  const deletes = [
    "DELETE FROM afterturn_snapshots WHERE owner = ?",
    "DELETE FROM afterturn_session_types WHERE owner = ?",
    "DELETE FROM afterturn_lineage WHERE owner = ?",
    "DELETE FROM afterturn_sessions WHERE segment = ?"
  ].map(dialect.text)
  const detach = Effect.fnUntraced(function* (connection: Connection, id: SessionId) {
    const [owner] = yield* query(connection, selectOwner, [id])
    if (owner === undefined) return undefined
    const segment = Number(owner.segment)
    const segments = yield* query(connection, selectSegments, [segment])
    yield* run(connection, insertLoose, [segment])
    for (const statement of deletes) yield* run(connection, statement, [segment])
    yield* run(connection, deleteAlarms, [id])
    return segments.map((row) => Number(row.segment))
  })
  return Effect.fnUntraced(function* (id) {
    const segments = yield* database.write((connection) => detach(connection, id))
    if (segments === undefined) return false
    // The session is gone already. Events that could not be deleted now take up space until the next `gc`, nothing else.
    yield* Effect.ignore(Effect.forEach(segments, reclaim, { discard: true }))
    return true
  })
}

export const makeGc = (database: Database, reclaim: Reclaim, stagingMaxAge: Duration.DurationInput): Service["gc"] => {
  const { dialect } = database
  const expire = dialect.text("UPDATE afterturn_loose_segments SET staged_at = NULL WHERE staged_at < ?")
  const selectLoose = dialect.text(
    "SELECT segment FROM afterturn_loose_segments WHERE staged_at IS NULL ORDER BY segment"
  )
  return Effect.gen(function* () {
    const time = yield* now
    yield* database.write((connection) => run(connection, expire, [time - Duration.toMillis(stagingMaxAge)]))
    const loose = yield* database.read((connection) => query(connection, selectLoose, []))
    const deleted = yield* Effect.forEach(loose, (row) => reclaim(Number(row.segment)))
    return { events: deleted.reduce((sum, count) => sum + count, 0) }
  })
}
