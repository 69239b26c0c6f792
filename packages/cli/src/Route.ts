/**
 * Which model a command talks to.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CliError } from "./CliError.js"
import { usage } from "./CliError.js"
import { defaultRoutes } from "./Compose/Model.js"
import { variable } from "./Database.js"

/**
 * The route that `--model` names, else `AFTERTURN_MODEL`, else a model of the provider whose key the environment holds. Whether it
 * leads to a model shows when that is made.
 *
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (given: Option.Option<string>): Effect.Effect<string, CliError> =>
  Effect.gen(function* () {
    const named = Option.isSome(given) ? given : yield* variable("AFTERTURN_MODEL")
    if (Option.isSome(named)) return named.value
    for (const { key, route } of defaultRoutes) {
      const value = yield* variable(key)
      if (Option.exists(value, (text) => text.trim() !== "")) return route
    }
    return yield* usage(
      `expected a model: set ${defaultRoutes.map(({ key }) => key).join(" or ")}, or name one with --model or AFTERTURN_MODEL: ` +
        "anthropic:NAME, openai:NAME or scripted:FILE"
    )
  })
