import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import fsPromises from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import * as path from "node:path"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Sqlite from "@afterturn/session-log/SessionStore/Sqlite"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import BetterSqlite from "better-sqlite3"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"
import { contract, event, given, notes, request, texts } from "../../support/contracts/SessionStore.js"
import { agreesWithMemory } from "../../support/contracts/SessionStoreAgreement.js"
import { folder as temporaryFolder } from "../../support/temporary.js"

const inTemporaryFile = (options?: Partial<Sqlite.Options>) =>
  Layer.unwrapScoped(
    Effect.map(temporaryFolder, (folder) => Sqlite.layer({ filename: path.join(folder, "sessions.db"), ...options }))
  )

contract("SQLite in a file", inTemporaryFile())
contract("SQLite in memory", Sqlite.layer({ filename: ":memory:" }))
contract(
  "SQLite with a rollback journal",
  inTemporaryFile({ fileSystem: () => Effect.succeed({ name: "nfs", local: false }) }).pipe(
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )
)
agreesWithMemory("SQLite in a file", inTemporaryFile(), 50)

type Services = SessionStore | SqlClient.SqlClient | Sqlite.SqliteInfo

/** Opens, uses and closes. */
const using = <A, E>(
  options: Sqlite.Options,
  use: Effect.Effect<A, E, Services | Scope.Scope>
): Effect.Effect<A, E | SessionStoreError> => Effect.scoped(use).pipe(Effect.provide(Sqlite.layer(options)))

const opened = (options: Sqlite.Options) => using(options, SqlClient.SqlClient)

const failure = (options: Sqlite.Options) => Effect.flip(using(options, Effect.void))

/** A database with a session of two events in it. */
const makeDatabase = Effect.fnUntraced(function* (folder: string) {
  const filename = path.join(folder, "sessions.db")
  const id = yield* using({ filename }, given(notes(2)))
  return { filename, id }
})

const hash = (filename: string) => createHash("sha256").update(fs.readFileSync(filename)).digest("hex")

const mode = (filename: string) => fs.statSync(filename).mode & 0o777

const pragma = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql.unsafe<Record<string, unknown>>(`PRAGMA ${name}`)
  return Object.values(rows[0] ?? {})[0]
})

const raw = <A>(filename: string, use: (database: BetterSqlite.Database) => A): A => {
  const database = new BetterSqlite(filename)
  try {
    return use(database)
  } finally {
    database.close()
  }
}

/** Runs with the log lines that it leaves. */
const logged = <A, E, R>(effect: Effect.Effect<A, E, R>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    lines.push(`${logLevel.label} ${String(message)}`)
  })
  return Effect.map(Effect.provide(effect, Logger.replace(Logger.defaultLogger, logger)), (value) => ({ value, lines }))
}

/** As on a file system that knows no hard links. `meanwhile` is what another process does just then. */
const withoutLinks = (meanwhile: (name: string) => void = () => {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { link } = fsPromises
      fsPromises.link = (_, name) => {
        meanwhile(String(name))
        return Promise.reject(Object.assign(new Error("operation not permitted, link"), { code: "EPERM" }))
      }
      syncBuiltinESMExports()
      return link
    }),
    (link) =>
      Effect.sync(() => {
        fsPromises.link = link
        syncBuiltinESMExports()
      })
  )

const mount = (folder: string): void => {
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=3m", "tmpfs", folder], { stdio: "ignore" })
}

const unmount = (folder: string): void => {
  execFileSync("umount", [folder], { stdio: "ignore" })
}

const canMount = await Effect.runPromise(
  Effect.scoped(
    Effect.flatMap(temporaryFolder, (folder) =>
      Effect.isSuccess(
        Effect.try(() => {
          mount(folder)
          unmount(folder)
        })
      )
    )
  )
)

/** A file system of three megabytes. */
const smallDisk = Effect.flatMap(temporaryFolder, (folder) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      mount(folder)
      return folder
    }),
    () => Effect.sync(() => unmount(folder))
  )
)

