import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStore, StoredEvent } from "../SessionStore.js"
import { padded, repeat, sized } from "./dialect.js"
import { eventLoopTurn } from "./eventLoop.js"
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

/** A part of a session: the events of a segment from one seq through another. */
interface Range {
  readonly segment: number
  readonly from: number
  readonly to: number
}

/**
 * A page is read range by range of the session's lineage until it is full: a statement over several would sort all that follows
 * on PostgreSQL. A statement leaves out data above the even share of the byte budget, which the database does not even read
 * then; what the budget has room for is loaded by key. Nothing stays open after it.
 */
export const makeRead = (database: Database): Service["read"] => {
  const { dialect } = database
  const selectRanges = dialect.text(
    `SELECT l.segment, l.from_seq, l.to_seq FROM afterturn_sessions s
     JOIN afterturn_lineage l ON l.owner = s.segment
     WHERE s.id = ? AND l.to_seq >= ? AND l.from_seq <= ? ORDER BY l.position`
  )
  const selectEvents = (ofTypes: string): string =>
    `SELECT segment, seq, type, time, size, ignorable, source_event_seqs,
       CASE WHEN size <= ${dialect.integer} THEN data END AS data
     FROM afterturn_events WHERE segment = ? AND seq >= ? AND seq <= ?${ofTypes} ORDER BY seq LIMIT ?`
  const selectAll = dialect.text(selectEvents(""))
  const selectTypes = sized(dialect, (count) => selectEvents(` AND type IN (${repeat("?", count)})`))
  const selectData = sized(
    dialect,
    (count) => `SELECT seq, data FROM afterturn_events WHERE segment = ? AND seq IN (${repeat("?", count)})`
  )
  const selectLast = dialect.text("SELECT last_seq FROM afterturn_sessions WHERE id = ?")

  const rangesOf = (connection: Connection, id: SessionId, from: number, to: number) =>
    Effect.map(query(connection, selectRanges, [id, from, to]), (rows) =>
      rows.map(
        (row): Range => ({
          segment: Number(row.segment),
          from: Math.max(Number(row.from_seq), from),
          to: Math.min(Number(row.to_seq), to)
        })
      )
    )

  const find = Effect.fnUntraced(function* (
    connection: Connection,
    id: SessionId,
    wanted: Page,
    types: ReadonlyArray<string> | undefined
  ) {
    const text = types === undefined ? selectAll : selectTypes(types.length)
    const share = Math.floor(wanted.maxBytes / wanted.limit)
    const rows: Array<Found> = []
    let bytes = 0
    for (const range of yield* rangesOf(connection, id, wanted.fromSeq, wanted.toSeq)) {
      if (rows.length >= wanted.limit || (rows.length > 0 && bytes >= wanted.maxBytes)) break
      const params = [share, range.segment, range.from, range.to, ...(types ?? []), wanted.limit - rows.length]
      for (const row of yield* query(connection, text, params)) {
        const next = found(row)
        rows.push(next)
        bytes += next.size
      }
    }
    return rows
  })

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

  const readPage = (id: SessionId, wanted: Page, types?: ReadonlyArray<string>) =>
    database.read((connection) =>
      Effect.flatMap(find(connection, id, wanted, types), (rows) =>
        fill(connection, withinBudget(rows, wanted.maxBytes))
      )
    )

  /**
   * Seqs have no gaps, so a page of any type ends within its limit: however badly the database guesses how much follows, it looks
   * at no more. Where events are missing, those after them are found by the open range, for the reader to see the gap.
   */
  const readAll = (id: SessionId, wanted: Page) => {
    const toSeq = wanted.fromSeq + wanted.limit - 1
    return wanted.toSeq <= toSeq
      ? readPage(id, wanted)
      : Effect.flatMap(readPage(id, { ...wanted, toSeq }), (events) =>
          events.length > 0 ? Effect.succeed(events) : readPage(id, wanted)
        )
  }

  const scan = Effect.fnUntraced(function* (id: SessionId, wanted: Page, types: ReadonlyArray<string>) {
    const [row] = yield* database.read((connection) => query(connection, selectLast, [id]))
    const last = Math.min(wanted.toSeq, Number(row?.last_seq ?? -1))
    for (let from = wanted.fromSeq; from <= last; from += scanLength) {
      const toSeq = Math.min(from + scanLength - 1, last)
      const events = yield* readPage(id, { ...wanted, fromSeq: from, toSeq }, types)
      if (events.length > 0) return events
      yield* eventLoopTurn
    }
    return []
  })

  return (id, page) => {
    if (page.limit <= 0 || page.types?.length === 0) return Effect.succeed([])
    // What a caller may mean by infinity, in numbers that an integer column can be compared with.
    const wanted: Page = {
      ...page,
      fromSeq: Math.max(page.fromSeq, 0),
      toSeq: Math.min(page.toSeq, open),
      limit: Math.min(page.limit, open),
      maxBytes: Math.min(page.maxBytes, open)
    }
    return wanted.types === undefined ? readAll(id, wanted) : scan(id, wanted, padded(wanted.types.map(toStored)))
  }
}
