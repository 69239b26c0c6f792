import * as McpPrompts from "@afterturn/mcp/McpPrompts"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

const prompt = (name: string, title: string): McpPrompts.McpPrompt => ({
  name,
  title,
  description: "a prompt",
  tool: "tool",
  text: () => Effect.succeed(title)
})

describe("prompts", () => {
  it.effect("stand in the order in which they came, one of each name", () =>
    Effect.gen(function* () {
      const prompts = yield* McpPrompts.McpPrompts
      for (const each of [prompt("a", "first"), prompt("b", "second"), prompt("a", "third")]) yield* prompts.add(each)
      assert.deepStrictEqual(
        (yield* prompts.all).map(({ title }) => title),
        ["third", "second"]
      )
    }).pipe(Effect.provide(McpPrompts.layer))
  )
})
