/**
 * The model that a route leads to, with the key that the environment holds for it.
 *
 * @since 0.1.0
 */
import type { ModelRoute } from "@afterturn/agent/AgentModel"
import { AgentModel, InvalidModelRoute, parseRoute } from "@afterturn/agent/AgentModel"
import type { Projections } from "@afterturn/session-log/Projection"
import type { InvalidScript } from "@afterturn/testing/Script"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import type { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { variable } from "../Database.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelOptions {
  /** Such as `anthropic:claude-sonnet-4-5`, `openai:gpt-5` or `scripted:FILE`. */
  readonly route: string
  /** The server to speak to, in place of the provider's own. Default: that of `ANTHROPIC_BASE_URL` or `OPENAI_BASE_URL`. */
  readonly baseUrl?: string | undefined
  /** How a scripted model speaks. */
  readonly scripted?: Pick<ScriptedModel.ScriptedModelOptions, "deltaDelay" | "deltaLength"> | undefined
}

/**
 * Why there may be no model.
 *
 * @since 0.1.0
 * @category models
 */
export type ModelLayerError = InvalidModelRoute | InvalidScript | ScriptedModel.ScriptUnreadable

type Provider = Exclude<ModelRoute["provider"], "scripted">

/** Names of variables, as the providers' own tools have them. */
const variables = {
  anthropic: { key: "ANTHROPIC_API_KEY", baseUrl: "ANTHROPIC_BASE_URL" },
  openai: { key: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" }
} as const

/**
 * The models that a key alone stands for, in order: with the keys of both providers, it is the first.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultRoutes = [
  { key: variables.anthropic.key, route: "anthropic:claude-sonnet-4-5" },
  { key: variables.openai.key, route: "openai:gpt-5" }
] as const

/**
 * Reads what the model needs, before anything else is opened. What a provider needs is loaded only for its routes.
 *
 * @since 0.1.0
 * @category layers
 */
export const load = (
  options: ModelOptions
): Effect.Effect<Layer.Layer<AgentModel, never, Projections>, ModelLayerError, FileSystem> =>
  Effect.gen(function* () {
    const { name, provider } = yield* parseRoute(options.route)
    if (provider !== "scripted") return yield* ofProvider(provider, name, options)
    if (options.baseUrl !== undefined) {
      return yield* new InvalidModelRoute({
        route: options.route,
        reason: "a script speaks to no server: leave out --base-url"
      })
    }
    const script = yield* ScriptedModel.load(name)
    return Layer.effect(AgentModel, ScriptedModel.fromScript(script, { name, ...options.scripted }))
  })

const ofProvider = Effect.fnUntraced(function* (provider: Provider, model: string, { baseUrl, route }: ModelOptions) {
  const fromEnvironment = Option.getOrUndefined(yield* variable(variables[provider].baseUrl))
  const server = yield* serverUrl(route, baseUrl ?? fromEnvironment)
  const apiKey = yield* keyOf(route, variables[provider].key)
  if (apiKey === undefined && server === undefined) {
    return yield* new InvalidModelRoute({
      route,
      reason: `set ${variables[provider].key}, or name a server that asks for no key with --base-url`
    })
  }
  const adapter = provider === "anthropic" ? loadAnthropic : loadOpenAi
  const [{ layer }, FetchHttpClient] = yield* Effect.promise(() =>
    Promise.all([adapter(), import("@effect/platform/FetchHttpClient")])
  )
  return layer({ model, apiKey, baseUrl: server }).pipe(Layer.provide(FetchHttpClient.layer))
})

const loadAnthropic = () => import("@afterturn/agent/AgentModel/Anthropic")

const loadOpenAi = () => import("@afterturn/agent/AgentModel/OpenAi")

/** A key is one word. One that could not be sent is refused here: the client's error would repeat it. */
const keyOf = (route: string, name: string): Effect.Effect<Redacted.Redacted | undefined, InvalidModelRoute> =>
  Effect.flatMap(variable(name), (value) => {
    const key = Option.getOrElse(value, () => "").trim()
    if (key === "") return Effect.succeed(undefined)
    return /^[\x21-\x7e]+$/.test(key)
      ? Effect.succeed(Redacted.make(key))
      : Effect.fail(new InvalidModelRoute({ route, reason: `${name} is no key: it holds blanks or other characters` }))
  })

const serverUrl = (route: string, given: string | undefined): Either.Either<string | undefined, InvalidModelRoute> => {
  if (given === undefined) return Either.right(undefined)
  const url = URL.canParse(given) ? new URL(given) : undefined
  // What else it holds may be a password, so it is not repeated.
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === "" && url.password === ""
    ? Either.right(given)
    : Either.left(
        new InvalidModelRoute({
          route,
          reason: "the base URL: expected http://… or https://… without a user or password"
        })
      )
}
