import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import { contract } from "../../support/contracts/SessionLog.js"
import { withFile } from "../../support/temporary.js"

contract(
  "SQLite",
  withFile((filename) => layerSqlite({ filename }))
)
