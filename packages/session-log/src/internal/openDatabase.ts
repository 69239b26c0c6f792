import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { SessionStoreError } from "../SessionStore.js"
import type { Dialect } from "./dialect.js"
import { pg, sqlite } from "./dialect.js"
import type { Database, DatabaseOptions } from "./sqlDatabase.js"
import * as Databases from "./sqlDatabase.js"
import { prepare } from "./sqlSchema.js"

const dialectOf = (sql: SqlClient): Effect.Effect<Dialect, SessionStoreError> => {
  const dialect = sql.onDialectOrElse({ sqlite: () => sqlite, pg: () => pg, orElse: () => undefined })
  return dialect !== undefined
    ? Effect.succeed(dialect)
    : Effect.fail(
        new SessionStoreError({ reason: "unavailable", message: "expected an SQL client of SQLite or PostgreSQL" })
      )
}

/** A client's database, at this release's schema. */
export const openDatabase = (sql: SqlClient, options?: DatabaseOptions): Effect.Effect<Database, SessionStoreError> =>
  Effect.flatMap(dialectOf(sql), (dialect) => {
    const database = Databases.make(sql, dialect, options)
    return Effect.as(prepare(sql, database), database)
  })
