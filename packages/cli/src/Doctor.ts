/**
 * What the command needs in order to work, looked at one by one.
 *
 * @since 0.1.0
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { parseRoute } from "@afterturn/agent/AgentModel"
import { Host } from "@afterturn/session-log/Host"
import * as NodeHost from "@afterturn/session-log/Host/Node"
import * as Instant from "@afterturn/session-log/Instant"
import type { StoredHeader, StoredLease } from "@afterturn/session-log/SessionStore"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as SqliteStore from "@afterturn/session-log/SessionStore/Sqlite"
import { FileSystem } from "@effect/platform/FileSystem"
import type { Path } from "@effect/platform/Path"
import * as SqlClient from "@effect/sql/SqlClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { outputFolder } from "./Compose/Jobs.js"
import * as Database from "./Database.js"

/**
 * What was found of one thing. `detail` is one line: what is there, or what is wrong and what to do about it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Finding {
  readonly check: string
  readonly ok: boolean
  readonly detail: string
}

/**
 * Looks at everything. Never fails: what cannot be looked at is a finding. A database that is not there is not made.
 *
 * @since 0.1.0
 * @category accessors
 */
export const examine = (db: string): Effect.Effect<ReadonlyArray<Finding>, never, FileSystem | Path> =>
  Effect.map(
    Effect.all([Effect.succeed([node(process.versions.node)]), database(db), disk(db), spool(db), models, zones]),
    (findings) => findings.flat()
  )

const finding = (check: string, ok: boolean, detail: string): Finding => ({ check, ok, detail })

const oldestNode = 20

/**
 * @since 0.1.0
 * @category accessors
 */
export const node = (version: string): Finding =>
  Number.parseInt(version, 10) >= oldestNode
    ? finding("node", true, version)
    : finding("node", false, `${version}; expected ${oldestNode} or newer`)

const database = (db: string): Effect.Effect<ReadonlyArray<Finding>, never, FileSystem> =>
  Effect.gen(function* () {
    const named = Database.target(db)
    if (!(yield* Database.exists(db))) {
      // A Node that the native module was not built for is found out here, not by the first run.
      const version = yield* Effect.provide(engine, SqliteStore.layer({ filename: ":memory:" }))
      return [
        finding("database", true, `none yet at ${Database.shown(db)}; the first run makes it (SQLite ${version})`)
      ]
    }
    if (named._tag === "Server") {
      const { layer } = yield* Effect.promise(() => import("@afterturn/session-log/SessionStore/Postgres"))
      return yield* Effect.provide(
        Effect.all([version(named.place), leases]),
        Layer.merge(layer({ url: named.url }), NodeHost.layer)
      )
    }
    return yield* Effect.provide(
      Effect.all([integrity(named.file), leases]),
      Layer.merge(SqliteStore.layer({ filename: named.file }), NodeHost.layer)
    )
  }).pipe(
    Effect.catchTag("SqlError", (error) => Effect.fail({ message: String(error.cause) })),
    Effect.catchAll(({ message }) => Effect.succeed([finding("database", false, message)]))
  )

const engine = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql.unsafe<{ readonly version: string }>("SELECT sqlite_version() AS version")
  return row?.version ?? "unknown"
})

const integrity = (db: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const info = yield* SqliteStore.SqliteInfo
    const [row] = yield* sql.unsafe<{ readonly integrity_check: string }>("PRAGMA integrity_check(1)")
    const fault = row?.integrity_check === "ok" ? undefined : (row?.integrity_check ?? "no answer")
    const kind = `SQLite ${yield* engine}, schema ${info.schemaVersion}, ${info.journalMode} on ${info.fileSystem.name}`
    return fault === undefined
      ? finding("database", true, `${db} is sound (${kind})`)
      : finding(
          "database",
          false,
          `${db} is damaged: ${fault}; restore a copy, or export what \`sessions verify\` finds sound`
        )
  }).pipe(Effect.catchTag("SqlError", ({ cause }) => Effect.succeed(finding("database", false, `${db}: ${cause}`))))

const version = (place: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [server] = yield* sql.unsafe<{ readonly server_version: string }>("SHOW server_version")
    return finding("database", true, `${place} answers (PostgreSQL ${server?.server_version})`)
  }).pipe(Effect.catchTag("SqlError", ({ cause }) => Effect.succeed(finding("database", false, `${place}: ${cause}`))))

const pageSize = 500

/** Every session, a page at a time. */
const headers = Effect.gen(function* () {
  const store = yield* SessionStore
  const all: Array<StoredHeader> = []
  for (;;) {
    const page = yield* store.list({ after: all.at(-1), limit: pageSize, cwd: undefined, parent: undefined })
    all.push(...page)
    if (page.length < pageSize) return all
  }
})