/** As a user that may not do everything. */
const asNobody = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  process.geteuid?.() !== 0
    ? effect
    : Effect.acquireUseRelease(
        Effect.sync(() => process.seteuid?.(65_534)),
        () => effect,
        () => Effect.sync(() => process.seteuid?.(0))
      )

describe("a new database", () => {
  it.scoped("is for its user alone, with its folder and its log", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const filename = path.join(folder, "a", "b", "sessions.db")
      yield* using(
        { filename },
        Effect.gen(function* () {
          yield* given(notes(1))
          assert.strictEqual(mode(path.join(folder, "a")), 0o700)
          assert.strictEqual(mode(path.join(folder, "a", "b")), 0o700)
          for (const suffix of ["", "-wal", "-shm"]) assert.strictEqual(mode(filename + suffix), 0o600)
        })
      )
      assert.deepStrictEqual(fs.readdirSync(path.dirname(filename)), ["sessions.db"])
    })
  )

  it.scoped("leaves the folder that is there as it is", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      fs.chmodSync(folder, 0o755)
      yield* opened({ filename: path.join(folder, "sessions.db") })
      assert.strictEqual(mode(folder), 0o755)
    })
  )

  it.scoped("appears whole or not at all when its making is interrupted", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const filename = path.join(folder, "sessions.db")
      // The file gets its name in one step: at each of these points there is none, or one that can be used.
      for (let turns = 0; turns < 12; turns++) {
        const fiber = yield* Effect.fork(opened({ filename }))
        for (let turn = 0; turn < turns; turn++) yield* Effect.promise(() => new Promise(setImmediate))
        yield* Fiber.interrupt(fiber)
        if (!fs.existsSync(filename)) {
          assert.deepStrictEqual(fs.readdirSync(folder), [])
          continue
        }
        assert.isAbove(
          raw(filename, (database) => database.prepare("SELECT 1 FROM afterturn_migrations").all().length),
          0
        )
        for (const name of fs.readdirSync(folder)) fs.rmSync(path.join(folder, name))
      }
    })
  )

  it.scoped("is made once by several that start at the same time", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const filename = path.join(folder, "sessions.db")
      const stores = yield* Effect.all(
        Array.from({ length: 4 }, () => Layer.build(Layer.fresh(Sqlite.layer({ filename })))),
        { concurrency: "unbounded" }
      )
      const id = yield* Effect.provide(given(notes(1)), stores[0]!)
      for (const store of stores) assert.deepStrictEqual(yield* Effect.provide(texts(id), store), ["n0"])
      assert.deepStrictEqual(
        fs.readdirSync(folder).filter((name) => name.startsWith(".")),
        []
      )
    })
  )

  it.scopedLive("is made once where there are no hard links, and waits for a maker that was killed to be cleared", () =>
    Effect.gen(function* () {
      yield* withoutLinks()
      const folder = yield* temporaryFolder
      const filename = path.join(folder, "sessions.db")
      const stores = yield* Effect.all(
        Array.from({ length: 4 }, () => Layer.build(Layer.fresh(Sqlite.layer({ filename })))),
        { concurrency: "unbounded" }
      )
      const id = yield* Effect.provide(given(notes(1)), stores[0]!)
      for (const store of stores) assert.deepStrictEqual(yield* Effect.provide(texts(id), store), ["n0"])
      const second = path.join(folder, "second.db")
      fs.mkdirSync(`${second}.creating`)
      const error = yield* failure({ filename: second, busyTimeout: "50 millis" })
      assert.strictEqual(error.reason, "busy")
      assert.include(error.message, "second.db.creating")
      assert.deepStrictEqual(
        fs.readdirSync(folder).filter((name) => name.startsWith(".")),
        []
      )
    })
  )

  it.scoped("takes the place of no other's where there are no hard links", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const made = yield* makeDatabase(folder)
      const filename = path.join(folder, "new.db")
      yield* withoutLinks((name) => fs.copyFileSync(made.filename, name))
      assert.deepStrictEqual(yield* using({ filename }, texts(made.id)), ["n0", "n1"])
    })
  )

  it.scoped("is not made beside the log of a lost one", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const filename = path.join(folder, "sessions.db")
      fs.writeFileSync(`${filename}-wal`, "frames")
      const error = yield* failure({ filename })
      assert.strictEqual(error.reason, "not-a-database")
      assert.include(error.message, "sessions.db-wal")
      assert.deepStrictEqual(fs.readdirSync(folder), ["sessions.db-wal"])
    })
  )

  it.scoped.skipIf(process.platform !== "linux")("is refused in a folder that cannot be made", () =>
    Effect.gen(function* () {
      const error = yield* failure({ filename: "/proc/nowhere/deeper/sessions.db" })
      assert.include(["unavailable", "read-only"], error.reason)
    })
  )

  it.scoped("is refused in a folder that cannot be written", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      fs.chmodSync(folder, 0o555)
      const error = yield* asNobody(failure({ filename: path.join(folder, "sessions.db") }))
      assert.strictEqual(error.reason, "read-only")
    })
  )
})

