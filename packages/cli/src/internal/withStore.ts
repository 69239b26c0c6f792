import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { CliError, ForeignError } from "../CliError.js"
import { failure, fromError } from "../CliError.js"
import type { Store } from "../Compose/Store.js"
import { emptyStoreLayer, storeLayer } from "../Compose/Store.js"
import * as Database from "../Database.js"
import type { StdoutClosed } from "../Output.js"
import type { Handler, Services } from "./cliCommand.js"

type Body = Effect.Effect<void, ForeignError | CliError | StdoutClosed, Store | Services>

/** Runs a command on the database, which is made when there is none. */
export const withStore = (db: Option.Option<string>, body: Body): Handler =>
  Effect.flatMap(Database.resolve(db), (file) => Effect.provide(body, storeLayer(file))).pipe(typed)

/** Runs a command that needs a session to be there: where there is no database, none is made. */
export const withExistingStore = (db: Option.Option<string>, body: Body): Handler =>
  Effect.gen(function* () {
    const file = yield* Database.resolve(db)
    if (yield* Database.exists(file)) return yield* Effect.provide(body, storeLayer(file))
    return yield* Effect.provide(body, emptyStoreLayer).pipe(
      Effect.catchTag("SessionNotFound", (error) =>
        Effect.fail(failure("session_not_found", `${error.message}: there is no database ${Database.shown(file)}`))
      )
    )
  }).pipe(typed)

const typed = <R>(effect: Effect.Effect<void, ForeignError | CliError | StdoutClosed, R>) =>
  Effect.mapError(effect, (error) => (error._tag === "StdoutClosed" ? error : fromError(error)))
