import { layerPostgres } from "@afterturn/session-log/SessionLog/Postgres"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { contract } from "../../support/contracts/SessionLog.js"
import { freshSchemaUrl, withPostgres } from "../../support/postgres.js"

withPostgres(() =>
  contract(
    "PostgreSQL",
    Layer.unwrapScoped(Effect.map(freshSchemaUrl, (url) => layerPostgres({ url, maxConnections: 4 })))
  )
)
