import * as Anthropic from "@afterturn/agent/AgentModel/Anthropic"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Wire } from "../../support/contracts/AgentModel.js"
import { answers, ask, converse, suite } from "../../support/contracts/AgentModel.js"
import * as ProviderStub from "../../support/ProviderStub.js"

interface Block {
  readonly type: string
  readonly [key: string]: unknown
}

const blocks = (body: Record<string, unknown>): ReadonlyArray<Block> =>
  (body.messages as ReadonlyArray<{ readonly content: ReadonlyArray<Block> }>).flatMap(({ content }) => content)

const wire: Wire = {
  path: "/v1/messages",
  model: (options) => Anthropic.layer({ model: "stub-1", ...options }),
  says: ProviderStub.messages,
  keyHeader: (key) => ["x-api-key", key],
  overloaded: `event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"no capacity"}}\n\n`,
  overflow: {
    status: 400,
    body: {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" }
    }
  },
  ping: `event: ping\ndata: {"type":"ping"}\n\n`,
  results: (body) =>
    blocks(body)
      .filter(({ type }) => type === "tool_result")
      .map((block) => [block.tool_use_id, block.content]),
  userTexts: (body) =>
    (body.messages as ReadonlyArray<{ readonly role: string; readonly content: ReadonlyArray<Block> }>)
      .filter(({ role }) => role === "user")
      .flatMap(({ content }) => content.filter(({ type }) => type === "text").map((block) => block.text)),
  toolNames: (body) => (body.tools as ReadonlyArray<{ readonly name: string }>).map(({ name }) => name)
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`

describe("Anthropic", () => {
  suite(wire)

  it.effect("lets the provider reuse what it has read, and never refuses by asking for too much", () =>
    converse(
      wire,
      () => ({ events: ProviderStub.messages({ text: "ok" }) }),
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent, "one")
          yield* ask(agent, "two")
          const body = stub.requests[1]?.body ?? {}
          const marked = (list: ReadonlyArray<Record<string, unknown>>) => list.map((each) => "cache_control" in each)
          assert.deepStrictEqual(marked(body.tools as never), [false, true])
          assert.deepStrictEqual(marked(blocks(body)), [false, false, true])
          assert.strictEqual(body.max_tokens, 32_000)
        })
    )
  )

  it.effect("asks an older model for no more than it can say", () =>
    converse(
      { model: (options) => Anthropic.layer({ model: "claude-3-5-haiku-latest", ...options }) },
      () => ({ events: ProviderStub.messages({ text: "ok" }) }),
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          assert.strictEqual(stub.requests[0]?.body.max_tokens, 8_192)
        })
    )
  )

  it.effect("reads past what is newer than its library, and sends back no text that holds nothing", () => {
    const [start = "", ping = "", ...said] = ProviderStub.messages({ text: "ok" })
    const news = [
      event({ type: "content_block_start", index: 7, content_block: { type: "hologram", light: 3 } }),
      event({ type: "content_block_delta", index: 7, delta: { type: "light_delta", light: 4 } }),
      event({ type: "content_block_stop", index: 7 }),
      event({ type: "weather", sunny: true })
    ]
    const cut = event({ type: "message_delta", delta: { stop_reason: "model_context_window_exceeded" }, usage: {} })
    return converse(
      wire,
      (request) =>
        request === 0
          ? { events: [start, ping, ...news, ...said.slice(0, -2), cut, ...said.slice(-1)] }
          : request === 1
            ? { events: ProviderStub.messages({ text: "\n\n" }) }
            : { events: ProviderStub.messages({ text: "fine" }) },
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          const [first] = yield* answers
          assert.deepStrictEqual([first?.content, first?.finishReason], [[{ type: "text", text: "ok" }], "length"])
          yield* ask(agent, "more")
          yield* ask(agent, "and?")
          assert.deepStrictEqual(
            blocks(stub.requests[2]?.body ?? {}).map((block) => block.text),
            ["go", "ok", "more", "and?"]
          )
        })
    )
  })

  it.effect("gives thoughts back with their signature", () =>
    converse(
      wire,
      () => ({ events: ProviderStub.messages({ reasoning: "hm", text: "ok" }) }),
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          yield* ask(agent, "again")
          const thought = blocks(stub.requests[1]?.body ?? {}).find(({ type }) => type === "thinking")
          assert.deepStrictEqual(thought, { type: "thinking", thinking: "hm", signature: "signed" })
        })
    )
  )
})
