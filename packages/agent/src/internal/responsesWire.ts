import type { ResponseStreamEvent, Service } from "@effect/ai-openai/OpenAiClient"
import type { Json } from "./providerJson.js"
import { count, list, object, readableArguments, resultText, safeId, safeName, text } from "./providerJson.js"
import type { Scrub } from "./providerKey.js"

/**
 * A request as the adapter of `@effect/ai` makes it.
 */
export type ResponsesRequest = Parameters<Service["createResponseStream"]>[0]

/**
 * The request for a server that keeps nothing of the conversation: results of tools are plain text, nothing is referred to by the
 * id that a server gave it, and reasoning goes back only where it carries its content.
 */
export const amendRequest = (request: ResponsesRequest): ResponsesRequest =>
  ({ ...request, input: list(request.input).flatMap(itemOf) }) as ResponsesRequest

const itemOf = (item: Json): ReadonlyArray<Json> => {
  if (item.type === "reasoning") return text(item.encrypted_content) === undefined ? [] : [item]
  const { id: _, ...rest } = item
  switch (item.type) {
    case "function_call":
      return [{ ...rest, call_id: safeId(item.call_id), name: safeName(item.name) }]
    case "function_call_output":
      return [{ ...rest, call_id: safeId(item.call_id), output: resultText(text(item.output) ?? "") }]
    default:
      return [rest]
  }
}

/**
 * Reads the events of the Responses format, one answer each, into those that the adapter of `@effect/ai` knows, with what it can't
 * do without. What is new to it is left out. An event that only says "still there" becomes one that the turn loop hears.
 */
export class ResponsesEvents {
  private calls = 0
  private readonly reasoning = new Set<string>()
  private created: Json | undefined

  private readonly scrub: Scrub

  constructor(scrub: Scrub) {
    this.scrub = scrub
  }

  read(received: unknown): ReadonlyArray<ResponseStreamEvent> {
    return this.translate(object(received)) as ReadonlyArray<unknown> as ReadonlyArray<ResponseStreamEvent>
  }

  private translate(event: Json): ReadonlyArray<Json> {
    switch (event.type) {
      case "response.created":
        this.created = { type: "response.created", response: responseOf(object(event.response)) }
        return [this.created]
      case "response.completed":
      case "response.incomplete":
        return [{ type: event.type, response: responseOf(object(event.response)) }]
      case "response.failed":
        return [this.problem(object(object(event.response).error))]
      case "error":
        // Some servers wrap what it is about, some do not.
        return [this.problem(event.error === undefined ? event : object(event.error))]
      case "response.output_item.added":
      case "response.output_item.done":
        return this.item(event)
      case "response.output_text.delta":
      case "response.refusal.delta":
        return [{ type: "response.output_text.delta", item_id: text(event.item_id) ?? "", delta: deltaOf(event) }]
      case "response.reasoning_summary_part.added":
      case "response.reasoning_summary_text.delta":
        return this.reasoning.has(text(event.item_id) ?? "") ? [{ ...event, delta: deltaOf(event) }] : this.alive()
      default:
        return this.alive()
    }
  }

  private alive(): ReadonlyArray<Json> {
    return this.created === undefined ? [] : [this.created]
  }

  private problem(error: Json): Json {
    const message = this.scrub(text(error.message) ?? "no reason given")
    // The type of an event says nothing of what went wrong.
    const kind = error.type === "error" ? undefined : error.type
    return { type: "error", code: error.code ?? kind, message }
  }

  private item(event: Json): ReadonlyArray<Json> {
    const item = object(event.item)
    const id = text(item.id) ?? ""
    const done = event.type === "response.output_item.done"
    switch (item.type) {
      case "message":
        return [{ ...event, item: { type: "message", id } }]
      case "function_call":
        return done ? this.call(event, item) : this.alive()
      case "reasoning":
        if (id === "" || (done && !this.reasoning.delete(id))) return this.alive()
        if (!done) this.reasoning.add(id)
        return [{ ...event, item: { type: "reasoning", id, encrypted_content: text(item.encrypted_content) } }]
      default:
        return this.alive()
    }
  }

  private call(event: Json, item: Json): ReadonlyArray<Json> {
    this.calls += 1
    const id = text(item.call_id) ?? text(item.id) ?? `call-${this.calls}`
    const call = { ...item, call_id: id, name: text(item.name) ?? "" }
    return [
      { ...event, type: "response.output_item.added", item: call },
      { ...event, item: { ...call, arguments: readableArguments(text(item.arguments) ?? "") } }
    ]
  }
}

const deltaOf = (event: Json): string => text(event.delta) ?? ""

const responseOf = (response: Json): Json => {
  const usage = object(response.usage)
  return {
    id: text(response.id) ?? "",
    model: text(response.model) ?? "",
    created_at: count(response.created_at) ?? 0,
    incomplete_details: { reason: text(object(response.incomplete_details).reason) },
    usage: {
      input_tokens: count(usage.input_tokens),
      output_tokens: count(usage.output_tokens),
      output_tokens_details: { reasoning_tokens: count(object(usage.output_tokens_details).reasoning_tokens) },
      input_tokens_details: { cached_tokens: count(object(usage.input_tokens_details).cached_tokens) }
    }
  }
}
