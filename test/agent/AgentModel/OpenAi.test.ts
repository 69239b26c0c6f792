import * as AgentMessage from "@afterturn/agent/AgentMessage"
import * as OpenAi from "@afterturn/agent/AgentModel/OpenAi"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Support from "../../support/agents.js"
import type { Wire } from "../../support/contracts/AgentModel.js"
import { ask, converse, errorCode, isRetry, suite } from "../../support/contracts/AgentModel.js"
import * as ProviderStub from "../../support/ProviderStub.js"

const id = "s1" as SessionId

interface Item {
  readonly [key: string]: unknown
}

const items = (body: Record<string, unknown>, list: string): ReadonlyArray<Item> => body[list] as ReadonlyArray<Item>

const common = {
  keyHeader: (key: string) => ["authorization", `Bearer ${key}`] as const,
  overflow: {
    status: 400,
    body: {
      error: {
        code: "context_length_exceeded",
        message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
        type: "invalid_request_error"
      }
    }
  }
}

const responses: Wire = {
  ...common,
  path: "/responses",
  model: ({ baseUrl, ...options }) => OpenAi.layer({ model: "stub-1", ...options, baseUrl: `${baseUrl}/responses` }),
  says: ProviderStub.responses,
  overloaded: `data: {"type":"error","sequence_number":2,"code":"server_overloaded","message":"no capacity"}\n\n`,
  ping: `data: {"type":"keepalive","sequence_number":2}\n\n`,
  results: (body) =>
    items(body, "input")
      .filter((item) => item.type === "function_call_output")
      .map((item) => [item.call_id, item.output]),
  userTexts: (body) =>
    items(body, "input")
      .filter((item) => item.role === "user")
      .flatMap((item) => items(item, "content").map((part) => part.text)),
  toolNames: (body) => items(body, "tools").map((tool) => tool.name)
}

const chat: Wire = {
  ...common,
  path: "/v1/chat/completions",
  model: ({ baseUrl, ...options }) => OpenAi.layer({ model: "stub-1", ...options, baseUrl: `${baseUrl}/v1` }),
  says: ProviderStub.chat,
  overloaded: `data: {"error":{"message":"no capacity","type":"overloaded_error"}}\n\n`,
  ping: `data: {"id":"chatcmpl-1","choices":[{"index":0,"delta":{}}]}\n\n`,
  results: (body) =>
    items(body, "messages")
      .filter((message) => message.role === "tool")
      .map((message) => [message.tool_call_id, message.content]),
  userTexts: (body) =>
    items(body, "messages")
      .filter((message) => message.role === "user")
      .map((message) => message.content),
  toolNames: (body) => items(body, "tools").map((tool) => (tool.function as Item).name)
}

describe("OpenAI, in the Responses format", () => {
  suite(responses)

  it.effect("has the provider keep nothing, and gives sealed thoughts back", () =>
    converse(
      {
        model: ({ baseUrl, ...options }) =>
          OpenAi.layer({ model: "gpt-5", ...options, baseUrl: `${baseUrl}/responses` })
      },
      () => ({ events: ProviderStub.responses({ reasoning: "hm", text: "ok" }) }),
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          yield* ask(agent, "again")
          const body = stub.requests[1]?.body ?? {}
          assert.deepInclude(body, { store: false, include: ["reasoning.encrypted_content"] })
          assert.deepStrictEqual([...new Set(items(body, "tools").map((tool) => tool.strict))], [false])
          assert.deepInclude(items(body, "input")[2], { type: "reasoning", encrypted_content: "sealed" })
          assert.notProperty(items(body, "input")[3], "id")
        })
    )
  )

  it.effect("takes a response that failed for a failure", () =>
    converse(
      responses,
      (request) => {
        const [created = "", ...rest] = ProviderStub.responses({ text: "ok" })
        const error = { code: "server_error", message: "the model broke down" }
        const failed = `data: ${JSON.stringify({ type: "response.failed", response: { error } })}\n\n`
        return { events: request === 0 ? [created, failed] : [created, ...rest] }
      },
      ({ agent, shown, untilShown }) =>
        Effect.gen(function* () {
          yield* agent.followup(AgentMessage.user("go"))
          yield* untilShown(isRetry)
          yield* TestClock.adjust("10 seconds")
          yield* agent.whenIdle
          assert.include(shown.find((item) => item._tag === "Retry")?.message ?? "", "the model broke down")
          assert.strictEqual(yield* errorCode, "completed")
        })
    )
  )
})

describe("an OpenAI-compatible server, in the Chat Completions format", () => {
  suite(chat)

  it.effect("is spoken to in the Responses format when it does not know the other, from then on at once", () =>
    converse(
      chat,
      (_request, { path }) =>
        path === "/v1/responses"
          ? { events: ProviderStub.responses({ text: "ok" }) }
          : { status: 404, body: { error: "no such path" } },
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          yield* ask(agent, "again")
          assert.deepStrictEqual(
            stub.requests.map(({ path }) => path),
            ["/v1/chat/completions", "/v1/responses", "/v1/responses"]
          )
          assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }, { kind: "completed" }])
        })
    )
  )

  it.effect("says what it says of the model when it knows neither", () =>
    converse(
      chat,
      (_request, { path }) => ({
        status: 404,
        body: { error: { message: path === "/v1/chat/completions" ? 'model "stub-1" not found' : "no such path" } }
      }),
      ({ agent }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          const [end] = yield* Support.turnEnds(id)
          assert.include(end?.kind === "error" ? end.error.message : "", 'model "stub-1" not found')
        })
    )
  )

  it.effect("may leave out the place of a call, or give each the same, and say stop", () => {
    const chunk = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ choices: [{ delta, finish_reason }] })}\n\n`
    const call = (text: string, id: string, place: object = {}) =>
      chunk({ tool_calls: [{ ...place, id, function: { name: "bash", arguments: JSON.stringify({ text }) } }] })
    return converse(
      chat,
      (request) =>
        request === 0
          ? { events: [call("1", "a"), call("2", "b"), chunk({}, "stop")] }
          : request === 1
            ? { events: [call("3", "c", { index: 0 }), call("4", "d", { index: 0 }), chunk({}, "stop")] }
            : { events: ProviderStub.chat({ text: "ok" }) },
      ({ agent, stub }) =>
        Effect.gen(function* () {
          yield* ask(agent)
          assert.deepStrictEqual(chat.results(stub.requests[2]?.body ?? {}), [
            ["a", "1"],
            ["b", "2"],
            ["c", "3"],
            ["d", "4"]
          ])
          const calls = items(stub.requests[2]?.body ?? {}, "messages").filter((message) => "tool_calls" in message)
          assert.deepStrictEqual(
            calls.map((message) => items(message, "tool_calls").length),
            [2, 2]
          )
        })
    )
  })
})
