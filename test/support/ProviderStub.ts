/** A server on this machine that answers model requests as a test says, and remembers them. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface StubRequest {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Record<string, unknown>
}

/** What one request gets: a status with a body, or a stream of events. */
export type Answer =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | {
      readonly events: ReadonlyArray<string>
      /** Bytes of each write; the events are cut wherever that falls. Default: all at once. */
      readonly pieces?: number
      /** `cut` breaks the connection after the events, `hang` leaves it open. */
      readonly ends?: "cut" | "hang"
      /** Called once the events are out, to send more over time. */
      readonly later?: (write: (event: string) => void, end: () => void) => void
    }

export interface ProviderStub {
  readonly url: string
  readonly requests: Array<StubRequest>
  /** Done once request N (from 0) has arrived. */
  readonly asked: (request: number) => Effect.Effect<StubRequest>
}

export const make = (
  reply: (request: number, received: StubRequest) => Answer
): Effect.Effect<ProviderStub, never, Scope.Scope> =>
  Effect.gen(function* () {
    const requests: Array<StubRequest> = []
    const arrivals = new Map<number, Deferred.Deferred<StubRequest>>()
    const arrival = (request: number) => {
      const known = arrivals.get(request) ?? Deferred.unsafeMake<StubRequest>(0 as never)
      arrivals.set(request, known)
      return known
    }
    const server = createServer((incoming, response) => {
      let text = ""
      incoming.setEncoding("utf8").on("data", (part: string) => {
        text += part
      })
      incoming.on("end", () => {
        const received = { path: incoming.url ?? "", headers: incoming.headers, body: JSON.parse(text) }
        const request = requests.push(received) - 1
        Deferred.unsafeDone(arrival(request), Effect.succeed(received))
        void send(response, reply(request, received))
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      requests,
      asked: (request) => Effect.suspend(() => Deferred.await(arrival(request)))
    }
  })

const send = async (response: ServerResponse, answer: Answer): Promise<void> => {
  if ("status" in answer) {
    const isText = typeof answer.body === "string"
    response.writeHead(answer.status, { "content-type": isText ? "text/plain" : "application/json", ...answer.headers })
    response.end(isText ? answer.body : JSON.stringify(answer.body ?? {}))
    return
  }
  response.writeHead(200, { "content-type": "text/event-stream" })
  const bytes = Buffer.from(answer.events.join(""))
  const size = answer.pieces ?? Math.max(1, bytes.length)
  for (let at = 0; at < bytes.length; at += size) {
    await new Promise((resolve) => response.write(bytes.subarray(at, at + size), resolve))
  }
  answer.later?.(
    (event) => response.write(event),
    () => response.end()
  )
  if (answer.ends === "cut") response.destroy()
  else if (answer.ends === undefined && answer.later === undefined) response.end()
}

/** A model's answer, whatever the format. */
export interface Said {
  readonly text?: string
  readonly calls?: ReadonlyArray<{ readonly id: string; readonly name: string; readonly arguments: string }>
  readonly reasoning?: string
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number }
}

const usageOf = ({ usage }: Said) => ({ cached: 0, ...(usage ?? { input: 10, output: 5 }) })

/** Text in pieces, as it streams. */
const deltas = (text: string): ReadonlyArray<string> => text.match(/[\s\S]{1,7}/gu) ?? []

const event = (data: object): string =>
  `event: ${"type" in data ? data.type : "message"}\ndata: ${JSON.stringify(data)}\n\n`

/** The events of Anthropic's Messages format. */
export const messages = (said: Said): ReadonlyArray<string> => {
  const usage = usageOf(said)
  const blocks = [
    ...(said.reasoning === undefined
      ? []
      : [
          {
            start: { type: "thinking", thinking: "", signature: "" },
            deltas: [
              ...deltas(said.reasoning).map((thinking) => ({ type: "thinking_delta", thinking })),
              { type: "signature_delta", signature: "signed" }
            ]
          }
        ]),
    ...(said.text === undefined
      ? []
      : [
          { start: { type: "text", text: "" }, deltas: deltas(said.text).map((text) => ({ type: "text_delta", text })) }
        ]),
    ...(said.calls ?? []).map((call) => ({
      start: { type: "tool_use", id: call.id, name: call.name, input: {} },
      deltas: deltas(call.arguments).map((partial_json) => ({ type: "input_json_delta", partial_json }))
    }))
  ]
  return [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "stub",
        content: [],
        stop_reason: null,
        usage: {
          input_tokens: usage.input - usage.cached,
          cache_read_input_tokens: usage.cached,
          cache_creation_input_tokens: 0,
          output_tokens: 1
        }
      }
    },
    { type: "ping" },
    ...blocks.flatMap(({ deltas, start }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index }
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: said.calls === undefined ? "end_turn" : "tool_use", stop_sequence: null },
      usage: { output_tokens: usage.output }
    },
    { type: "message_stop" }
  ].map(event)
}

