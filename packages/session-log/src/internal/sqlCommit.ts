import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { CommitRequest, CommitResult, NewStoredEvent, SessionStoreError } from "../SessionStore.js"
import type { LeaseRow } from "./commit.js"
import { decide, eventSize } from "./commit.js"
import type { Dialect } from "./dialect.js"
import { padded, repeat, sized } from "./dialect.js"
import type { AlarmRow } from "./sqlAlarms.js"
import { makeWriteAlarms } from "./sqlAlarms.js"
import type { Database, Row } from "./sqlDatabase.js"
import { query, run } from "./sqlDatabase.js"
import { toStored } from "./text.js"

/** Rows of one statement; more go into further statements of the same transaction. */
const maxRows = 64

/** Text bound by one statement, about: a batch of large events is not copied as a whole. */
const maxStatementSize = 4 * 1024 * 1024

interface EventRow {
  readonly segment: number
  readonly seq: number
  readonly event: NewStoredEvent
}

export interface NewType {
  readonly owner: number
  readonly type: string
  readonly ignorable: boolean
  readonly firstSeq: number
}

export interface Head {
  readonly segment: number
  lastSeq: number
  readonly lease: LeaseRow | undefined
  /** The database's present, where leases go by it. */
  readonly now?: number | undefined
}

export interface Writes {
  readonly events: (connection: Connection, rows: ReadonlyArray<EventRow>) => Effect.Effect<void, SqlError>
  readonly types: (connection: Connection, rows: ReadonlyArray<NewType>) => Effect.Effect<void, SqlError>
}

/** The inserts that appends and imports share. */
export const makeWrites = (dialect: Dialect): Writes => {
  const insertEvents = sized(
    dialect,
    (count) =>
      `INSERT INTO afterturn_events (segment, seq, type, time, size, ignorable, source_event_seqs, data) VALUES ${repeat(
        "(?,?,?,?,?,?,?,?)",
        count
      )}`
  )
  const insertTypes = sized(
    dialect,
    (count) =>
      `INSERT INTO afterturn_session_types (owner, type, ignorable, first_seq) VALUES ${repeat(
        "(?,?,?,?)",
        count
      )} ON CONFLICT DO NOTHING`
  )
  return {
    events: Effect.fnUntraced(function* (connection, rows) {
      for (let start = 0; start < rows.length; ) {
        const count = chunkLength(rows, start)
        yield* run(connection, insertEvents(count), eventParams(rows, start, count))
        start += count
      }
    }),
    types: Effect.fnUntraced(function* (connection, rows) {
      for (let start = 0; start < rows.length; start += maxRows) {
        // A repeated row is one that is there already.
        const chunk = padded(rows.slice(start, start + maxRows))
        const params = chunk.flatMap((row) => [row.owner, toStored(row.type), row.ignorable ? 1 : 0, row.firstSeq])
        yield* run(connection, insertTypes(chunk.length), params)
      }
    })
  }
}

/** The largest power of two of rows that are left and small enough together. */
const chunkLength = (rows: ReadonlyArray<EventRow>, start: number): number => {
  let count = maxRows
  while (count > rows.length - start) count >>= 1
  while (count > 1 && sizeOf(rows, start, count) > maxStatementSize) count >>= 1
  return count
}

const sizeOf = (rows: ReadonlyArray<EventRow>, start: number, count: number): number => {
  let size = 0
  for (let index = start; index < start + count; index++) size += rows[index]!.event.data.length
  return size
}

