/**
 * The other side of the comparison: better-sqlite3 without anything around it, on a database that this project's store has made
 * and with the same pragmas, writing the same rows.
 */
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"

export type Durability = "normal" | "full"

export interface RawEvent {
  readonly type: string
  readonly data: unknown
}

export interface Raw {
  /** A row in a transaction of its own: one INSERT. `session` chooses one of 64, by its remainder. */
  readonly insert: (event: RawEvent, session?: number) => void
  /** A row as an event log must store it: reads the last seq, inserts, updates the last seq, in a transaction. */
  readonly append: (event: RawEvent) => void
  /** So many rows in one transaction. */
  readonly insertAll: (events: ReadonlyArray<RawEvent>) => void
  /** Every row, its data parsed. */
  readonly fold: (each: (type: string, data: unknown) => void) => number
  readonly close: () => void
}

const sessions = 64

/** A new database with its sessions. */
export const createRaw = async (filename: string, durability: Durability): Promise<Raw> => {
  const create = (log: (typeof SessionLog)["Service"], id: string) => log.create({ id: SessionId.make(id) })
  const ids = Array.from({ length: sessions }, (_, index) => (index === 0 ? "raw" : `raw-${index}`))
  await Effect.runPromise(
    Effect.flatMap(SessionLog, (log) => Effect.forEach(ids, (id) => create(log, id), { discard: true })).pipe(
      Effect.provide(layerSqlite({ filename, durability }))
    )
  )
  return openRaw(filename, durability)
}

export const openRaw = (filename: string, durability: Durability): Raw => {
  const database = new Sqlite(filename)
  for (const pragma of [
    "busy_timeout = 100",
    "journal_mode = WAL",
    `synchronous = ${durability}`,
    "foreign_keys = ON",
    `journal_size_limit = ${64 * 1024 * 1024}`
  ]) {
    database.pragma(pragma)
  }
  const head = database.prepare<[], { readonly segment: number; readonly last_seq: number }>(
    "SELECT segment, last_seq FROM afterturn_sessions WHERE id = 'raw'"
  )
  const row = database.prepare(
    "INSERT INTO afterturn_events (segment, seq, type, time, size, ignorable, source_event_seqs, data) VALUES (?,?,?,?,?,?,?,?)"
  )
  const setHead = database.prepare("UPDATE afterturn_sessions SET last_seq = ? WHERE segment = ?")
  const all = database.prepare<[], { readonly type: string; readonly data: string }>(
    "SELECT seq, type, time, ignorable, source_event_seqs, data FROM afterturn_events ORDER BY segment, seq"
  )
  const { last_seq: lastSeq = -1, segment = 1 } = head.get() ?? {}
  let seq = lastSeq
  const insert = ({ data, type }: RawEvent, session = 0): void => {
    const text = JSON.stringify(data)
    row.run(segment + (session % sessions), ++seq, type, Date.now(), text.length, 0, null, text)
  }
  const append = database.transaction((event: RawEvent) => {
    // What the statement answers is too low after lone INSERTs; what it costs is the point.
    seq = Math.max(seq, head.get()?.last_seq ?? -1)
    insert(event)
    setHead.run(seq, segment)
  })
  const insertAll = database.transaction((events: ReadonlyArray<RawEvent>) => {
    for (const event of events) insert(event)
    setHead.run(seq, segment)
  })
  return {
    insert,
    append: (event) => append.immediate(event),
    insertAll: (events) => insertAll.immediate(events),
    fold: (each) => {
      let count = 0
      for (const { data, type } of all.iterate()) {
        each(type, JSON.parse(data))
        count++
      }
      return count
    },
    close: () => {
      database.pragma("wal_checkpoint(TRUNCATE)")
      database.close()
    }
  }
}
