/**
 * Which model a command talks to.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CliError } from "./CliError.js"
import { usage } from "./CliError.js"
import { variable } from "./Database.js"

/**
 * The route that `--model` names, else `AFTERTURN_MODEL`. Whether it leads to a model shows when that is made.
 *
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (given: Option.Option<string>): Effect.Effect<string, CliError> =>
  Effect.flatMap(
    Option.isSome(given) ? Effect.succeed(given) : variable("AFTERTURN_MODEL"),
    Option.match({
      onNone: () => usage("expected a model: --model scripted:FILE, or AFTERTURN_MODEL"),
      onSome: (route) => Effect.succeed(route)
    })
  )
