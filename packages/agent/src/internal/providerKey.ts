import * as AiError from "@effect/ai/AiError"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"

/**
 * Replaces a key wherever a provider repeats it: an error's text goes into the log and to the screen.
 */
export type Scrub = (text: string) => string

export const scrubber = (key: Redacted.Redacted | undefined): Scrub => {
  const secret = key === undefined ? "" : Redacted.value(key)
  return (text) => (secret === "" ? text : text.replaceAll(secret, "[key]"))
}

/**
 * Takes the key out of the errors of a request. They hold the headers as they were sent, and a fiber that fails logs its error.
 */
export const scrubErrors =
  (scrub: Scrub) =>
  <A>(stream: Stream.Stream<A, AiError.AiError>): Stream.Stream<A, AiError.AiError> =>
    Stream.mapError(stream, (error) => scrubbed(error, scrub))

const scrubbed = (error: AiError.AiError, scrub: Scrub): AiError.AiError => {
  switch (error._tag) {
    case "HttpRequestError":
      return new AiError.HttpRequestError({
        ...error,
        ...description(error, scrub),
        request: { ...error.request, headers: {} },
        cause: causeOf(error.cause, scrub)
      })
    case "HttpResponseError":
      return new AiError.HttpResponseError({
        ...error,
        ...description(error, scrub),
        request: { ...error.request, headers: {} },
        ...(error.body === undefined ? {} : { body: scrub(error.body) })
      })
    case "MalformedOutput":
      return new AiError.MalformedOutput({ ...error, ...description(error, scrub) })
    default:
      return error
  }
}

const description = (error: { readonly description?: string | undefined }, scrub: Scrub) =>
  error.description === undefined ? {} : { description: scrub(error.description) }

/** The innermost reason is the one that says something. */
const causeOf = (cause: unknown, scrub: Scrub): unknown => {
  if (!(cause instanceof Error)) return undefined
  return cause.cause instanceof Error ? causeOf(cause.cause, scrub) : new Error(scrub(cause.message))
}
