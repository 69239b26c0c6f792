/**
 * The model that an agent talks to, and the routes that name one.
 *
 * @since 0.1.0
 */
import * as LanguageModel from "@effect/ai/LanguageModel"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * A model and the route that its answers are logged under.
 *
 * @since 0.1.0
 * @category tags
 */
export class AgentModel extends Context.Tag("@afterturn/agent/AgentModel")<
  AgentModel,
  { readonly route: string; readonly model: LanguageModel.Service }
>() {}

/**
 * Any `LanguageModel` of `@effect/ai`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (route: string): Layer.Layer<AgentModel, never, LanguageModel.LanguageModel> =>
  Layer.effect(
    AgentModel,
    Effect.map(LanguageModel.LanguageModel, (model) => ({ route, model }))
  )

/**
 * Text that names no model.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidModelRoute extends Schema.TaggedError<InvalidModelRoute>("@afterturn/agent/InvalidModelRoute")(
  "InvalidModelRoute",
  { route: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `model route ${JSON.stringify(this.route)}: ${this.reason}`
  }
}

/**
 * A route taken apart: `anthropic:NAME`, `openai:NAME` or `scripted:FILE`.
 *
 * @since 0.1.0
 * @category models
 */
export interface ModelRoute {
  readonly provider: "anthropic" | "openai" | "scripted"
  readonly name: string
}

const providers: ReadonlySet<string> = new Set(["anthropic", "openai", "scripted"])

/**
 * Takes a route apart.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parseRoute = (route: string): Either.Either<ModelRoute, InvalidModelRoute> => {
  const at = route.indexOf(":")
  const provider = route.slice(0, at)
  const name = route.slice(at + 1)
  return at > 0 && name !== "" && providers.has(provider)
    ? Either.right({ provider: provider as ModelRoute["provider"], name })
    : Either.left(new InvalidModelRoute({ route, reason: "expected anthropic:NAME, openai:NAME or scripted:FILE" }))
}
