/**
 * The mailbox in the database of a session store: a table beside it, in SQLite or PostgreSQL.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeMailbox } from "../internal/mailbox.js"
import { openDatabase } from "../internal/openDatabase.js"
import { makeSql } from "../internal/sqlMailbox.js"
import { Mailbox } from "../Mailbox.js"
import type { Options } from "../SessionStore/Sql.js"
import type { SessionStoreError } from "../SessionStore.js"

/**
 * Over the client in the context, whose database is brought to this release's schema.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Pick<Options, "busyTimeout">
): Layer.Layer<Mailbox, SessionStoreError, SqlClient.SqlClient> =>
  Layer.effect(
    Mailbox,
    Effect.map(
      Effect.flatMap(SqlClient.SqlClient, (sql) => openDatabase(sql, options)),
      (database) => makeMailbox(makeSql(database))
    )
  )
