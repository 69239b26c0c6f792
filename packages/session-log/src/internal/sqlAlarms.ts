import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStore, StoredAlarm } from "../SessionStore.js"
import type { Dialect } from "./dialect.js"
import type { Database, Row } from "./sqlDatabase.js"
import { query, run } from "./sqlDatabase.js"

type Service = SessionStore["Type"]

/** An alarm that a commit sets, or clears with `null`. */
export interface AlarmRow {
  readonly sessionId: SessionId
  readonly key: string
  readonly dueAt: number | null
}

export const upsertAlarm =
  "INSERT INTO afterturn_alarms (session, key, due_at) VALUES (?,?,?) " +
  "ON CONFLICT (session, key) DO UPDATE SET due_at = excluded.due_at"

export const deleteAlarm = "DELETE FROM afterturn_alarms WHERE session = ? AND key = ?"

export const makeWriteAlarms = (
  dialect: Dialect
): ((connection: Connection, rows: ReadonlyArray<AlarmRow>) => Effect.Effect<void, SqlError>) => {
  const upsert = dialect.text(upsertAlarm)
  const remove = dialect.text(deleteAlarm)
  return Effect.fnUntraced(function* (connection, rows) {
    for (const { dueAt, key, sessionId } of rows) {
      yield* dueAt === null
        ? run(connection, remove, [sessionId, key])
        : run(connection, upsert, [sessionId, key, dueAt])
    }
  })
}

const alarmOf = (row: Row): StoredAlarm => ({
  sessionId: row.session as SessionId,
  key: row.key as string,
  dueAt: Number(row.due_at)
})

/** Before every alarm. */
const first: StoredAlarm = { sessionId: "" as SessionId, key: "", dueAt: Number.MIN_SAFE_INTEGER }

export const makeAlarms = (database: Database): Pick<Service, "alarms" | "dueAlarms" | "nextAlarm"> => {
  const { dialect, leaseClock } = database
  const selectDue = dialect.text(
    `SELECT a.session, a.key, a.due_at FROM afterturn_alarms a JOIN afterturn_sessions s ON s.id = a.session
     WHERE (a.due_at, a.session, a.key) > (${dialect.integer}, ?, ?) AND a.due_at <= ?
       AND (s.lease_host IS NULL OR s.lease_expires_at <= ${leaseClock ?? "?"})
     ORDER BY a.due_at, a.session, a.key LIMIT ?`
  )
  const selectNext = dialect.text("SELECT min(due_at) AS due_at FROM afterturn_alarms WHERE due_at > ?")
  const selectOf = dialect.text("SELECT session, key, due_at FROM afterturn_alarms WHERE session = ? ORDER BY key")
  return {
    alarms: (id) =>
      Effect.map(
        database.read((connection) => query(connection, selectOf, [id])),
        (rows) => rows.map(alarmOf)
      ),
    dueAlarms: ({ after = first, limit, now, until }) =>
      Effect.map(
        database.read((connection) =>
          query(connection, selectDue, [
            after.dueAt,
            after.sessionId,
            after.key,
            until,
            ...(leaseClock === undefined ? [now] : []),
            limit
          ])
        ),
        (rows) => rows.map(alarmOf)
      ),
    nextAlarm: (after) =>
      Effect.map(
        database.read((connection) => query(connection, selectNext, [after])),
        ([row]) => (row === undefined || row.due_at === null ? Option.none() : Option.some(Number(row.due_at)))
      )
  }
}
