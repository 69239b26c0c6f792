import * as net from "node:net"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { PgClient } from "@effect/sql-pg"
import { describe } from "@effect/vitest"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"

const server = { host: "127.0.0.1", port: 5432 }

const answers = await new Promise<boolean>((resolve) => {
  const socket = net.connect(server)
  socket.once("connect", () => resolve(true)).once("error", () => resolve(false))
  socket.once("connect", () => socket.end())
})

const urlOf = (parameters = ""): Redacted.Redacted =>
  Redacted.make(`postgres://postgres@${server.host}:${server.port}/test${parameters}`)

/** Nothing here has to survive the server's end. */
const hasty = "-c synchronous_commit=off"

const client = (url = urlOf(`?options=${encodeURIComponent(hasty)}`)) => PgClient.layer({ url, maxConnections: 8 })

const execute = (statement: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(Effect.provide(client()))

let schemas = 0

const freshSchema = Effect.acquireRelease(
  Effect.suspend(() => {
    const name = `afterturn_test_${process.pid}_${++schemas}`
    return Effect.as(execute(`CREATE SCHEMA ${name}`), name)
  }),
  (name) => Effect.orDie(execute(`DROP SCHEMA ${name} CASCADE`))
)

/** The URL of a database whose tables live in a schema of their own, dropped when the scope closes. */
export const freshSchemaUrl: Effect.Effect<Redacted.Redacted, SqlError | ConfigError, Scope.Scope> = Effect.map(
  freshSchema,
  (name) => urlOf(`?options=${encodeURIComponent(`-c search_path=${name} ${hasty}`)}&application_name=${name}`)
)

/** A client whose tables live in a schema of their own, dropped when the layer's scope closes. */
export const postgres: Layer.Layer<SqlClient.SqlClient, SqlError | ConfigError> = Layer.unwrapScoped(
  Effect.map(freshSchemaUrl, client)
)

/** Declares tests that need the server: without one they show as skipped, but in CI, where they fail. */
export const withPostgres = (declare: () => void): void => {
  describe.runIf(answers || process.env.CI === "true")(`with PostgreSQL at ${server.host}:${server.port}`, declare)
}
