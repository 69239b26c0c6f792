import * as Predicate from "effect/Predicate"

/**
 * What a provider's refusal means for the turn loop.
 */
export interface ErrorKind {
  readonly code:
    | "provider_rate_limited"
    | "provider_overloaded"
    | "provider_unavailable"
    | "provider_unauthorized"
    | "provider_context_overflow"
    | "provider_rejected"
  readonly transient: boolean
}

const rateLimited: ErrorKind = { code: "provider_rate_limited", transient: true }
const quotaUsedUp: ErrorKind = { code: "provider_rate_limited", transient: false }
const overloaded: ErrorKind = { code: "provider_overloaded", transient: true }
const unavailable: ErrorKind = { code: "provider_unavailable", transient: true }
const unauthorized: ErrorKind = { code: "provider_unauthorized", transient: false }
const overflow: ErrorKind = { code: "provider_context_overflow", transient: false }
const rejected: ErrorKind = { code: "provider_rejected", transient: false }

/**
 * How the servers of this world say that a conversation is too long. Only a refused request is looked at: such words in an error of
 * another kind mean something else.
 */
const overflowText =
  /context[_ ]length|context window|context size|maximum context|prompt is too long|input is too long|too many (input )?tokens|exceeds? the (maximum )?(number of tokens|token limit)|exceed context limit|request_too_large/i

/**
 * The meaning of an HTTP status with its body.
 */
export const answered = (status: number, body: string): ErrorKind => {
  if (status === 401) return unauthorized
  if (status === 429) return /insufficient_quota/.test(body) ? quotaUsedUp : rateLimited
  if (status === 529) return overloaded
  if (status === 503 && /overloaded/i.test(body)) return overloaded
  if (status === 408 || status === 409 || status >= 500) return unavailable
  if (status === 413) return overflow
  return (status === 400 || status === 422) && overflowText.test(body) ? overflow : rejected
}

const kinds: Readonly<Record<string, ErrorKind>> = {
  authentication_error: unauthorized,
  invalid_api_key: unauthorized,
  insufficient_quota: quotaUsedUp,
  rate_limit_error: rateLimited,
  rate_limit_exceeded: rateLimited,
  overloaded_error: overloaded,
  server_overloaded: overloaded,
  context_length_exceeded: overflow,
  request_too_large: overflow,
  invalid_request_error: rejected,
  invalid_prompt: rejected,
  permission_error: rejected,
  not_found_error: rejected
}

/**
 * The meaning of an error that names its kind itself, as `code` or as `type`.
 */
export const refused = (error: unknown, message: string): ErrorKind => {
  const kind = named(error, "code") ?? named(error, "type") ?? unavailable
  return kind === rejected && overflowText.test(message) ? overflow : kind
}

const named = (error: unknown, key: "code" | "type"): ErrorKind | undefined => {
  if (!Predicate.hasProperty(error, key)) return undefined
  const value = error[key]
  if (typeof value === "number") return answered(value, "")
  return typeof value === "string" && Object.hasOwn(kinds, value) ? kinds[value] : undefined
}