const eventParams = (rows: ReadonlyArray<EventRow>, start: number, count: number): ReadonlyArray<unknown> => {
  const params: Array<unknown> = []
  for (let index = start; index < start + count; index++) {
    const { event, segment, seq } = rows[index]!
    params.push(
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
  return params
}

export const leaseColumns = "lease_epoch, lease_host, lease_boot_id, lease_pid, lease_started_at, lease_expires_at"

export const leaseRow = (row: Row): LeaseRow | undefined =>
  row.lease_epoch === null
    ? undefined
    : {
        epoch: Number(row.lease_epoch),
        holder:
          row.lease_host === null
            ? null
            : {
                host: row.lease_host as string,
                bootId: row.lease_boot_id as string,
                pid: Number(row.lease_pid),
                startedAt: row.lease_started_at as string
              },
        expiresAt: Number(row.lease_expires_at)
      }

/**
 * Which types are stored of which sessions, by segment: a session created anew under an old id has another segment, so nothing
 * here is ever wrong. Learnt after COMMIT only.
 */
export class KnownTypes {
  private readonly bySegment = new Map<number, Set<string>>()
  private readonly capacity = 10_000

  has(segment: number, event: NewStoredEvent): boolean {
    return this.bySegment.get(segment)?.has(typeKey(event)) ?? false
  }

  add(rows: ReadonlyArray<NewType>): void {
    for (const row of rows) {
      const present = this.bySegment.get(row.owner)
      if (present === undefined) this.bySegment.set(row.owner, new Set([typeKey(row)]))
      else present.add(typeKey(row))
    }
    for (const segment of this.bySegment.keys()) {
      if (this.bySegment.size <= this.capacity) return
      this.bySegment.delete(segment)
    }
  }
}

const typeKey = (event: { readonly type: string; readonly ignorable: boolean }): string =>
  event.ignorable ? `?${event.type}` : `!${event.type}`

export interface Plan {
  readonly results: ReadonlyArray<CommitResult>
  readonly events: ReadonlyArray<EventRow>
  readonly types: ReadonlyArray<NewType>
  /** In the order in which they apply. */
  readonly alarms: ReadonlyArray<AlarmRow>
  /** Sessions whose last seq changes. */
  readonly changed: ReadonlyArray<Head>
}

/** What becomes of each request, and the rows that it takes. */
export const makePlan = (
  requests: ReadonlyArray<CommitRequest>,
  heads: ReadonlyMap<string, Head>,
  known: KnownTypes
): Plan => {
  const results: Array<CommitResult> = []
  const events: Array<EventRow> = []
  const types: Array<NewType> = []
  const alarms: Array<AlarmRow> = []
  const changed = new Set<Head>()
  const planned = new Set<string>()
  for (const request of requests) {
    const head = heads.get(request.sessionId)
    const result = decide(request, head)
    results.push(result)
    if (result._tag !== "committed" || head === undefined) continue
    for (const event of request.events) {
      const seq = ++head.lastSeq
      events.push({ segment: head.segment, seq, event })
      if (known.has(head.segment, event)) continue
      const key = `${head.segment} ${typeKey(event)}`
      if (planned.has(key)) continue
      planned.add(key)
      types.push({ owner: head.segment, type: event.type, ignorable: event.ignorable, firstSeq: seq })
    }
    if (request.events.length > 0) changed.add(head)
    for (const change of request.alarms ?? []) alarms.push({ ...change, sessionId: request.sessionId })
  }
  return { results, events, types, alarms, changed: Array.from(changed) }
}

/** The hot path: one transaction for any number of requests. */
export const makeCommit = (
  database: Database,
  writes: Writes
): ((requests: ReadonlyArray<CommitRequest>) => Effect.Effect<ReadonlyArray<CommitResult>, SessionStoreError>) => {
  const { dialect, leaseClock } = database
  const known = new KnownTypes()
  const writeAlarms = makeWriteAlarms(dialect)
  const selectHeads = sized(
    dialect,
    // Rows are locked in the order of their ids: two commits that share sessions cannot lock each other out.
    (count) =>
      `SELECT id, segment, last_seq, ${leaseColumns}${leaseClock === undefined ? "" : `, ${leaseClock} AS now`} FROM afterturn_sessions WHERE id IN (${repeat("?", count)})${
        dialect.forUpdate === "" ? "" : ` ORDER BY id${dialect.forUpdate}`
      }`
  )
  const updateHead = dialect.text("UPDATE afterturn_sessions SET last_seq = ? WHERE segment = ?")
  const updateHeads = sized(
    dialect,
    (count) =>
      `UPDATE afterturn_sessions SET last_seq = head.column2 FROM (VALUES ${repeat(
        `(${dialect.integer},${dialect.integer})`,
        count
      )}) AS head WHERE afterturn_sessions.segment = head.column1`
  )

  const readHeads = Effect.fnUntraced(function* (connection: Connection, requests: ReadonlyArray<CommitRequest>) {
    const ids = Array.from(new Set(requests.map((request) => request.sessionId)))
    const heads = new Map<string, Head>()
    if (dialect.forUpdate !== "") ids.sort()
    for (let start = 0; start < ids.length; start += maxRows) {
      const chunk = padded(ids.slice(start, start + maxRows))
      for (const row of yield* query(connection, selectHeads(chunk.length), chunk)) {
        heads.set(row.id as string, {
          segment: Number(row.segment),
          lastSeq: Number(row.last_seq),
          lease: leaseRow(row),
          now: row.now === undefined ? undefined : Number(row.now)
        })
      }
    }
    return heads
  })

  const writeHeads = Effect.fnUntraced(function* (connection: Connection, changed: ReadonlyArray<Head>) {
    const [only] = changed
    if (only !== undefined && changed.length === 1) {
      return yield* run(connection, updateHead, [only.lastSeq, only.segment])
    }
    for (let start = 0; start < changed.length; start += maxRows) {
      const chunk = padded(changed.slice(start, start + maxRows))
      yield* run(
        connection,
        updateHeads(chunk.length),
        chunk.flatMap((head) => [head.segment, head.lastSeq])
      )
    }
    return changed.length
  })

  const inTransaction = Effect.fnUntraced(function* (connection: Connection, requests: ReadonlyArray<CommitRequest>) {
    const plan = makePlan(requests, yield* readHeads(connection, requests), known)
    yield* writes.events(connection, plan.events)
    if (plan.types.length > 0) yield* writes.types(connection, plan.types)
    yield* writeHeads(connection, plan.changed)
    if (plan.alarms.length > 0) yield* writeAlarms(connection, plan.alarms)
    return plan
  })

  const learn = (plan: Plan): void => known.add(plan.types)
  return (requests) =>
    requests.length === 0
      ? Effect.succeed([])
      : Effect.map(
          database.write((connection) => inTransaction(connection, requests), learn),
          (plan) => plan.results
        )
}
