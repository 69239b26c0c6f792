/**
 * Where the database is.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { CliError } from "./CliError.js"
import { usage } from "./CliError.js"

/**
 * What a `--db` names. `place` of a server is its URL without the password and other parameters, which nobody is shown.
 *
 * @since 0.1.0
 * @category models
 */
export type Target =
  | { readonly _tag: "File"; readonly file: string }
  | { readonly _tag: "Server"; readonly url: Redacted.Redacted; readonly place: string }

/**
 * A server for `postgres://…`, `postgresql://…` and `postgres:postgres://…`, a file for `sqlite:FILE` and anything else.
 *
 * @since 0.1.0
 * @category accessors
 */
export const target = (db: string): Target => {
  const url = serverUrl(db)
  return url === undefined
    ? { _tag: "File", file: db.replace(/^sqlite:/, "") }
    : {
        _tag: "Server",
        url: Redacted.make(url.href),
        place: `postgres://${url.username && `${url.username}@`}${url.host}${url.pathname}`
      }
}

const server = /^postgres(ql)?:/

const serverUrl = (db: string): URL | undefined => {
  const text = server.test(db) ? db.replace(/^postgres(ql)?:(?!\/\/)/, "") : ""
  return server.test(text) && URL.canParse(text) ? new URL(text) : undefined
}

/**
 * A database as people may see it.
 *
 * @since 0.1.0
 * @category accessors
 */
export const shown = (db: string): string => {
  const named = target(db)
  return named._tag === "File" ? named.file : named.place
}

/**
 * The database that `--db` names, else `AFTERTURN_DB`, else `afterturn/afterturn.db` in the XDG data folder (`XDG_DATA_HOME`, else
 * `~/.local/share`).
 *
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (given: Option.Option<string>): Effect.Effect<string, CliError, Path.Path> =>
  Effect.gen(function* () {
    if (Option.isSome(given)) return yield* checked("--db", given.value)
    const fromEnvironment = yield* variable("AFTERTURN_DB")
    if (Option.isSome(fromEnvironment)) return yield* checked("AFTERTURN_DB", fromEnvironment.value)
    const path = yield* Path.Path
    return yield* Option.match(yield* dataFolder, {
      onNone: () =>
        usage("expected --db FILE or AFTERTURN_DB: there is neither XDG_DATA_HOME nor HOME to find a place by"),
      onSome: (folder) => Effect.succeed(path.join(folder, "afterturn.db"))
    })
  })

/** What is no URL is not repeated: it may hold a password. */
const checked = (name: string, db: string): Effect.Effect<string, CliError> =>
  server.test(db) && serverUrl(db) === undefined
    ? Effect.fail(usage(`${name}: expected postgres://user@host:5432/database or a file`))
    : Effect.succeed(db)

/**
 * Where this machine keeps what is the command's own.
 *
 * @since 0.1.0
 * @category accessors
 */
export const dataFolder: Effect.Effect<Option.Option<string>, never, Path.Path> = Effect.gen(function* () {
  const path = yield* Path.Path
  // The specification of these variables has relative paths ignored.
  const data = Option.filter(yield* variable("XDG_DATA_HOME"), (folder) => path.isAbsolute(folder))
  const home = Option.map(yield* variable("HOME"), (folder) => path.join(folder, ".local", "share"))
  return Option.map(
    Option.orElse(data, () => home),
    (folder) => path.join(folder, "afterturn")
  )
})

/**
 * An environment variable; set to nothing counts as not set.
 *
 * @since 0.1.0
 * @category accessors
 */
export const variable = (name: string): Effect.Effect<Option.Option<string>> =>
  Config.option(Config.string(name)).pipe(
    Effect.map(Option.filter((value) => value !== "")),
    // Any text is read as text.
    Effect.orDie
  )

/**
 * Whether the database is there: a server always is, in so far as it says itself what is wrong.
 *
 * @since 0.1.0
 * @category accessors
 */
export const exists = (db: string): Effect.Effect<boolean, never, FileSystem.FileSystem> => {
  const named = target(db)
  if (named._tag === "Server" || named.file === ":memory:") return Effect.succeed(true)
  return Effect.flatMap(FileSystem.FileSystem, (fileSystem) => fileSystem.exists(named.file)).pipe(
    // What cannot even be looked at is reported by whoever opens it.
    Effect.orElseSucceed(() => true)
  )
}
