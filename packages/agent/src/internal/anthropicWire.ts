import type { MessageStreamEvent, Service } from "@effect/ai-anthropic/AnthropicClient"
import { aliasOf, nameOf } from "./anthropicNames.js"
import type { Json } from "./providerJson.js"
import { count, list, object, readableArguments, resultText, safeId, safeName, text } from "./providerJson.js"
import type { Scrub } from "./providerKey.js"

type Payload = Parameters<Service["createMessageStream"]>[0]["payload"]

const marker = { cache_control: { type: "ephemeral" } }

/**
 * The request as the provider takes it and as it costs least: results of tools are plain text, blank texts are left out, which it
 * refuses, and two marks let it reuse what it has read before: the tools, and the conversation so far.
 */
export const amendRequest = (payload: Payload): Payload => {
  const messages = payload.messages
    .map((message) => ({ ...message, content: contentOf(message.content) }))
    .filter(({ content }) => content.length > 0)
  const tools = list(payload.tools).map((tool) => ({ ...tool, name: nameOf(text(tool.name) ?? "") }))
  return {
    ...payload,
    messages: markLast(messages, (message) => ({ ...message, content: markLast(message.content, marked) })),
    ...(tools.length === 0 ? {} : { tools: markLast(tools, marked) })
  } as Payload
}

const marked = <A>(value: A): A => ({ ...value, ...marker })

const markLast = <A>(values: ReadonlyArray<A>, mark: (last: A) => A): ReadonlyArray<A> =>
  values.map((value, index) => (index === values.length - 1 ? mark(value) : value))

const contentOf = (content: unknown): ReadonlyArray<Json> =>
  list(content).flatMap((block) => {
    switch (block.type) {
      case "text":
        return text(block.text)?.trim() ? [block] : []
      case "tool_use":
        return [{ ...block, id: safeId(block.id), name: safeName(block.name) }]
      case "tool_result": {
        const result = resultText(text(block.content) ?? "")
        const content = result.trim() === "" ? "(no output)" : result
        return [{ ...block, tool_use_id: safeId(block.tool_use_id), content }]
      }
      default:
        return [block]
    }
  })

/**
 * Reads the provider's events, one answer each, into those that the adapter of `@effect/ai` knows. What is new to it is left out
 * where it would fail the whole answer. An event that only says "still there" becomes one that the turn loop hears.
 */
export class AnthropicEvents {
  private readonly calls = new Map<number, string>()
  private readonly open = new Set<number>()
  private start: Json | undefined

  private readonly scrub: Scrub

  constructor(scrub: Scrub) {
    this.scrub = scrub
  }

  read(received: unknown): ReadonlyArray<MessageStreamEvent> {
    return this.translate(object(received)) as ReadonlyArray<unknown> as ReadonlyArray<MessageStreamEvent>
  }

  private translate(event: Json): ReadonlyArray<Json> {
    const index = count(event.index) ?? 0
    switch (event.type) {
      case "message_start":
        this.start = { type: "message_start", message: messageOf(object(event.message)) }
        return [this.start]
      case "content_block_start":
        return this.begin(index, event)
      case "content_block_delta":
        return this.open.has(index) ? this.extend(index, event) : this.alive()
      case "content_block_stop":
        return this.open.delete(index) ? [...this.argumentsOf(index), event] : []
      case "message_delta":
        return [deltaOf(event)]
      case "message_stop":
        return [event]
      case "error": {
        const error = object(event.error)
        return [{ type: "error", error: { ...error, message: this.scrub(text(error.message) ?? "no reason given") } }]
      }
      default:
        return this.alive()
    }
  }

  private alive(): ReadonlyArray<Json> {
    return this.start === undefined ? [] : [this.start]
  }

  private begin(index: number, event: Json): ReadonlyArray<Json> {
    const block = object(event.content_block)
    const type = text(block.type)
    if (type !== "text" && type !== "thinking" && type !== "redacted_thinking" && type !== "tool_use")
      return this.alive()
    this.open.add(index)
    if (type !== "tool_use") return [event]
    this.calls.set(index, "")
    return [{ ...event, content_block: { ...block, name: aliasOf(text(block.name) ?? "") } }]
  }

  private extend(index: number, event: Json): ReadonlyArray<Json> {
    const delta = object(event.delta)
    switch (delta.type) {
      case "input_json_delta":
        // Held back to its end, when it shows whether it can be read.
        this.calls.set(index, (this.calls.get(index) ?? "") + (text(delta.partial_json) ?? ""))
        return this.alive()
      case "text_delta":
      case "thinking_delta":
      case "signature_delta":
        return [event]
      default:
        return this.alive()
    }
  }

  private argumentsOf(index: number): ReadonlyArray<Json> {
    const received = this.calls.get(index)
    if (received === undefined) return []
    this.calls.delete(index)
    const delta = { type: "input_json_delta", partial_json: readableArguments(received) }
    return [{ type: "content_block_delta", index, delta }]
  }
}

/** What was read from a cache, or written to one, was read all the same: other providers count it in. */
const messageOf = (message: Json): Json => {
  const usage = object(message.usage)
  const cached = count(usage.cache_read_input_tokens) ?? 0
  const written = count(usage.cache_creation_input_tokens) ?? 0
  return {
    ...message,
    id: text(message.id) ?? "",
    model: text(message.model) ?? "",
    usage: {
      ...usage,
      input_tokens: (count(usage.input_tokens) ?? 0) + cached + written,
      cache_read_input_tokens: cached
    }
  }
}

const deltaOf = (event: Json): Json => {
  const delta = object(event.delta)
  const reason = text(delta.stop_reason) ?? null
  return {
    type: "message_delta",
    delta: {
      stop_sequence: text(delta.stop_sequence) ?? null,
      stop_reason: reason === "model_context_window_exceeded" ? "max_tokens" : reason
    },
    usage: { output_tokens: count(object(event.usage).output_tokens) ?? null }
  }
}
