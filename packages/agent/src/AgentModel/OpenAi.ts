/**
 * Models of OpenAI, and of servers that are compatible with it.
 *
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import * as OpenAiClient from "@effect/ai-openai/OpenAiClient"
import * as OpenAiLanguageModel from "@effect/ai-openai/OpenAiLanguageModel"
import type { HttpClient } from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { AgentModel } from "../AgentModel.js"
import { ChatEvents, chatRequest } from "../internal/chatWire.js"
import type { Json } from "../internal/providerJson.js"
import type { Scrub } from "../internal/providerKey.js"
import { scrubber, scrubErrors } from "../internal/providerKey.js"
import type { ResponsesRequest } from "../internal/responsesWire.js"
import { amendRequest, ResponsesEvents } from "../internal/responsesWire.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface OpenAiOptions {
  /** The model's name, such as `gpt-5`. */
  readonly model: string
  /** Sent as a bearer token; never logged. None: the server asks for none. */
  readonly apiKey?: Redacted.Redacted | undefined
  /**
   * Where a compatible server is, such as `http://localhost:11434/v1`. Default: OpenAI itself. Such a server is spoken to in the
   * Chat Completions format, and in the Responses format when it does not know that; a URL that ends in `/chat/completions` or
   * `/responses` says which.
   */
  readonly baseUrl?: string | undefined
  /** Tokens of one answer at most. Default: the server's. */
  readonly maxOutputTokens?: number | undefined
}

/**
 * The session's model. Only its `streamText` is made for agents: nothing of the conversation is stored by the provider, tools are
 * described without strict mode, and a provider's refusals are reported with the key taken out.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: OpenAiOptions): Layer.Layer<AgentModel, never, HttpClient> =>
  Layer.scoped(
    AgentModel,
    Effect.gen(function* () {
      const { apiUrl, format } = serverOf(options.baseUrl)
      const client = yield* OpenAiClient.make({ apiKey: options.apiKey, apiUrl })
      const scrub = scrubber(options.apiKey)
      const model = yield* OpenAiLanguageModel.make({
        model: options.model,
        config: {
          strict: false,
          store: false,
          ...(options.maxOutputTokens === undefined ? {} : { max_output_tokens: options.maxOutputTokens }),
          ...(reasons(options.model) ? { include: ["reasoning.encrypted_content"] } : {})
        }
      }).pipe(
        Effect.provideService(OpenAiClient.OpenAiClient, {
          ...client,
          createResponseStream: formats(client, scrub)[format]
        })
      )
      return { route: `openai:${options.model}`, model }
    })
  )

type Format = "responses" | "chat" | "either"

type Speak = (request: ResponsesRequest) => Stream.Stream<OpenAiClient.ResponseStreamEvent, AiError.AiError>

const formats = (client: OpenAiClient.Service, scrub: Scrub): Readonly<Record<Format, Speak>> => {
  const post = (path: string, body: Json) =>
    client.streamRequest(HttpClientRequest.bodyUnsafeJson(HttpClientRequest.post(path), body), Schema.Unknown)
  const responses: Speak = (request) =>
    Stream.suspend(() => {
      const events = new ResponsesEvents(scrub)
      return post("/responses", { ...amendRequest(request), stream: true }).pipe(
        Stream.mapConcat((event) => events.read(event)),
        Stream.takeUntil(({ type }) => type === "response.completed" || type === "response.incomplete"),
        // One by one: what can't be read fails alone.
        Stream.rechunk(1),
        scrubErrors(scrub)
      )
    })
  const chat: Speak = (request) =>
    Stream.suspend(() => {
      const events = new ChatEvents(scrub)
      return post("/chat/completions", chatRequest(request)).pipe(
        Stream.mapConcat((chunk) => events.read(chunk)),
        Stream.concat(Stream.suspend(() => Stream.fromIterable(events.end()))),
        Stream.rechunk(1),
        scrubErrors(scrub)
      )
    })
  return { responses, chat, either: firstKnown(chat, responses) }
}

/**
 * Speaks `first` until the server says that it does not know it; from then on what it knows. When it knows neither, its first word
 * stands: it may be about the model.
 */
const firstKnown = (first: Speak, second: Speak): Speak => {
  let known: Speak | undefined
  const remember = (speak: Speak, request: ResponsesRequest) =>
    Stream.tap(speak(request), () =>
      Effect.sync(() => {
        known = speak
      })
    )
  return (request) =>
    Stream.suspend(() => {
      if (known !== undefined) return known(request)
      return remember(first, request).pipe(
        Stream.catchAll((error) =>
          isUnknownPath(error)
            ? Stream.catchAll(remember(second, request), (other) => Stream.fail(isUnknownPath(other) ? error : other))
            : Stream.fail(error)
        )
      )
    })
}

const isUnknownPath = (error: AiError.AiError): boolean =>
  error._tag === "HttpResponseError" && (error.response.status === 404 || error.response.status === 405)

const serverOf = (baseUrl: string | undefined): { readonly apiUrl: string | undefined; readonly format: Format } => {
  if (baseUrl === undefined) return { apiUrl: undefined, format: "responses" }
  const url = baseUrl.replace(/\/+$/, "")
  if (/\/responses$/.test(url)) return { apiUrl: url.replace(/\/responses$/, ""), format: "responses" }
  if (/\/chat\/completions$/.test(url)) return { apiUrl: url.replace(/\/chat\/completions$/, ""), format: "chat" }
  return { apiUrl: url, format: /^https:\/\/api\.openai\.com(\/|$)/.test(url) ? "responses" : "either" }
}

/** Such models give back what they thought, to be shown again; others refuse to be asked for it. */
const reasons = (model: string): boolean => /^(o\d|gpt-([5-9]|\d\d)|codex-)/.test(model) && !/-chat/.test(model)
