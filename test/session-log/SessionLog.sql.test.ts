import * as NodeHost from "@afterturn/session-log/Host/Node"
import { layerSql } from "@afterturn/session-log/SessionLog"
import { SqliteClient } from "@effect/sql-sqlite-node"
import * as Layer from "effect/Layer"
import { contract } from "../support/contracts/SessionLog.js"
import { postgres, withPostgres } from "../support/postgres.js"

const log = layerSql().pipe(Layer.provide(NodeHost.layer))

contract("a plain SQLite client", log.pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" }))))

withPostgres(() => contract("PostgreSQL", log.pipe(Layer.provide(postgres))))
