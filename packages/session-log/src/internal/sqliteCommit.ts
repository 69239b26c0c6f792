import * as Effect from "effect/Effect"
import type { CommitRequest, CommitResult, SessionStore } from "../SessionStore.js"
import { eventSize } from "./commit.js"
import { deleteAlarm, upsertAlarm } from "./sqlAlarms.js"
import type { Head, Plan } from "./sqlCommit.js"
import { KnownTypes, leaseColumns, leaseRow, makePlan } from "./sqlCommit.js"
import type { Database, Row } from "./sqlDatabase.js"
import { fromCause } from "./sqlErrors.js"
import type { SqliteConnection } from "./sqliteConnection.js"
import { toStored } from "./text.js"

const selectHead = `SELECT segment, last_seq, ${leaseColumns} FROM afterturn_sessions WHERE id = ?`
const insertEvent =
  "INSERT INTO afterturn_events (segment, seq, type, time, size, ignorable, source_event_seqs, data) VALUES (?,?,?,?,?,?,?,?)"
const insertType =
  "INSERT INTO afterturn_session_types (owner, type, ignorable, first_seq) VALUES (?,?,?,?) ON CONFLICT DO NOTHING"
const updateHead = "UPDATE afterturn_sessions SET last_seq = ? WHERE segment = ?"

/**
 * The hot path of the embedded default: a transaction as one step, for SQLite's driver answers at once. The same decisions as
 * everywhere; the contract of the stores is run over both.
 */
export const makeCommit = (connection: SqliteConnection, database: Database): SessionStore["Type"]["commit"] => {
  const known = new KnownTypes()
  const transact = (requests: ReadonlyArray<CommitRequest>): ReadonlyArray<CommitResult> => {
    connection.prepare("BEGIN IMMEDIATE").run()
    try {
      const plan = makePlan(requests, readHeads(connection, requests), known)
      write(connection, plan)
      connection.prepare("COMMIT").run()
      known.add(plan.types)
      return plan.results
    } catch (cause) {
      rollback(connection)
      throw cause
    }
  }
  return (requests) =>
    requests.length === 0
      ? Effect.succeed([])
      : database.retryBusy(connection.exclusively(Effect.try({ try: () => transact(requests), catch: fromCause })))
}

const readHeads = (connection: SqliteConnection, requests: ReadonlyArray<CommitRequest>): ReadonlyMap<string, Head> => {
  const heads = new Map<string, Head>()
  const select = connection.prepare(selectHead).safeIntegers(false)
  for (const { sessionId } of requests) {
    if (heads.has(sessionId)) continue
    const row = select.get(sessionId) as Row | undefined
    if (row === undefined) continue
    heads.set(sessionId, { segment: Number(row.segment), lastSeq: Number(row.last_seq), lease: leaseRow(row) })
  }
  return heads
}

const write = (connection: SqliteConnection, plan: Plan): void => {
  const insert = connection.prepare(insertEvent)
  for (const { event, segment, seq } of plan.events) {
    insert.run(
      segment,
      seq,
      toStored(event.type),
      event.time,
      eventSize(event),
      event.ignorable ? 1 : 0,
      event.sourceEventSeqs,
      event.data
    )
  }
  for (const { firstSeq, ignorable, owner, type } of plan.types) {
    connection.prepare(insertType).run(owner, toStored(type), ignorable ? 1 : 0, firstSeq)
  }
  for (const { lastSeq, segment } of plan.changed) connection.prepare(updateHead).run(lastSeq, segment)
  for (const { dueAt, key, sessionId } of plan.alarms) {
    if (dueAt === null) connection.prepare(deleteAlarm).run(sessionId, key)
    else connection.prepare(upsertAlarm).run(sessionId, key, dueAt)
  }
}

const rollback = (connection: SqliteConnection): void => {
  try {
    connection.prepare("ROLLBACK").run()
  } catch {
    // The database has rolled back already, or is gone: nothing is lost with the error.
  }
}
