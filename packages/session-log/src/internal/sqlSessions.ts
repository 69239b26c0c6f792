import type { Connection } from "@effect/sql/SqlConnection"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStore, StoredHeader } from "../SessionStore.js"
import type { TypeRow } from "./commit.js"
import { strictest } from "./commit.js"
import type { Dialect } from "./dialect.js"
import type { Database, Row } from "./sqlDatabase.js"
import { query, run } from "./sqlDatabase.js"
import { fromStored, toStored } from "./text.js"

type Service = SessionStore["Type"]
type Header = Omit<StoredHeader, "lastSeq">

/** The last seq of a range that is still open. */
export const open = Number.MAX_SAFE_INTEGER

/** An id is taken: rolls the transaction back. */
const idTaken = "id-taken" as const

const nullable = (text: string | null): string | null => (text === null ? null : toStored(text))

const headerColumns = "id, version, created_at, cwd, title, parent, seed_length, delegation_depth, last_seq"

const storedHeader = (row: Row): StoredHeader => ({
  id: row.id as SessionId,
  version: Number(row.version),
  createdAt: Number(row.created_at),
  cwd: row.cwd === null ? null : fromStored(row.cwd as string),
  title: row.title === null ? null : fromStored(row.title as string),
  parent: row.parent as SessionId | null,
  seedLength: Number(row.seed_length),
  delegationDepth: Number(row.delegation_depth),
  lastSeq: Number(row.last_seq)
})

export const nextNumber = (connection: Connection, dialect: Dialect) =>
  Effect.map(query(connection, dialect.nextNumber, []), (rows) => Number(rows[0]!.value))

/** The insert of a session that owns `segment`; fails with `id-taken`. */
export const makeInsertSession = (dialect: Dialect) => {
  const insert = dialect.text(
    `INSERT INTO afterturn_sessions (segment, ${headerColumns}) VALUES (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING`
  )
  const insertLineage = dialect.text(
    "INSERT INTO afterturn_lineage (owner, position, segment, from_seq, to_seq) VALUES (?,?,?,?,?)"
  )
  return Effect.fnUntraced(function* (
    connection: Connection,
    header: Header,
    own: { readonly segment: number; readonly position: number; readonly fromSeq: number; readonly lastSeq: number }
  ) {
    const inserted = yield* run(connection, insert, [
      own.segment,
      header.id,
      header.version,
      header.createdAt,
      nullable(header.cwd),
      nullable(header.title),
      header.parent,
      header.seedLength,
      header.delegationDepth,
      own.lastSeq
    ])
    if (inserted === 0) return yield* Effect.fail(idTaken)
    yield* run(connection, insertLineage, [own.segment, own.position, own.segment, own.fromSeq, open])
  })
}

export const makeCreate = (database: Database): Service["create"] => {
  const insertSession = makeInsertSession(database.dialect)
  const create = Effect.fnUntraced(function* (connection: Connection, header: Header) {
    const segment = yield* nextNumber(connection, database.dialect)
    yield* insertSession(connection, header, { segment, position: 0, fromSeq: 0, lastSeq: -1 })
    return true
  })
  return (header) =>
    database
      .write((connection) => create(connection, header))
      .pipe(
        Effect.catchIf(
          (error) => error === idTaken,
          () => Effect.succeed(false)
        )
      )
}

