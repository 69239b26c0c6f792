import * as OpenAi from "@afterturn/agent/AgentModel/OpenAi"
import { describe } from "@effect/vitest"
import type { Wire } from "../../support/contracts/AgentModel.js"
import { suite } from "../../support/contracts/AgentModel.js"
import * as ProviderStub from "../../support/ProviderStub.js"

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
})

describe("an OpenAI-compatible server, in the Chat Completions format", () => {
  suite(chat)
})
