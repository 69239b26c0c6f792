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
import type { CliError } from "./CliError.js"
import { usage } from "./CliError.js"

/**
 * The file that `--db` names, else `AFTERTURN_DB`, else `afterturn/afterturn.db` in the XDG data folder (`XDG_DATA_HOME`, else
 * `~/.local/share`).
 *
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (given: Option.Option<string>): Effect.Effect<string, CliError, Path.Path> =>
  Effect.gen(function* () {
    if (Option.isSome(given)) return given.value
    const fromEnvironment = yield* variable("AFTERTURN_DB")
    if (Option.isSome(fromEnvironment)) return fromEnvironment.value
    const path = yield* Path.Path
    // The specification of these variables has relative paths ignored.
    const data = Option.filter(yield* variable("XDG_DATA_HOME"), (folder) => path.isAbsolute(folder))
    const home = Option.map(yield* variable("HOME"), (folder) => path.join(folder, ".local", "share"))
    return yield* Option.match(
      Option.orElse(data, () => home),
      {
        onNone: () =>
          usage("expected --db FILE or AFTERTURN_DB: there is neither XDG_DATA_HOME nor HOME to find a place by"),
        onSome: (folder) => Effect.succeed(path.join(folder, "afterturn", "afterturn.db"))
      }
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
 * Whether there is anything at that path.
 *
 * @since 0.1.0
 * @category accessors
 */
export const exists = (file: string): Effect.Effect<boolean, never, FileSystem.FileSystem> =>
  Effect.flatMap(FileSystem.FileSystem, (fileSystem) => fileSystem.exists(file)).pipe(
    // What cannot even be looked at is reported by whoever opens it.
    Effect.orElseSucceed(() => true)
  )
