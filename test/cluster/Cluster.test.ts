import * as Cluster from "@afterturn/cluster/Cluster"
import { Session } from "@afterturn/cluster/SessionProtocol"
import * as Postgres from "@afterturn/session-log/SessionStore/Postgres"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshSchemaUrl, withPostgres } from "../support/postgres.js"
import { agentsOn, sessionId } from "./support.js"

withPostgres(() => {
  describe("a runner and a client", () => {
    it.scopedLive(
      "meet through the database and talk over a socket",
      () =>
        Effect.gen(function* () {
          const url = yield* freshSchemaUrl
          yield* Layer.build(
            Cluster.layerRunner({ address: { host: "127.0.0.1", port: 0 } }).pipe(
              Layer.provide(agentsOn(Redacted.value(url), Cluster.logSettings))
            )
          )
          const client = yield* Layer.build(Cluster.layerClient().pipe(Layer.provide(Postgres.layer({ url }))))
          yield* Effect.gen(function* () {
            const session = (yield* Session.client)(sessionId)
            yield* session.Create({ cwd: process.cwd() })
            yield* session.Followup({ text: "plan the release" })
            yield* session.Settle()
            assert.deepStrictEqual(yield* session.Todos(), [{ content: "Write it down", status: "pending" }])
            assert.deepInclude(yield* Effect.flip(session.KillJob({ id: "bash-9" })), { code: "job_not_found" })
          }).pipe(Effect.provide(client))
        }),
      60_000
    )
  })
})
