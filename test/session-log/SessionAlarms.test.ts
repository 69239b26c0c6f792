import * as Host from "@afterturn/session-log/Host"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as Sqlite from "@afterturn/session-log/SessionLog/Sqlite"
import { SqliteClient } from "@effect/sql-sqlite-node"
import * as Layer from "effect/Layer"
import { contract } from "../support/contracts/SessionAlarms.js"
import { postgres, withPostgres } from "../support/postgres.js"
import { holder } from "../support/sessionLog.js"

const log = SessionLog.layerSql({ leaseClock: "caller" }).pipe(Layer.provide(Host.layer(holder("here"))))

contract("memory", SessionLog.layerMemory)
contract("an SQLite file", Sqlite.layerSqlite({ filename: ":memory:" }))
contract("a plain SQLite client", log.pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" }))))
withPostgres(() => contract("PostgreSQL", log.pipe(Layer.provide(postgres))))
