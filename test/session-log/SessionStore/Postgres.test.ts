import * as net from "node:net"
import { Host } from "@afterturn/session-log/Host"
import * as NodeHost from "@afterturn/session-log/Host/Node"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Postgres from "@afterturn/session-log/SessionStore/Postgres"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { freshSchemaUrl, withPostgres } from "../../support/postgres.js"
import { dataOf, events, logOf, notes, types } from "../../support/sessionLog.js"

/** What a process of its own is to the others: everything but its process id. */
const machine = (url: Redacted.Redacted, options?: SessionLog.SessionLogOptions) =>
  Layer.build(
    Layer.provideMerge(
      types,
      SessionLog.layerOver(Postgres.layer({ url, maxConnections: 3, busyTimeout: "20 seconds" }), {
        pollInterval: "1 hour",
        ...options
      })
    ).pipe(Layer.provide(NodeHost.layer))
  )

/** Between a client and the server; `cutCommit` takes the answer to the next COMMIT away, with the connection. */
const proxy = (url: Redacted.Redacted) =>
  Effect.gen(function* () {
    const target = new URL(Redacted.value(url))
    let cutting: "before" | "after" | undefined
    const server = net.createServer((client) => {
      const upstream = net.connect({ host: target.hostname, port: Number(target.port) })
      let isCut = false
      client.on("data", (data) => {
        if (cutting !== undefined && data.includes("COMMIT")) {
          isCut = true
          const wasBefore = cutting === "before"
          cutting = undefined
          if (wasBefore) {
            upstream.destroy()
            client.destroy()
            return
          }
        }
        upstream.write(data)
      })
      upstream.on("data", (data) => (isCut ? client.destroy() : client.write(data)))
      for (const [one, other] of [
        [client, upstream],
        [upstream, client]
      ] as const) {
        one.on("error", () => other.destroy())
        one.on("close", () => other.destroy())
      }
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () => Effect.sync(() => server.close())
    )
    const through = new URL(target)
    through.port = String((server.address() as net.AddressInfo).port)
    return {
      url: Redacted.make(through.href),
      cutCommit: (when: "before" | "after") =>
        Effect.sync(() => {
          cutting = when
        })
    }
  })

const cutAll = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = current_schema() AND pid <> pg_backend_pid()`
)

withPostgres(() => {
  describe("a session store on PostgreSQL", () => {
    it.scopedLive("tells other processes what was appended, without their poll", () =>
      Effect.gen(function* () {
        const url = yield* freshSchemaUrl
        const [here, there] = [yield* machine(url), yield* machine(url)]
        const { id } = yield* logOf(here).create()
        const first = yield* Deferred.make<void>()
        const following = yield* logOf(there)
          .changes(id)
          .pipe(
            Stream.tap(() => Deferred.succeed(first, undefined)),
            Stream.takeUntil(({ data }) => data === "last"),
            Stream.runCollect,
            Effect.fork
          )
        // What was told before the listener had its connection is not heard: told until it is.
        yield* logOf(here)
          .append(id, notes("again"))
          .pipe(Effect.delay("50 millis"), Effect.forever, Effect.raceFirst(Deferred.await(first)))
        yield* logOf(here).append(id, notes("last"))
        const heard = Array.from(yield* Fiber.join(following))
        assert.deepStrictEqual(
          heard.map(({ seq }) => seq),
          heard.map((_, index) => index)
        )
      })
    )

    it.scopedLive("stores each append once when every connection is cut, and hears of others again", () =>
      Effect.gen(function* () {
        const url = yield* freshSchemaUrl
        const [here, there] = [yield* machine(url), yield* machine(url, { pollInterval: "200 millis" })]
        const { id } = yield* logOf(here).create()
        const following = yield* logOf(there).changes(id).pipe(Stream.take(60), Stream.runCollect, Effect.fork)
        yield* Effect.forEach(
          Array.from({ length: 60 }, (_, index) => index),
          (index) =>
            Effect.zipRight(
              index % 20 === 10 ? Effect.provide(cutAll, there) : Effect.void,
              logOf(here).append(id, notes(index))
            )
        )
        const stored = Array.from({ length: 60 }, (_, index) => index)
        assert.deepStrictEqual(dataOf(yield* Effect.provide(events(id), there)), stored)
        assert.deepStrictEqual(dataOf(Array.from(yield* Fiber.join(following))), stored)
      })
    )

    for (const when of ["before", "after"] as const) {
      it.scopedLive(`stores an append once whose COMMIT was cut off ${when} the server had it`, () =>
        Effect.gen(function* () {
          const url = yield* freshSchemaUrl
          const cut = yield* proxy(url)
          const here = yield* machine(cut.url)
          const { id } = yield* logOf(here).create()
          yield* cut.cutCommit(when)
          yield* logOf(here).append(id, notes("once"))
          yield* logOf(here).append(id, notes("then"))
          assert.deepStrictEqual(dataOf(yield* Effect.provide(events(id), here)), ["once", "then"])
        })
      )
    }

    it.scopedLive("lets no machine write that was frozen while another took its session over", () =>
      Effect.gen(function* () {
        const url = yield* freshSchemaUrl
        // No heartbeat for an hour: what a frozen process is to others.
        const frozen = yield* machine(url, { leaseTtl: "2 hours", heartbeatInterval: "1 hour" })
        const other = yield* machine(url)
        const { id } = yield* logOf(frozen).create()
        const lease = yield* Context.get(frozen, SessionLeases).acquire(id)
        yield* logOf(frozen).append(id, notes("before"))
        const refused = yield* Effect.flip(logOf(other).append(id, notes("too early")))
        assert.strictEqual(refused._tag, "SessionLeased")
        yield* Effect.provide(
          Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE afterturn_sessions SET lease_expires_at = 0`),
          other
        )
        assert.deepStrictEqual(yield* Context.get(other, SessionLeases).expired(10), [id])
        yield* Context.get(other, SessionLeases).acquire(id)
        yield* logOf(other).append(id, notes("after"))
        const stale = yield* Effect.flip(logOf(frozen).append(id, notes("stale")))
        assert.strictEqual(stale._tag, "LeaseLost")
        assert.strictEqual((yield* lease.lost).sessionId, id)
        assert.deepStrictEqual(dataOf(yield* Effect.provide(events(id), other)), ["before", "after"])
      })
    )

    it.scopedLive("goes by the server's clock about leases, whatever the callers' clocks say", () =>
      Effect.gen(function* () {
        const url = yield* freshSchemaUrl
        const store = Context.get(yield* machine(url), SessionStore)
        const log = logOf(yield* machine(url))
        const { id } = yield* log.create()
        const self = (yield* Effect.provide(Host, NodeHost.layer)).self
        const ask = (now: number) =>
          store.acquireLease({ sessionId: id, holder: self, now, expiresAt: now + 60_000, replaces: undefined })
        const century = 3_155_760_000_000
        assert.deepInclude(yield* ask(0), { _tag: "acquired" })
        const late = yield* ask(century)
        assert.strictEqual(late._tag, "held")
        // In the time of who asks.
        if (late._tag === "held") assert.closeTo(late.lease.expiresAt, century + 60_000, 30_000)
        const stored = yield* store.commit([
          { sessionId: id, expectedSeq: undefined, epoch: undefined, now: century, events: [] }
        ])
        assert.strictEqual(stored[0]?._tag, "leased")
        assert.deepStrictEqual(yield* store.expiredLeases({ now: century, limit: 9 }), [])
        const present = Option.getOrThrow(yield* store.lease(id)).expiresAt
        assert.closeTo(present, Date.now() + 60_000, 30_000)
      })
    )
  })
})

describe("a session store on a PostgreSQL server that is not there", () => {
  it.scopedLive("says where it looked, and never a password", () =>
    Effect.gen(function* () {
      const attempt = (url: string) =>
        Effect.flip(Effect.scoped(Layer.build(Postgres.layer({ url: Redacted.make(url) }))))
      const refused = yield* attempt("postgres://someone:hidden@127.0.0.1:1/nowhere")
      assert.match(
        refused.message,
        /^expected PostgreSQL to let us in at postgres:\/\/someone@127\.0\.0\.1:1\/nowhere: .*ECONNREFUSED/
      )
      const wrong = yield* attempt("mysql://someone:hidden@host/nowhere")
      assert.match(wrong.message, /expected a URL such as postgres:/)
      for (const error of [refused, wrong]) assert.notInclude(JSON.stringify(error) + String(error.cause), "hidden")
    })
  )
})
