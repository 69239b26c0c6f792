/**
 * Models of Anthropic, and of servers that speak its Messages format.
 *
 * @since 0.1.0
 */
import * as AnthropicClient from "@effect/ai-anthropic/AnthropicClient"
import * as AnthropicLanguageModel from "@effect/ai-anthropic/AnthropicLanguageModel"
import type { HttpClient } from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AgentModel } from "../AgentModel.js"
import { withPlainNames } from "../internal/anthropicNames.js"
import { AnthropicEvents, amendRequest } from "../internal/anthropicWire.js"
import { scrubber, scrubErrors } from "../internal/providerKey.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface AnthropicOptions {
  /** The model's name, such as `claude-sonnet-4-5`. */
  readonly model: string
  /** Sent as `x-api-key`; never logged. None: the server asks for none. */
  readonly apiKey?: Redacted.Redacted | undefined
  /** Where the server is, without `/v1/messages`. Default `https://api.anthropic.com`. */
  readonly baseUrl?: string | undefined
  /** Tokens of one answer at most. Default: what the model's generation allows, 32,000 for those since version 4. */
  readonly maxOutputTokens?: number | undefined
}

/**
 * The session's model. Only its `streamText` is made for agents: it takes what servers add to the format, reports a provider's
 * refusals with the key taken out, and lets the provider cache what it has read.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: AnthropicOptions): Layer.Layer<AgentModel, never, HttpClient> =>
  Layer.scoped(
    AgentModel,
    Effect.gen(function* () {
      const client = yield* AnthropicClient.make({ apiKey: options.apiKey, apiUrl: rootOf(options.baseUrl) })
      const scrub = scrubber(options.apiKey)
      const model = yield* AnthropicLanguageModel.make({
        model: options.model,
        config: { max_tokens: options.maxOutputTokens ?? outputLimit(options.model) }
      }).pipe(
        Effect.provideService(AnthropicClient.AnthropicClient, {
          ...client,
          createMessageStream: ({ payload }) => streamMessage(client, payload, scrub)
        })
      )
      return { route: `anthropic:${options.model}`, model: withPlainNames(model) }
    })
  )

const streamMessage = (
  client: AnthropicClient.Service,
  payload: Parameters<AnthropicClient.Service["createMessageStream"]>[0]["payload"],
  scrub: ReturnType<typeof scrubber>
): ReturnType<AnthropicClient.Service["createMessageStream"]> =>
  Stream.suspend(() => {
    const events = new AnthropicEvents(scrub)
    const request = HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post("/v1/messages"), {
      ...amendRequest(payload),
      stream: true
    })
    return client.streamRequest(request, Schema.Unknown).pipe(
      Stream.mapConcat((event) => events.read(event)),
      Stream.takeUntil((event) => event.type === "message_stop"),
      // One by one: what can't be read fails alone.
      Stream.rechunk(1),
      scrubErrors(scrub)
    )
  })

/** A base may be given as other tools want it. */
const rootOf = (baseUrl: string | undefined): string | undefined =>
  baseUrl?.replace(/\/+$/, "").replace(/\/v1(\/messages)?$/, "")

/** The provider refuses a request for more than its model can say. */
const outputLimit = (model: string): number => {
  if (/claude-3-5-/.test(model)) return 8_192
  return /claude-(2|3-(opus|sonnet|haiku)|instant)/.test(model) ? 4_096 : 32_000
}
