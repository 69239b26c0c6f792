/**
 * The session store on a PostgreSQL server, for sessions of many machines.
 *
 * A connection that is lost, or a server that is started anew, is waited for: what was under way is done again, once, and where the
 * answer to a COMMIT was lost the server is asked what became of it. Leases go by the server's clock.
 *
 * @since 0.1.0
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as PgNews from "../internal/pgNews.js"
import { fromSqlError } from "../internal/sqlErrors.js"
import { SessionStore, SessionStoreError } from "../SessionStore.js"
import * as Sql from "./Sql.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Sql.Options {
  /** `postgres://user:password@host:port/database`, with what else a connection string may have. Shown nowhere. */
  readonly url: Redacted.Redacted
  /** How many connections at most, beside the one that listens. Default 10, at least 2. */
  readonly maxConnections?: number
}

/**
 * Brings the client's database to this release's schema and opens the store on it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (options?: Sql.Options) {
  const client = yield* PgClient.PgClient
  const store = yield* Sql.make(options)
  const news = yield* PgNews.make(client)
  return SessionStore.of({
    ...store,
    changed: news.changed,
    commit: (requests) =>
      Effect.tap(store.commit(requests), (results) =>
        Effect.sync(() => {
          results.forEach(({ _tag }, index) => {
            const request = requests[index]
            if (_tag === "committed" && request !== undefined && request.events.length > 0) news.tell(request.sessionId)
          })
        })
      )
  })
})

/**
 * The store on a server. The client is visible too, for tables of one's own in the same database.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<SessionStore | SqlClient | PgClient.PgClient, SessionStoreError> =>
  Layer.scopedContext(Effect.map(make(options), (store) => Context.make(SessionStore, store))).pipe(
    Layer.provideMerge(layerClient(options))
  )

const layerClient = ({
  maxConnections = 10,
  url
}: Options): Layer.Layer<SqlClient | PgClient.PgClient, SessionStoreError> => {
  const place = placeOf(url)
  if (place === undefined) {
    return Layer.fail(
      new SessionStoreError({
        reason: "unavailable",
        message: "expected a URL such as postgres://user@host:5432/database"
      })
    )
  }
  return PgClient.layer({
    url,
    maxConnections: Math.max(2, maxConnections),
    connectTimeout: "5 seconds",
    applicationName: "afterturn"
  }).pipe(
    Layer.mapError((error) => {
      const { message, reason } = fromSqlError(error)
      return new SessionStoreError({ reason, message: `expected PostgreSQL to let us in at ${place}: ${message}` })
    })
  )
}

/**
 * What may be shown of a URL: user, host, port and database. `undefined`: it is none of PostgreSQL's.
 *
 * @since 0.1.0
 * @category accessors
 */
export const placeOf = (url: Redacted.Redacted): string | undefined => {
  const text = Redacted.value(url)
  if (!URL.canParse(text)) return undefined
  const { host, pathname, protocol, username } = new URL(text)
  return /^postgres(ql)?:$/.test(protocol) ? `postgres://${username && `${username}@`}${host}${pathname}` : undefined
}
