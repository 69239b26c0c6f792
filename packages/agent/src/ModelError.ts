/**
 * What can go wrong with a model request, as the turn loop sees it.
 *
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"

/**
 * A model request failed. `code` is what `turn/end` records: `provider_rate_limited`, `provider_unavailable` and
 * `provider_stream_cut` are `transient`, `provider_rejected` and `provider_malformed` are not. `retryAfter` is the wait that the
 * provider asked for.
 *
 * @since 0.1.0
 * @category errors
 */
export class ModelError extends Schema.TaggedError<ModelError>("@afterturn/agent/ModelError")("ModelError", {
  code: Schema.Literal(
    "provider_rate_limited",
    "provider_unavailable",
    "provider_stream_cut",
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
        message: `the request could not be made: ${short(error.description ?? error.reason)}`
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

const fromResponse = (error: AiError.HttpResponseError): ModelError => {
  const { headers, status } = error.response
  const transient = status === 408 || status === 409 || status === 429 || status >= 500 || error.reason !== "StatusCode"
  const retryAfter = parseRetryAfter(headers)
  return new ModelError({
    code: status === 429 ? "provider_rate_limited" : transient ? "provider_unavailable" : "provider_rejected",
    transient,
    message: `the provider answered ${status}: ${short(error.body ?? error.description ?? error.reason)}`,
    ...(retryAfter === undefined ? {} : { retryAfter })
  })
}

/** Seconds, as providers send them; dates are not honoured. */
const parseRetryAfter = (headers: Readonly<Record<string, string>>): Duration.Duration | undefined => {
  const millis = Number(headers["retry-after-ms"] ?? Number.NaN)
  const seconds = Number(headers["retry-after"] ?? Number.NaN)
  if (millis >= 0) return Duration.millis(millis)
  return seconds >= 0 ? Duration.seconds(seconds) : undefined
}

const short = (text: string): string => (text.length > 500 ? `${text.slice(0, 500)}…` : text)