describe("a file that is no session log", () => {
  const refuses = (
    name: string,
    reason: SessionStoreError["reason"],
    spoil: (filename: string) => void,
    message: RegExp
  ) =>
    it.scoped(`is refused and left as it is: ${name}`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const { filename } = yield* makeDatabase(folder)
        spoil(filename)
        const before = hash(filename)
        const error = yield* failure({ filename })
        assert.strictEqual(error.reason, reason)
        assert.match(error.message, message)
        assert.strictEqual(hash(filename), before)
      })
    )

  const overwrite = (filename: string, bytes: Uint8Array, position: number) => {
    const file = fs.openSync(filename, "r+")
    fs.writeSync(file, bytes, 0, bytes.length, position)
    fs.closeSync(file)
  }

  refuses("an empty file", "not-a-database", (filename) => fs.truncateSync(filename), /it is empty/)
  refuses("text", "not-a-database", (filename) => fs.writeFileSync(filename, "hello ".repeat(50)), /it is none/)
  refuses("a zeroed header", "not-a-database", (filename) => overwrite(filename, new Uint8Array(100), 0), /it is none/)
  refuses(
    "a header that says nonsense",
    "not-a-database",
    (filename) => overwrite(filename, new Uint8Array(84).fill(0xff), 16),
    /expected a session log database/
  )
  refuses("a cut-off file", "not-a-database", (filename) => fs.truncateSync(filename, 4096), /expected a session log/)
  refuses(
    "another program's database",
    "not-a-database",
    (filename) => {
      fs.rmSync(filename)
      raw(filename, (database) => database.exec("CREATE TABLE cookies (name TEXT)"))
    },
    /a database of another kind/
  )
  refuses(
    "a newer schema",
    "newer-schema",
    (filename) => {
      raw(filename, (database) =>
        database.exec("INSERT INTO afterturn_migrations (migration_id, name) VALUES (9, 'x')")
      )
    },
    /schema 9.*up to 4/
  )
  refuses(
    "a newer schema that is still in the log of a crashed process",
    "newer-schema",
    (filename) => {
      const copy = `${filename}.copy`
      raw(filename, (database) => {
        database.exec("INSERT INTO afterturn_migrations (migration_id, name) VALUES (9, 'x')")
        fs.copyFileSync(filename, copy)
        fs.copyFileSync(`${filename}-wal`, `${copy}-wal`)
      })
      fs.renameSync(copy, filename)
      fs.renameSync(`${copy}-wal`, `${filename}-wal`)
    },
    /schema 9.*up to 4/
  )

  it.scoped("is refused: a folder", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const error = yield* failure({ filename: folder })
      assert.strictEqual(error.reason, "not-a-database")
    })
  )

  it.scoped("is refused: one that cannot be written", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const { filename } = yield* makeDatabase(folder)
      fs.chmodSync(folder, 0o777)
      fs.chmodSync(filename, 0o444)
      const before = hash(filename)
      const error = yield* asNobody(failure({ filename }))
      assert.strictEqual(error.reason, "read-only")
      assert.strictEqual(hash(filename), before)
    })
  )
})

