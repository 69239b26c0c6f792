import * as Anthropic from "@afterturn/agent/AgentModel/Anthropic"
import { describe } from "@effect/vitest"
import type { Wire } from "../../support/contracts/AgentModel.js"
import { suite } from "../../support/contracts/AgentModel.js"
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

describe("Anthropic", () => {
  suite(wire)
})
