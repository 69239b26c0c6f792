import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStore, SessionStoreError, StoredEvent } from "../SessionStore.js"
import { padded, repeat, sized } from "./dialect.js"
import type { Database, Row } from "./sqlDatabase.js"
import { query } from "./sqlDatabase.js"
import { open } from "./sqlSessions.js"
import { fromStored, toStored } from "./text.js"

type Service = SessionStore["Type"]
type Page = Parameters<Service["read"]>[1]

/** How many events one statement looks through for those of some types: none of them takes long. */
const scanLength = 10_000

/** Data that one statement loads beside what the first one brought. */
const loadLength = 64

/** An event whose data may have been left out for its size. */
interface Found {
  readonly segment: number
  readonly size: number
  readonly event: Omit<StoredEvent, "data"> & { readonly data: string | null }
}

const found = (row: Row): Found => ({
  segment: Number(row.segment),
  size: Number(row.size),
  event: {
    seq: Number(row.seq),
    type: fromStored(row.type as string),
    time: Number(row.time),
    data: row.data as string | null,
    sourceEventSeqs: row.source_event_seqs as string | null,
    ignorable: Number(row.ignorable) === 1
  }
})

/** As many as the byte budget has room for, one at least. */
const withinBudget = (rows: ReadonlyArray<Found>, maxBytes: number): ReadonlyArray<Found> => {
  let bytes = 0
  for (const [index, row] of rows.entries()) {
    if (index > 0 && bytes >= maxBytes) return rows.slice(0, index)
    bytes += row.size
  }
  return rows
}

/** Rows up to the first whose data is gone: its session was removed meanwhile. */
const complete = (rows: ReadonlyArray<Found>, loaded: ReadonlyMap<number, string>): ReadonlyArray<StoredEvent> => {
  const events: Array<StoredEvent> = []
  for (const { event } of rows) {
    const data = event.data ?? loaded.get(event.seq)
    if (data === undefined) break
    events.push({ ...event, data })
  }
  return events
}

const bySegment = (rows: ReadonlyArray<Found>): ReadonlyMap<number, ReadonlyArray<number>> => {
  const seqs = new Map<number, Array<number>>()
  for (const row of rows) {
    const present = seqs.get(row.segment)
    if (present === undefined) seqs.set(row.segment, [row.event.seq])
    else present.push(row.event.seq)
  }
  return seqs
}

/**
 * A page is one statement over all ranges of the lineage. It leaves out data above the even share of the byte budget, which the
 * database does not even read then; what the budget has room for is loaded by key. No statement stays open after it.
 */
export const makeRead = (database: Database): Service["read"] => {
  const { dialect } = database
  const page = (ofTypes: string): string =>
    `SELECT e.segment, e.seq, e.type, e.time, e.size, e.ignorable, e.source_event_seqs,
       CASE WHEN e.size <= ${dialect.integer} THEN e.data END AS data
     FROM afterturn_sessions s
     JOIN afterturn_lineage l ON l.owner = s.segment
     JOIN afterturn_events e ON e.segment = l.segment
       AND e.seq >= ${dialect.greatest}(l.from_seq, ${dialect.integer})
       AND e.seq <= ${dialect.least}(l.to_seq, ${dialect.integer})
     WHERE s.id = ? AND l.to_seq >= ? AND l.from_seq <= ?${ofTypes}
     ORDER BY l.position, e.seq LIMIT ?`
  const selectAll = dialect.text(page(""))
  const selectTypes = sized(dialect, (count) => page(` AND e.type IN (${repeat("?", count)})`))
  const selectData = sized(
    dialect,
    (count) => `SELECT seq, data FROM afterturn_events WHERE segment = ? AND seq IN (${repeat("?", count)})`
  )
  const selectLast = dialect.text("SELECT last_seq FROM afterturn_sessions WHERE id = ?")

  const load = Effect.fnUntraced(function* (connection: Connection, rows: ReadonlyArray<Found>) {
    const loaded = new Map<number, string>()
    for (const [segment, seqs] of bySegment(rows)) {
      for (let start = 0; start < seqs.length; start += loadLength) {
        const chunk = padded(seqs.slice(start, start + loadLength))
        const data = yield* query(connection, selectData(chunk.length), [segment, ...chunk])
        for (const row of data) loaded.set(Number(row.seq), row.data as string)
      }
    }
    return loaded
  })

  const fill = (
    connection: Connection,
    rows: ReadonlyArray<Found>
  ): Effect.Effect<ReadonlyArray<StoredEvent>, SqlError> => {
    const large = rows.filter((row) => row.event.data === null)
    return large.length === 0
      ? Effect.succeed(rows.map((row) => row.event as StoredEvent))
      : Effect.map(load(connection, large), (loaded) => complete(rows, loaded))
  }

  const readPage = (
    id: SessionId,
    wanted: Page,
    types: ReadonlyArray<string> | undefined
  ): Effect.Effect<ReadonlyArray<StoredEvent>, SessionStoreError> => {
    const from = Math.max(wanted.fromSeq, 0)
    const to = Math.min(wanted.toSeq, open)
    const limit = Math.min(wanted.limit, open)
    const share = Math.floor(Math.min(wanted.maxBytes, open) / limit)
    const text = types === undefined ? selectAll : selectTypes(types.length)
    const params = [share, from, to, id, from, to, ...(types ?? []), limit]
    return database.read((connection) =>
      Effect.flatMap(query(connection, text, params), (rows) =>
        fill(connection, withinBudget(rows.map(found), wanted.maxBytes))
      )
    )
  }

  const scan = Effect.fnUntraced(function* (id: SessionId, wanted: Page, types: ReadonlyArray<string>) {
    const [row] = yield* database.read((connection) => query(connection, selectLast, [id]))
    const last = Math.min(wanted.toSeq, Number(row?.last_seq ?? -1))
    for (let from = Math.max(wanted.fromSeq, 0); from <= last; from += scanLength) {
      const toSeq = Math.min(from + scanLength - 1, last)
      const events = yield* readPage(id, { ...wanted, fromSeq: from, toSeq }, types)
      if (events.length > 0) return events
    }
    return []
  })

  return (id, wanted) => {
    if (wanted.limit <= 0 || wanted.types?.length === 0) return Effect.succeed([])
    return wanted.types === undefined
      ? readPage(id, wanted, undefined)
      : scan(id, wanted, padded(wanted.types.map(toStored)))
  }
}
