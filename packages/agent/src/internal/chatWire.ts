import type { ResponseStreamEvent } from "@effect/ai-openai/OpenAiClient"
import type { Json } from "./providerJson.js"
import { count, list, object, readableArguments, resultText, safeId, safeName, text } from "./providerJson.js"
import type { Scrub } from "./providerKey.js"
import type { ResponsesRequest } from "./responsesWire.js"

/**
 * A request of the Responses format as one of the Chat Completions format, which most servers speak.
 */
export const chatRequest = (request: ResponsesRequest): Json => {
  const tools = list(request.tools)
  return {
    model: request.model,
    messages: messagesOf(list(request.input)),
    ...(request.max_output_tokens === undefined ? {} : { max_completion_tokens: request.max_output_tokens }),
    ...(tools.length === 0 ? {} : { tools: tools.map(toolOf) }),
    stream: true,
    stream_options: { include_usage: true }
  }
}

const toolOf = ({ description, name, parameters }: Json): Json => ({
  type: "function",
  function: { name, description, parameters }
})

/** What a model said and the calls that it made along with it are one message here. */
const messagesOf = (items: ReadonlyArray<Json>): ReadonlyArray<Json> => {
  const messages: Array<Json> = []
  for (const item of items) {
    const last = messages[messages.length - 1]
    const said = last?.role === "assistant" ? last : undefined
    const message = messageOf(item, said)
    if (message === undefined) continue
    if (said !== undefined && message.role === "assistant") messages.pop()
    messages.push(message)
  }
  return messages
}

const messageOf = (item: Json, said: Json | undefined): Json | undefined => {
  switch (item.type) {
    case "function_call_output":
      return { role: "tool", tool_call_id: safeId(item.call_id), content: resultText(text(item.output) ?? "") }
    case "function_call": {
      const call = { name: safeName(item.name), arguments: text(item.arguments) ?? "{}" }
      const calls = [...list(said?.tool_calls), { id: safeId(item.call_id), type: "function", function: call }]
      return { role: "assistant", content: said?.content ?? null, tool_calls: calls }
    }
    case "reasoning":
      return undefined
    default: {
      const content = contentText(item.content)
      if (item.role !== "assistant") return { role: item.role === "user" ? "user" : "system", content }
      return { ...said, role: "assistant", content: [text(said?.content), content].filter(Boolean).join("\n") }
    }
  }
}

const contentText = (content: unknown): string =>
  text(content) ??
  list(content)
    .map((part) => text(part.text) ?? "")
    .join("\n")

interface Call {
  readonly id: string
  readonly name: string
  arguments: string
}

/**
 * Reads the chunks of the Chat Completions format, one answer each, into the events of the Responses format.
 */
export class ChatEvents {
  /** By the place that the server gives a call, and in order. */
  private readonly calls = new Map<number, Call>()
  private readonly done: Array<Call> = []
  private begun = false
  private finishReason: string | undefined
  private usage: Json = {}
  private reasoning = false

  private readonly scrub: Scrub

  constructor(scrub: Scrub) {
    this.scrub = scrub
  }

  read(received: unknown): ReadonlyArray<ResponseStreamEvent> {
    return this.translate(object(received)) as ReadonlyArray<unknown> as ReadonlyArray<ResponseStreamEvent>
  }

  /** What the end of the stream means: nothing, when the answer was not complete. */
  end(): ReadonlyArray<ResponseStreamEvent> {
    return this.complete() as ReadonlyArray<unknown> as ReadonlyArray<ResponseStreamEvent>
  }

  private translate(chunk: Json): ReadonlyArray<Json> {
    if (chunk.error !== undefined) return [this.problem(chunk.error)]
    const [choice = {}] = list(chunk.choices)
    const delta = object(choice.delta)
    this.finishReason = text(choice.finish_reason) ?? this.finishReason
    if (chunk.usage !== undefined && chunk.usage !== null) this.usage = object(chunk.usage)
    for (const part of list(delta.tool_calls)) this.extendCall(part)
    // Each chunk is heard, whatever it holds.
    const heard = { type: "response.created", response: this.response(chunk) }
    return [heard, ...this.reasoningOf(delta), ...this.textOf(delta)]
  }

  private problem(error: unknown): Json {
    const { code, message, type } = object(error)
    const said = text(message) ?? text(error) ?? "no reason given"
    return { type: "error", code: code ?? type, message: this.scrub(said) }
  }

  private response(chunk: Json): Json {
    return { id: text(chunk.id) ?? "", model: text(chunk.model) ?? "", created_at: count(chunk.created) ?? 0 }
  }

  private textOf(delta: Json): ReadonlyArray<Json> {
    const said = text(delta.content) ?? text(delta.refusal)
    if (said === undefined || said === "") return []
    const start = { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "text" } }
    const begin = this.begun ? [] : [start]
    this.begun = true
    return [...begin, { type: "response.output_text.delta", item_id: "text", delta: said }]
  }

  /** Shown as it arrives; servers of this format do not take it back. */
  private reasoningOf(delta: Json): ReadonlyArray<Json> {
    const thought = text(delta.reasoning_content) ?? text(delta.reasoning)
    if (thought === undefined || thought === "") return []
    const item = { type: "reasoning", id: "reasoning" }
    const begin = this.reasoning ? [] : [{ type: "response.output_item.added", output_index: 0, item }]
    this.reasoning = true
    return [
      ...begin,
      { type: "response.reasoning_summary_text.delta", item_id: "reasoning", summary_index: 0, delta: thought }
    ]
  }

  /** Servers differ: some give no place, some the same place to each call, some the id with every piece. */
  private extendCall(part: Json): void {
    const called = object(part.function)
    const id = text(part.id)
    const place = count(part.index) ?? Math.max(0, this.calls.size - (id === undefined ? 1 : 0))
    let call = this.calls.get(place)
    if (call === undefined || (id !== undefined && id !== "" && id !== call.id && called.name !== undefined)) {
      call = { id: id || `call-${this.done.length + 1}`, name: text(called.name) ?? "", arguments: "" }
      this.calls.set(place, call)
      this.done.push(call)
    }
    const given = called.arguments
    call.arguments += text(given) ?? (typeof given === "object" && given !== null ? JSON.stringify(given) : "")
  }

  private complete(): ReadonlyArray<Json> {
    if (this.finishReason === undefined) return []
    const calls = this.done.flatMap(({ arguments: given, id, name }, index) => {
      const item = { type: "function_call", id, call_id: id, name, arguments: readableArguments(given) }
      const event = { output_index: index + 1, item }
      return [
        { ...event, type: "response.output_item.added" },
        { ...event, type: "response.output_item.done" }
      ]
    })
    const reason =
      this.finishReason === "length" || this.finishReason === "content_filter" ? this.finishReason : undefined
    const { completion_tokens, completion_tokens_details, prompt_tokens, prompt_tokens_details } = this.usage
    const usage = {
      input_tokens: count(prompt_tokens),
      output_tokens: count(completion_tokens),
      output_tokens_details: { reasoning_tokens: count(object(completion_tokens_details).reasoning_tokens) },
      input_tokens_details: { cached_tokens: count(object(prompt_tokens_details).cached_tokens) }
    }
    return [...calls, { type: "response.completed", response: { incomplete_details: { reason }, usage } }]
  }
}