describe("an older schema", () => {
  /** A database from before the first migration, with a table of someone else in it. */
  const older = (filename: string, more = "") =>
    raw(filename, (database) =>
      database.exec(`CREATE TABLE afterturn_migrations (migration_id INTEGER PRIMARY KEY NOT NULL,
        created_at datetime NOT NULL DEFAULT current_timestamp, name VARCHAR(255) NOT NULL);
        CREATE TABLE kept (value TEXT); INSERT INTO kept VALUES ('content'); ${more}`)
    )

  const objects = (filename: string) =>
    raw(filename, (database) => database.prepare("SELECT name FROM sqlite_master ORDER BY name").pluck().all())

  it.scoped("is migrated and keeps its content", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      older(filename)
      const id = yield* using({ filename }, given(notes(1)))
      assert.deepStrictEqual(yield* using({ filename }, texts(id)), ["n0"])
      assert.strictEqual(
        raw(filename, (database) => database.prepare("SELECT value FROM kept").pluck().get()),
        "content"
      )
    })
  )

  it.scoped("stays as it was when a migration fails", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      older(filename, "CREATE TABLE afterturn_snapshots (in_the_way TEXT)")
      const before = objects(filename)
      yield* failure({ filename })
      assert.deepStrictEqual(objects(filename), before)
      assert.strictEqual(
        raw(filename, (database) => database.prepare("SELECT count(*) FROM afterturn_migrations").pluck().get()),
        0
      )
    })
  )
})

describe("how a database is open", () => {
  it.scoped("is the same on the run that makes the file and on those after it", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      for (const durability of [undefined, "normal", "full", "full"] as const) {
        yield* using(
          { filename, ...(durability === undefined ? {} : { durability }) },
          Effect.gen(function* () {
            assert.strictEqual(yield* pragma("synchronous"), durability === "full" ? 2 : 1)
            assert.strictEqual(yield* pragma("journal_mode"), "wal")
            assert.strictEqual(yield* pragma("foreign_keys"), 1)
            assert.strictEqual(yield* pragma("busy_timeout"), 100)
            assert.strictEqual(yield* pragma("journal_size_limit"), 64 * 1024 * 1024)
            assert.deepStrictEqual(yield* Sqlite.SqliteInfo, {
              filename,
              fileSystem: (yield* Sqlite.SqliteInfo).fileSystem,
              journalMode: "wal",
              synchronous: durability ?? "normal",
              schemaVersion: 4
            })
          })
        )
      }
    })
  )

  it.scoped("is without a write-ahead log on a file system of several machines, and says so", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      const probed: Array<string> = []
      const fileSystem = (folder: string) => {
        probed.push(folder)
        return Effect.succeed({ name: "9p", local: false })
      }
      const use = Effect.gen(function* () {
        const id = yield* given(notes(1))
        assert.strictEqual(yield* pragma("journal_mode"), "delete")
        assert.isFalse(fs.existsSync(`${filename}-wal`))
        return { id, info: yield* Sqlite.SqliteInfo }
      })
      const { lines, value } = yield* logged(using({ filename, fileSystem }, use))
      assert.deepStrictEqual(probed, [path.dirname(filename)])
      assert.deepInclude(value.info, {
        fileSystem: { name: "9p", local: false },
        journalMode: "delete",
        synchronous: "full"
      })
      assert.lengthOf(
        lines.filter((line) => /^WARN.*9p file system.*rollback journal/.test(line)),
        1
      )
      assert.deepStrictEqual(yield* using({ filename }, texts(value.id)), ["n0"])
    })
  )

  it.scoped("gives up the write-ahead log of a database that was moved to such a file system", () =>
    Effect.gen(function* () {
      const { filename, id } = yield* makeDatabase(yield* temporaryFolder)
      const fileSystem = () => Effect.succeed({ name: "nfs", local: false })
      const { value } = yield* logged(using({ filename, fileSystem }, Effect.all([texts(id), pragma("journal_mode")])))
      assert.deepStrictEqual(value, [["n0", "n1"], "delete"])
    })
  )

  it.scoped("finds this machine's own disk local", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      const info = yield* using({ filename }, Sqlite.SqliteInfo)
      assert.isTrue(info.fileSystem.local)
    })
  )

  it.scoped("lets others keep tables beside it, in transactions that begin with the lock", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      yield* using(
        { filename },
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`CREATE TABLE mine (value INTEGER)`
          yield* sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`SELECT * FROM mine`
              const blocked = raw(filename, (other) => {
                other.pragma("busy_timeout = 0")
                return Effect.runSync(Effect.flip(Effect.try(() => other.exec("BEGIN IMMEDIATE"))))
              })
              assert.include(String(blocked.error), "locked")
              yield* sql`INSERT INTO mine VALUES (1)`
            })
          )
          assert.deepStrictEqual(yield* sql`SELECT value FROM mine`, [{ value: 1 }])
        })
      )
    })
  )
})

