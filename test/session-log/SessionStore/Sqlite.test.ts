import * as Sqlite from "@afterturn/session-log/SessionStore/Sqlite"
import { contract } from "../../support/contracts/SessionStore.js"

contract("SQLite in memory", Sqlite.layer({ filename: ":memory:" }))
contract("SQLite file", Sqlite.layer({ filename: "/tmp/sqlstore/xx/yy/t.db" }))
