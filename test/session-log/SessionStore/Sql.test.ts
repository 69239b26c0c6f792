import * as Sql from "@afterturn/session-log/SessionStore/Sql"
import { SqliteClient } from "@effect/sql-sqlite-node"
import * as Layer from "effect/Layer"
import { contract } from "../../support/contracts/SessionStore.js"

contract(
  "SQL over a plain SQLite client",
  Sql.layer().pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" })))
)