export const makeFork = (database: Database): Service["fork"] => {
  const { dialect } = database
  const insertSession = makeInsertSession(dialect)
  const selectParent = dialect.text(
    `SELECT segment, last_seq FROM afterturn_sessions WHERE id = ?${dialect.forKeyShare}`
  )
  const selectTaken = dialect.text("SELECT 1 AS taken FROM afterturn_sessions WHERE id = ?")
  const copyLineage = dialect.text(
    `INSERT INTO afterturn_lineage (owner, position, segment, from_seq, to_seq)
     SELECT ${dialect.integer}, position, segment, from_seq, ${dialect.least}(to_seq, ${dialect.integer})
     FROM afterturn_lineage WHERE owner = ? AND from_seq <= ?`
  )
  const copyTypes = dialect.text(
    `INSERT INTO afterturn_session_types (owner, type, ignorable, first_seq)
     SELECT ${dialect.integer}, type, ignorable, first_seq FROM afterturn_session_types WHERE owner = ? AND first_seq <= ?`
  )
  const fork = Effect.fnUntraced(function* (connection: Connection, header: Header & { readonly parent: SessionId }) {
    const lastSeq = header.seedLength - 1
    if ((yield* query(connection, selectTaken, [header.id])).length > 0) return idTaken
    const [parent] = yield* query(connection, selectParent, [header.parent])
    if (parent === undefined || Number(parent.last_seq) < lastSeq) return "parent-not-found" as const
    const segment = yield* nextNumber(connection, dialect)
    const shared = Number(parent.segment)
    const position = yield* Effect.map(query(connection, countShared, [shared, lastSeq]), (rows) =>
      Number(rows[0]!.ranges)
    )
    yield* insertSession(connection, header, { segment, position, fromSeq: header.seedLength, lastSeq })
    yield* run(connection, copyLineage, [segment, lastSeq, shared, lastSeq])
    yield* run(connection, copyTypes, [segment, shared, lastSeq])
    return "forked" as const
  })
  const countShared = dialect.text("SELECT count(*) AS ranges FROM afterturn_lineage WHERE owner = ? AND from_seq <= ?")
  return (header) =>
    database
      .write((connection) => fork(connection, header))
      .pipe(
        Effect.catchIf(
          (error) => error === idTaken,
          () => Effect.succeed(idTaken)
        )
      )
}

export const makeHeader = (database: Database): Service["header"] => {
  const select = database.dialect.text(`SELECT ${headerColumns} FROM afterturn_sessions WHERE id = ?`)
  return (id) =>
    Effect.map(
      database.read((connection) => query(connection, select, [id])),
      (rows) => Option.map(Option.fromNullable(rows[0]), storedHeader)
    )
}

type ListQuery = Parameters<Service["list"]>[0]

export const makeList = (database: Database): Service["list"] => {
  const statement = (conditions: ReadonlyArray<string>): string =>
    `SELECT ${headerColumns} FROM afterturn_sessions${
      conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`
    } ORDER BY created_at DESC, id DESC LIMIT ?`
  const build = (list: ListQuery) => {
    const conditions: Array<string> = []
    const params: Array<unknown> = []
    const where = (condition: string, ...values: ReadonlyArray<unknown>) => {
      conditions.push(condition)
      params.push(...values)
    }
    if (list.parent !== undefined) where("parent = ?", list.parent)
    if (list.cwd !== undefined) where("cwd = ?", toStored(list.cwd))
    if (list.after !== undefined) where("(created_at, id) < (?, ?)", list.after.createdAt, list.after.id)
    return { text: database.dialect.text(statement(conditions)), params: [...params, Math.max(list.limit, 0)] }
  }
  return (list) => {
    const { params, text } = build(list)
    return Effect.map(
      database.read((connection) => query(connection, text, params)),
      (rows) => rows.map(storedHeader)
    )
  }
}

export const makeTypes = (database: Database): Service["types"] => {
  const select = database.dialect.text(
    `SELECT t.type, t.ignorable, t.first_seq FROM afterturn_session_types t
     JOIN afterturn_sessions s ON s.segment = t.owner WHERE s.id = ?`
  )
  const typeRow = (row: Row): TypeRow => ({
    type: fromStored(row.type as string),
    firstSeq: Number(row.first_seq),
    ignorable: Number(row.ignorable) === 1
  })
  return (id) =>
    Effect.map(
      database.read((connection) => query(connection, select, [id])),
      (rows) => strictest(rows.map(typeRow))
    )
}