/** The events of OpenAI's Responses format. */
export const responses = (said: Said): ReadonlyArray<string> => {
  const usage = usageOf(said)
  const response = { id: "resp_1", object: "response", created_at: 1_700_000_000, model: "stub", status: "in_progress" }
  const items = [
    ...(said.reasoning === undefined
      ? []
      : [
          {
            item: { type: "reasoning", id: "rs_1", summary: [] as Array<object>, encrypted_content: "sealed" },
            deltas: deltas(said.reasoning).map((delta) => ({
              type: "response.reasoning_summary_text.delta",
              item_id: "rs_1",
              summary_index: 0,
              delta
            }))
          }
        ]),
    ...(said.text === undefined
      ? []
      : [
          {
            item: {
              type: "message",
              id: "msg_1",
              role: "assistant",
              status: "in_progress",
              content: [] as Array<object>
            },
            deltas: deltas(said.text).map((delta) => ({
              type: "response.output_text.delta",
              item_id: "msg_1",
              content_index: 0,
              delta
            }))
          }
        ]),
    ...(said.calls ?? []).map((call) => ({
      item: {
        type: "function_call",
        id: `fc_${call.id}`,
        call_id: call.id,
        name: call.name,
        arguments: call.arguments
      },
      deltas: deltas(call.arguments).map((delta) => ({
        type: "response.function_call_arguments.delta",
        item_id: `fc_${call.id}`,
        delta
      }))
    }))
  ]
  const all: ReadonlyArray<object> = [
    { type: "response.created", response },
    { type: "response.in_progress", response },
    ...items.flatMap(({ deltas, item }, output_index) => [
      {
        type: "response.output_item.added",
        output_index,
        item: item.type === "function_call" ? { ...item, arguments: "" } : item
      },
      ...deltas.map((delta) => ({ output_index, ...delta })),
      { type: "response.output_item.done", output_index, item }
    ]),
    {
      type: "response.completed",
      response: {
        ...response,
        status: "completed",
        // Newer than the schema of the library: nothing of it may matter.
        reasoning: { effort: "beyond" },
        usage: {
          input_tokens: usage.input,
          input_tokens_details: { cached_tokens: usage.cached },
          output_tokens: usage.output,
          total_tokens: usage.input + usage.output
        }
      }
    }
  ]
  return all.map((data, sequence_number) => event({ ...data, sequence_number }))
}

/** The chunks of the Chat Completions format. */
export const chat = (said: Said): ReadonlyArray<string> => {
  const usage = usageOf(said)
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: "stub",
    choices: [{ index: 0, delta, finish_reason }]
  })
  const chunks: ReadonlyArray<object> = [
    chunk({ role: "assistant", content: "" }),
    ...deltas(said.reasoning ?? "").map((reasoning_content) => chunk({ reasoning_content })),
    ...deltas(said.text ?? "").map((content) => chunk({ content })),
    ...(said.calls ?? []).flatMap((call, index) => [
      chunk({ tool_calls: [{ index, id: call.id, type: "function", function: { name: call.name, arguments: "" } }] }),
      ...deltas(call.arguments).map((text) => chunk({ tool_calls: [{ index, function: { arguments: text } }] }))
    ]),
    chunk({}, said.calls === undefined ? "stop" : "tool_calls"),
    {
      id: "chatcmpl-1",
      choices: [],
      usage: {
        prompt_tokens: usage.input,
        completion_tokens: usage.output,
        prompt_tokens_details: { cached_tokens: usage.cached }
      }
    }
  ]
  return [...chunks.map((data) => `data: ${JSON.stringify(data)}\n\n`), "data: [DONE]\n\n"]
}
