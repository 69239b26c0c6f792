/** The database as a file: whether it may be opened, and how a new one comes into being. */

import * as fs from "node:fs/promises"
import * as path from "node:path"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import { SessionStoreError } from "../SessionStore.js"
import { schemaVersion, table } from "./migrations.js"
import { fromCause } from "./sqlErrors.js"
import { newerSchema, newestMigration } from "./sqlSchema.js"

const attempt = <A>(operation: () => Promise<A>): Effect.Effect<A, SessionStoreError> =>
  Effect.tryPromise({ try: operation, catch: fromCause })

const hasCode = (cause: unknown, ...codes: ReadonlyArray<string>): boolean =>
  typeof cause === "object" && cause !== null && "code" in cause && codes.includes(cause.code as string)

const notADatabase = (filename: string, found: string): SessionStoreError =>
  new SessionStoreError({
    reason: "not-a-database",
    message: `expected a session log database at ${filename}, ${found}; it was left untouched`
  })

/** The size of what is there, `undefined` when nothing is. */
const sizeOf = (filename: string): Effect.Effect<number | undefined, SessionStoreError> =>
  Effect.flatMap(
    attempt(async () => {
      try {
        return await fs.stat(filename)
      } catch (cause) {
        if (hasCode(cause, "ENOENT")) return undefined
        throw cause
      }
    }),
    (stats) =>
      stats === undefined || stats.isFile()
        ? Effect.succeed(stats?.size)
        : Effect.fail(notADatabase(filename, "it is no file"))
  )

const magic = Buffer.from("SQLite format 3\0", "latin1")

const hasMagic = (filename: string): Effect.Effect<boolean, SessionStoreError> =>
  attempt(async () => {
    const file = await fs.open(filename, "r")
    try {
      const { buffer } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0)
      return buffer.equals(magic)
    } finally {
      await file.close()
    }
  })

/** A connection that cannot write, so that neither reading nor closing changes the file. */
const storedVersion = (filename: string): number | undefined => {
  const database = new Sqlite(filename, { readonly: true, fileMustExist: true, timeout: 100 })
  try {
    const tables = database.prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?")
    if (tables.pluck().get(table) === 0) return undefined
    return Number(database.prepare(newestMigration).pluck().get() ?? 0)
  } finally {
    database.close()
  }
}

/** A crashed writer left a journal that only a writing connection may apply. */
const needsRecovery = (cause: unknown): boolean =>
  hasCode(cause, "SQLITE_READONLY_ROLLBACK", "SQLITE_READONLY_RECOVERY")

/** Brings the file back to its last commit, as any connection that may write does first of all. */
const recover = (filename: string): void => {
  const database = new Sqlite(filename, { fileMustExist: true, timeout: 100 })
  try {
    database.prepare("SELECT count(*) FROM sqlite_master").get()
  } finally {
    database.close()
  }
}

const recoveredVersion = (filename: string): number | undefined => {
  try {
    return storedVersion(filename)
  } catch (cause) {
    if (!needsRecovery(cause)) throw cause
    recover(filename)
    return storedVersion(filename)
  }
}

const checkSchema = (filename: string): Effect.Effect<void, SessionStoreError> =>
  Effect.flatMap(Effect.try({ try: () => recoveredVersion(filename), catch: fromCause }), (version) => {
    if (version === undefined) return Effect.fail(notADatabase(filename, "it is a database of another kind"))
    return version > schemaVersion ? Effect.fail(newerSchema(version)) : Effect.void
  })

/**
 * Whether a database is there. Anything else under its name is refused before it is touched: opening it for writing would make
 * a database of an empty file, apply a log, or move what the log holds into the file.
 */
export const inspect = Effect.fnUntraced(function* (filename: string): Effect.fn.Return<boolean, SessionStoreError> {
  const size = yield* sizeOf(filename)
  if (size === undefined) {
    for (const suffix of ["-wal", "-journal"]) {
      if (((yield* sizeOf(filename + suffix)) ?? 0) === 0 || (yield* sizeOf(filename)) !== undefined) continue
      // A new database would take the old one's log for its own.
      return yield* notADatabase(filename, `it is missing, but its log is there (${path.basename(filename)}${suffix})`)
    }
    return false
  }
  if (size === 0) return yield* notADatabase(filename, "it is empty")
  if (!(yield* hasMagic(filename))) return yield* notADatabase(filename, "it is none")
  yield* checkSchema(filename)
  return true
})

/** Folders that are missing are made for the user alone; those that are there stay as they are. */
export const makeFolder = (filename: string): Effect.Effect<void, SessionStoreError> =>
  attempt(() => fs.mkdir(path.dirname(filename), { recursive: true, mode: 0o700 }))

/**
 * Builds a new database in a folder of its own beside the file, and gives it its name when it is whole. Another process that
 * was faster keeps what it made.
 */
export const create = (
  filename: string,
  build: (temporary: string) => Effect.Effect<void, SessionStoreError>
): Effect.Effect<void, SessionStoreError> =>
  Effect.acquireUseRelease(
    attempt(() => fs.mkdtemp(path.join(path.dirname(filename), `.${path.basename(filename)}-`))),
    (folder) => {
      const temporary = path.join(folder, path.basename(filename))
      return attempt(() => fs.writeFile(temporary, "", { mode: 0o600, flag: "wx" })).pipe(
        Effect.zipRight(build(temporary)),
        Effect.zipRight(attempt(() => nameIt(temporary, filename)))
      )
    },
    // What is left of a temporary folder takes up space and is otherwise without effect.
    (folder) => Effect.ignore(attempt(() => fs.rm(folder, { recursive: true, force: true })))
  )

const nameIt = async (temporary: string, filename: string): Promise<void> => {
  try {
    await fs.link(temporary, filename)
  } catch (cause) {
    if (hasCode(cause, "EEXIST")) return
    if (!hasCode(cause, "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK")) throw cause
    await moveWithoutLinks(temporary, filename)
  }
  await syncFolder(path.dirname(filename))
}

/** Where there are no hard links: a rename replaces what is there, so it is done by one process at a time, after a look. */
const moveWithoutLinks = async (temporary: string, filename: string): Promise<void> => {
  const lock = `${filename}.creating`
  await fs.mkdir(lock).catch((cause: unknown) => {
    if (!hasCode(cause, "EEXIST")) throw cause
    throw new SessionStoreError({
      reason: "busy",
      message: `expected to create ${filename}, another process is at it; if none is, remove ${lock}`
    })
  })
  try {
    const taken = await fs.stat(filename).then(
      () => true,
      (cause: unknown) => {
        if (hasCode(cause, "ENOENT")) return false
        throw cause
      }
    )
    if (!taken) await fs.rename(temporary, filename)
  } finally {
    await fs.rmdir(lock)
  }
}

/** Makes the new name survive a power loss. Some systems cannot sync a folder: there the name is as durable as they make it. */
const syncFolder = async (folder: string): Promise<void> => {
  const handle = await fs.open(folder, "r").catch(() => undefined)
  if (handle === undefined) return
  try {
    await handle.sync().catch(() => undefined)
  } finally {
    await handle.close()
  }
}
