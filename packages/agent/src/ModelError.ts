/**
 * What can go wrong with a model request, as the turn loop sees it.
 *
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { answered, refused } from "./internal/providerErrors.js"

/**
 * A model request failed. `code` is what `turn/end` records.
 *
 * | Code | |
 * |---|---|
 * | `provider_rate_limited` | too many requests, or a quota that is used up (that one is not transient) |
 * | `provider_overloaded` | the provider has no capacity right now |
 * | `provider_unavailable` | it failed, or could not be reached |
 * | `provider_timeout` | it sent nothing for too long |
 * | `provider_stream_cut` | its answer broke off |
 * | `provider_unauthorized` | it does not take the key |
 * | `provider_context_overflow` | the conversation is longer than what the model reads |
 * | `provider_rejected` | it refused the request for another reason |
 * | `provider_malformed` | its answer could not be read |
 *
 * `transient` ones are worth another attempt. `retryAfter` is the wait that the provider asked for.
 *
 * @since 0.1.0
 * @category errors
 */
export class ModelError extends Schema.TaggedError<ModelError>("@afterturn/agent/ModelError")("ModelError", {
  code: Schema.Literal(
    "provider_rate_limited",
    "provider_overloaded",
    "provider_unavailable",
    "provider_timeout",
    "provider_stream_cut",
    "provider_unauthorized",
    "provider_context_overflow",
    "provider_rejected",
    "provider_malformed"
  ),
  message: Schema.String,
  transient: Schema.Boolean,
  retryAfter: Schema.optionalWith(Schema.DurationFromSelf, { exact: true })
}) {}

/**
 * Reads a provider's error. Texts are bounded and hold no request headers, so no key can leak into the log.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromAiError = (error: AiError.AiError): ModelError => {
  switch (error._tag) {
    case "HttpRequestError":
      return new ModelError({
        code: error.reason === "Transport" ? "provider_unavailable" : "provider_rejected",
        transient: error.reason === "Transport",
        message: `the request could not be made: ${short(networkReason(error.cause) ?? error.description ?? error.reason)}`
      })
    case "HttpResponseError":
      return fromResponse(error)
    case "MalformedInput":
      return new ModelError({
        code: "provider_rejected",
        transient: false,
        message: short(error.description ?? "bad request")
      })
    case "MalformedOutput":
      return new ModelError({
        code: "provider_malformed",
        transient: false,
        message: `the provider's answer could not be read: ${short(error.description ?? "malformed output")}`
      })
    case "UnknownError":
      return new ModelError({
        code: "provider_unavailable",
        transient: false,
        message: short(error.description ?? error.message)
      })
  }
}

/**
 * Reads an error that a provider reported in the middle of an answer, such as `{ "type": "overloaded_error", "message": … }`. One
 * that says nothing of its kind is worth another attempt.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromStreamError = (error: unknown): ModelError => {
  const text = Predicate.isError(error) ? error.message : typeof error === "string" ? error : JSON.stringify(error)
  const message = Predicate.hasProperty(error, "message") ? String(error.message) : (text ?? "unknown")
  return new ModelError({
    ...refused(error, message),
    message: `the provider reported an error: ${short(message)}`
  })
}

const fromResponse = (error: AiError.HttpResponseError): ModelError => {
  const { headers, status } = error.response
  const body = error.body === undefined || error.body === "undefined" ? "" : error.body
  if (error.reason !== "StatusCode") {
    return new ModelError({
      code: "provider_stream_cut",
      transient: true,
      message: `the provider's answer broke off: ${short(error.description ?? error.reason)}`
    })
  }
  const retryAfter = parseRetryAfter(headers)
  const kind = answered(status, body)
  return new ModelError({
    ...kind,
    // What a provider says of a key may repeat it.
    message:
      kind.code === "provider_unauthorized"
        ? `the provider answered ${status}: it does not take the key`
        : `the provider answered ${status}: ${short(body === "" ? (error.description ?? error.reason) : messageIn(body))}`,
    ...(retryAfter === undefined ? {} : { retryAfter })
  })
}

/** The sentence in a body of JSON, where there is one. */
const messageIn = (body: string): string => {
  try {
    const data: unknown = JSON.parse(body)
    const error = Predicate.hasProperty(data, "error") ? data.error : data
    if (typeof error === "string") return error
    return Predicate.hasProperty(error, "message") && typeof error.message === "string" ? error.message : body
  } catch {
    return body
  }
}

/** Milliseconds, seconds, or a date, which is read against the provider's own clock. */
const parseRetryAfter = (headers: Readonly<Record<string, string>>): Duration.Duration | undefined => {
  const millis = Number(headers["retry-after-ms"] ?? Number.NaN)
  const seconds = Number(headers["retry-after"] ?? Number.NaN)
  if (millis >= 0) return Duration.millis(millis)
  if (seconds >= 0) return Duration.seconds(seconds)
  const wait = Date.parse(headers["retry-after"] ?? "") - Date.parse(headers.date ?? "")
  return wait >= 0 ? Duration.millis(wait) : undefined
}

/** What the network said: `fetch` itself only says that it failed. */
const networkReason = (cause: unknown): string | undefined => {
  if (!Predicate.isError(cause)) return undefined
  return networkReason(cause.cause) ?? cause.message
}

const short = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}…` : text)
