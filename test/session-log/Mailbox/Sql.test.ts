import * as path from "node:path"
import { handler, Mailbox } from "@afterturn/session-log/Mailbox"
import * as Sql from "@afterturn/session-log/Mailbox/Sql"
import * as SqlStore from "@afterturn/session-log/SessionStore/Sql"
import * as Sqlite from "@afterturn/session-log/SessionStore/Sqlite"
import * as SqlClient from "@effect/sql/SqlClient"
import { SqliteClient } from "@effect/sql-sqlite-node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { contract } from "../../support/contracts/Mailbox.js"
import { freshId, given, notes, texts } from "../../support/contracts/SessionStore.js"
import { postgres, withPostgres } from "../../support/postgres.js"
import * as Temporary from "../../support/temporary.js"

contract("sqlite", Sql.layer().pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" }))))

withPostgres(() => contract("postgresql", Sql.layer().pipe(Layer.provideMerge(postgres))))

const Shout = { name: "shout", input: Schema.String, answer: Schema.String }

const rows = Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe("SELECT id, session FROM afterturn_mailbox"))

describe("the mailbox's table", () => {
  it.live("carries a command from one process's connection to another's, and is empty after", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* Temporary.folder, "sessions.db")
      const session = freshId()
      // Each with a connection of its own, as two processes have.
      const side = Layer.build(Layer.fresh(Sql.layer().pipe(Layer.provideMerge(Sqlite.layer({ filename })))))
      const [holder, sender] = [yield* side, yield* side]
      const loud = handler(Shout, (text) => Effect.succeed(text.toUpperCase()))
      yield* Effect.forkScoped(Context.get(holder, Mailbox).serve(session, [loud]))
      assert.strictEqual(yield* Context.get(sender, Mailbox).send(session, Shout, "hey"), "HEY")
      assert.deepStrictEqual(yield* Effect.provide(rows, holder), [])
    }).pipe(Effect.scoped)
  )

  it.scoped("does not hand out what a sender that died left behind, and sweeps it away", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const mailbox = yield* Mailbox
      const session = freshId()
      yield* sql.unsafe(`INSERT INTO afterturn_mailbox (id, session, command, created_at, expires_at)
        VALUES (-1, '${session}', '{"name":"shout","input":"stale"}', 0, 10000)`)
      yield* TestClock.setTime(10_000)
      const heard: Array<string> = []
      const hear = handler(Shout, (text) => Effect.sync(() => String(heard.push(text))))
      const serving = yield* Effect.fork(mailbox.serve(session, [hear]))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.interrupt(serving)
      assert.deepStrictEqual(heard, [])
      yield* TestClock.setTime(7_200_000)
      yield* Effect.forkScoped(mailbox.serve(session, [hear]))
      const sending = yield* Effect.fork(mailbox.send(session, Shout, "fresh"))
      while ((yield* sending.status)._tag !== "Done") yield* TestClock.adjust("50 millis")
      assert.deepStrictEqual(heard, ["fresh"])
      assert.deepStrictEqual(yield* rows, [])
    }).pipe(Effect.provide(Sql.layer().pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })))))
  )

  it.scoped("is there for a store that was opened before, and the other way round", () =>
    Effect.gen(function* () {
      yield* Effect.provide(Effect.void, SqlStore.layer())
      yield* Effect.provide(Effect.void, Sql.layer())
      yield* Effect.provide(Effect.void, SqlStore.layer())
      assert.deepStrictEqual(yield* rows, [])
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))
  )

  it.scoped("is added to a database of the first schema, which keeps its sessions", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const session = yield* Effect.provide(given(notes(2)), SqlStore.layer())
      yield* sql.unsafe("DROP TABLE afterturn_mailbox")
      yield* sql.unsafe("DROP TABLE afterturn_alarms")
      yield* sql.unsafe("DROP INDEX IF EXISTS afterturn_sessions_leased")
      yield* sql.unsafe("DELETE FROM afterturn_migrations WHERE migration_id > 1")
      yield* Effect.provide(Effect.void, Sql.layer())
      assert.deepStrictEqual(yield* rows, [])
      assert.deepStrictEqual(yield* Effect.provide(texts(session), SqlStore.layer()), ["n0", "n1"])
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))
  )
})
