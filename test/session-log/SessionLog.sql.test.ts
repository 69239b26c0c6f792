import * as NodeHost from "@afterturn/session-log/Host/Node"
import { layerSql } from "@afterturn/session-log/SessionLog"
import { SqliteClient } from "@effect/sql-sqlite-node"
import * as Layer from "effect/Layer"
import { contract } from "../support/contracts/SessionLog.js"

contract(
  "a plain SQLite client",
  layerSql().pipe(Layer.provide(NodeHost.layer), Layer.provide(SqliteClient.layer({ filename: ":memory:" })))
)
