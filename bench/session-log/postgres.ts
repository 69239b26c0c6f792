/** The same appends on PostgreSQL, where a server answers: `BENCH_PG_URL`, by default the machine's own. */
import { SqlClient } from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import { interleave, measure } from "../support/measure.js"
import type { Report } from "../support/report.js"
import { rounds } from "../support/report.js"
import { rawNote } from "./note.js"
import { appendBatches, appendOneByOne, appendTogether, createSessions, openSql } from "./store.js"

const server = process.env.BENCH_PG_URL ?? "postgres://postgres@127.0.0.1:5432/postgres"

const client = (parameters: string, connections: number) =>
  PgClient.layer({
    url: Redacted.make(`${server}${parameters}`),
    maxConnections: connections,
    connectTimeout: "2 seconds"
  })

const schema = `afterturn_bench_${process.pid}`

const statement = (text: string) =>
  Effect.runPromise(
    Effect.flatMap(SqlClient, (sql) => sql.unsafe(text)).pipe(
      Effect.provide(client("", 1)),
      Effect.as(true),
      Effect.catchAll(() => Effect.succeed(false))
    )
  )

const insert = `INSERT INTO raw_events (segment, seq, type, time, size, ignorable, source_event_seqs, data)
  VALUES ($1,$2,$3,$4,$5,0,NULL,$6)`

export const postgresAppends = async (report: Report): Promise<void> => {
  if (!(await statement(`CREATE SCHEMA ${schema}`)))
    return report.note(`PostgreSQL: no server answers at ${server}; skipped`)
  try {
    await compare(report)
  } finally {
    await statement(`DROP SCHEMA ${schema} CASCADE`)
  }
}

const compare = async (report: Report): Promise<void> => {
  const path = `?options=${encodeURIComponent(`-c search_path=${schema}`)}`
  const store = openSql(client(path, 4))
  const raw = ManagedRuntime.make(client(path, 1).pipe(Layer.orDie))
  await raw.runPromise(
    Effect.flatMap(SqlClient, (sql) =>
      sql.unsafe(
        `CREATE TABLE raw_events (segment BIGINT, seq BIGINT, type TEXT, time BIGINT, size BIGINT, ignorable SMALLINT,
           source_event_seqs TEXT, data TEXT, PRIMARY KEY (segment, seq))`
      )
    )
  )
  let seq = 0
  const insertOneByOne = (count: number) =>
    raw.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const connection = yield* Effect.flatMap(SqlClient, (sql) => sql.reserve)
          for (let index = 0; index < count; index++) {
            const { data, type } = rawNote(index)
            const text = JSON.stringify(data)
            yield* connection.executeRaw(insert, [1, seq++, type, Date.now(), text.length, text])
          }
        })
      )
    )
  const ids = await createSessions(store, 64)
  const id = ids[0]!
  const found = await interleave(rounds, {
    "one INSERT, same driver": () => measure(50, () => insertOneByOne(50)),
    "one by one": () => measure(50, () => appendOneByOne(store, id, 50)),
    "64 fibers, one session": () => measure(640, () => appendTogether(store, [id], 64, 10)),
    "64 fibers, 64 sessions": () => measure(640, () => appendTogether(store, ids, 64, 10)),
    "batches of 100": () => measure(1_000, () => appendBatches(store, id, 10, 100))
  })
  report.compare("events a second, PostgreSQL", found, "one INSERT, same driver")
  await store.dispose()
  await raw.dispose()
}