describe("the write-ahead log", () => {
  const limit = 256 * 1024

  const append = (id: Parameters<typeof request>[0], rounds: number) =>
    Effect.gen(function* () {
      const store = yield* SessionStore
      for (let round = 0; round < rounds; round++) {
        yield* store.commit([
          request(
            id,
            Array.from({ length: 20 }, () => event("x".repeat(2_000)))
          )
        ])
      }
    })

  it.scoped("is pinned by no read between two pages, and shrinks once a reader elsewhere is done", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      const walSize = () => fs.statSync(`${filename}-wal`).size
      yield* using(
        { filename, journalSizeLimit: limit },
        Effect.gen(function* () {
          const id = yield* given(notes(300))
          const store = yield* SessionStore
          const page = { fromSeq: 0, toSeq: 1_000_000, types: undefined, limit: 10, maxBytes: 1_000_000 }
          assert.lengthOf(yield* store.read(id, page), 10)
          const checkpoint = raw(filename, (other) => other.pragma("wal_checkpoint(TRUNCATE)"))
          assert.deepInclude((checkpoint as ReadonlyArray<unknown>)[0], { busy: 0 })

          const reader = new BetterSqlite(filename)
          reader.exec("BEGIN")
          reader.prepare("SELECT count(*) FROM afterturn_events").get()
          yield* append(id, 120)
          assert.isAbove(walSize(), 10 * limit)
          reader.close()
          // The first moves the log into the database, the second begins it anew.
          for (const text of ["a", "b"]) yield* store.commit([request(id, [event(text)])])
          assert.isAtMost(walSize(), limit)
          assert.lengthOf(yield* store.read(id, { ...page, fromSeq: 10 }), 10)
        })
      )
      assert.isFalse(fs.existsSync(`${filename}-wal`))
    })
  )

  it.scoped("is moved into the database at close, though others have it open", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      yield* opened({ filename })
      const other = new BetterSqlite(filename)
      other.prepare("SELECT count(*) FROM afterturn_events").get()
      yield* using({ filename }, given(notes(50)))
      assert.strictEqual(fs.statSync(`${filename}-wal`).size, 0)
      other.close()
    })
  )

  it.scoped("is warned of, once, when it grows far beyond its limit", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      const use = Effect.gen(function* () {
        const id = yield* given(notes(1))
        const reader = new BetterSqlite(filename)
        reader.exec("BEGIN")
        reader.prepare("SELECT count(*) FROM afterturn_events").get()
        yield* Effect.repeatN(append(id, 1), 500)
        reader.close()
      })
      const { lines } = yield* logged(using({ filename, journalSizeLimit: 16 * 1024 }, use))
      assert.lengthOf(
        lines.filter((line) => /^WARN.*has grown to \d+ bytes/.test(line)),
        1
      )
    })
  )
})