const leases = Effect.gen(function* () {
  const store = yield* SessionStore
  const host = yield* Host
  const now = yield* Clock.currentTimeMillis
  const all = yield* headers
  const rows = (yield* Effect.forEach(all, ({ id }) => store.lease(id))).flatMap(Option.toArray)
  const held = rows.filter(({ expiresAt }) => expiresAt > now)
  const dead = yield* Effect.filter(held, host.isDead)
  const names = (some: ReadonlyArray<StoredLease>) =>
    some
      .slice(0, 5)
      .map(
        ({ expiresAt, host, pid, sessionId }) =>
          `${sessionId} by ${host} (pid ${pid}) until ${Instant.format(expiresAt)}`
      )
      .concat(some.length > 5 ? [`and ${some.length - 5} more`] : [])
      .join(", ")
  const driven = held.length === 0 ? "none is driven" : `driven: ${names(held)}`
  // Whoever resumes such a session replaces the holder at once.
  const left = dead.length === 0 ? "" : `; ${dead.length} of them by processes that are gone`
  return finding("sessions", true, `${all.length} sessions, ${driven}${left}`)
})

const leastFree = 100 * 1024 * 1024

/** The folder that a file is in or will be in, as far as it exists. */
const standing = (folder: string): string => {
  const parent = path.dirname(folder)
  return fs.existsSync(folder) || parent === folder ? folder : standing(parent)
}

const disk = (db: string): Effect.Effect<ReadonlyArray<Finding>> =>
  db === ":memory:" || Database.target(db)._tag === "Server"
    ? Effect.succeed([])
    : Effect.try(() => {
        const folder = standing(path.dirname(path.resolve(Database.shown(db))))
        const { bavail, bsize } = fs.statfsSync(folder)
        const free = bavail * bsize
        return free >= leastFree
          ? finding("disk", true, `${mebibytes(free)} free at ${folder}`)
          : finding("disk", false, `${mebibytes(free)} free at ${folder}; nothing can be stored once it is full`)
      }).pipe(
        Effect.map((found) => [found]),
        Effect.catchAll(({ error }) => Effect.succeed([finding("disk", false, `cannot be looked at: ${error}`)]))
      )

const spool = (db: string): Effect.Effect<ReadonlyArray<Finding>, never, FileSystem | Path> =>
  Effect.gen(function* () {
    const folder = yield* outputFolder(db)
    if (folder === undefined) return []
    const files = yield* FileSystem
    if (!(yield* files.exists(folder))) return [finding("job output", true, `none at ${folder}`)]
    const names = yield* files.readDirectory(folder, { recursive: true })
    const stats = yield* Effect.forEach(names, (name) => Effect.option(files.stat(path.join(folder, name))))
    const kept = stats.flatMap(Option.toArray).filter(({ type }) => type === "File")
    const size = kept.reduce((sum, file) => sum + Number(file.size), 0)
    return [finding("job output", true, `${kept.length} files, ${mebibytes(size)} at ${folder}`)]
  }).pipe(Effect.catchAll((error) => Effect.succeed([finding("job output", false, error.message)])))

const mebibytes = (bytes: number): string => `${(bytes / (1024 * 1024)).toFixed(1)} MiB`

const keys = { anthropic: "ANTHROPIC_API_KEY", openai: "OPENAI_API_KEY" } as const

/** Whether keys are there, never what they are. */
const models: Effect.Effect<ReadonlyArray<Finding>> = Effect.gen(function* () {
  const present = yield* Effect.filter(Object.values(keys), (name) =>
    Effect.map(Database.variable(name), Option.isSome)
  )
  const route = Option.getOrUndefined(yield* Database.variable("AFTERTURN_MODEL"))
  const known =
    present.length === 0 ? `neither ${Object.values(keys).join(" nor ")} is set` : `${present.join(" and ")} set`
  if (route === undefined) return [finding("models", true, known)]
  const parsed = parseRoute(route)
  if (Either.isLeft(parsed)) return [finding("models", false, `AFTERTURN_MODEL: ${parsed.left.message}`)]
  const { provider } = parsed.right
  const needed = provider === "scripted" ? undefined : keys[provider]
  return [
    needed === undefined || present.includes(needed)
      ? finding("models", true, `AFTERTURN_MODEL is ${route}; ${known}`)
      : finding("models", false, `AFTERTURN_MODEL is ${route}, which needs ${needed}: it is not set`)
  ]
})

/** Zones of which a runtime without full zone data has none. */
const samples = ["Europe/Berlin", "America/New_York", "Asia/Kolkata"]

const zones: Effect.Effect<ReadonlyArray<Finding>> = Effect.sync(() => {
  const missing = samples.filter((zone) => !knows(zone))
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone
  return [
    missing.length === 0
      ? finding(
          "time zones",
          true,
          `${Intl.supportedValuesOf("timeZone").length} known, ${process.versions.tz}; here it is ${own}`
        )
      : finding("time zones", false, `${missing.join(", ")} unknown; reminders need a Node with full ICU data`)
  ]
})

const knows = (timeZone: string): boolean => {
  try {
    return Intl.DateTimeFormat("en", { timeZone }).resolvedOptions().timeZone !== ""
  } catch {
    return false
  }
}