describe("a full disk", () => {
  const appendUntilFull = Effect.fnUntraced(function* (id: Parameters<typeof request>[0]) {
    const store = yield* SessionStore
    for (let batch = 0; batch < 5_000; batch++) {
      const result = yield* Effect.either(
        store.commit([
          request(
            id,
            Array.from({ length: 3 }, (_, part) => event(`${batch}.${part}${"x".repeat(3_000)}`))
          )
        ])
      )
      if (result._tag === "Left") return { batches: batch, error: result.left }
    }
    return assert.fail("the disk was never full")
  })

  const isWhole = Effect.fnUntraced(function* (id: Parameters<typeof request>[0], batches: number) {
    const store = yield* SessionStore
    const header = yield* Effect.flatten(store.header(id))
    assert.strictEqual(header.lastSeq, batches * 3 - 1)
    const stored = yield* texts(id, { limit: 20_000 })
    assert.lengthOf(stored, batches * 3)
    assert.match(stored[stored.length - 1]!, new RegExp(`^${batches - 1}\\.2x`))
  })

  /** Runs until the disk is full, checks what is there, makes room and goes on. */
  const fillUp = <E>(options: Sqlite.Options, fill: Effect.Effect<unknown, E, Services>, makeRoom: typeof fill) =>
    using(
      options,
      Effect.gen(function* () {
        const id = yield* given([])
        yield* fill
        const { batches, error } = yield* appendUntilFull(id)
        assert.strictEqual(error.reason, "full")
        assert.isAbove(batches, 3)
        yield* isWhole(id, batches)
        yield* makeRoom
        const store = yield* SessionStore
        const again = yield* store.commit([request(id, notes(1))])
        assert.deepStrictEqual(again, [{ _tag: "committed", firstSeq: batches * 3 }])
      })
    )

  it.scoped("fails the append, keeps what is stored, and works again when the database may grow", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      yield* fillUp({ filename }, pragma("max_page_count = 200"), pragma("max_page_count = 100000"))
    })
  )

  // Only the superuser can make a small disk; others have the test before.
  if (canMount) {
    it.scoped("fails the append, keeps what is stored, and works again when the disk has room", () =>
      Effect.gen(function* () {
        const folder = yield* smallDisk
        const ballast = path.join(folder, "ballast")
        fs.writeFileSync(ballast, new Uint8Array(500_000))
        const filename = path.join(folder, "sessions.db")
        yield* fillUp(
          { filename },
          Effect.void,
          Effect.sync(() => fs.rmSync(ballast))
        )
      })
    )
  }
})

describe("large events", () => {
  it.scoped("of fifty megabytes are stored, and loaded when their turn has come only", () =>
    Effect.gen(function* () {
      const filename = path.join(yield* temporaryFolder, "sessions.db")
      yield* using(
        { filename },
        Effect.gen(function* () {
          const store = yield* SessionStore
          const large = "x".repeat(50_000_000)
          const id = yield* given([event("before"), event(large), event("after")])
          const page = { fromSeq: 0, toSeq: 9, types: undefined, limit: 256, maxBytes: 5 }
          assert.deepStrictEqual(
            (yield* store.read(id, page)).map((found) => found.seq),
            [0]
          )
          const second = yield* store.read(id, { ...page, fromSeq: 1 })
          assert.deepStrictEqual(
            second.map((found) => found.seq),
            [1]
          )
          assert.isTrue(second[0]!.data === `"${large}"`)
          assert.deepStrictEqual(yield* texts(id, { fromSeq: 2 }), ["after"])
        })
      )
    })
  )
})

describe("a defect of the driver", () => {
  it.effect("is a failure of the store", () =>
    Effect.gen(function* () {
      const error = yield* failure({ filename: "/proc/version/sessions.db" })
      assert.strictEqual(error._tag, "SessionStoreError")
    }).pipe(Effect.catchAllCause((cause) => Effect.sync(() => assert.fail(Cause.pretty(cause)))))
  )
})
