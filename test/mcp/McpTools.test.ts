import { parametersOf } from "@afterturn/agent/ToolCatalog"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as McpTools from "@afterturn/mcp/McpTools"
import * as Tool from "@effect/ai/Tool"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Session from "./support/session.js"

const all = Effect.flatMap(ToolRegistry, ({ tools }) => tools())

describe("a tool", () => {
  it.effect("has the schema of its parameters, as every catalog has it", () =>
    Effect.gen(function* () {
      for (const registered of yield* all) {
        const { description, inputSchema, name } = McpTools.definition(registered)
        assert.strictEqual(name, registered.tool.name)
        assert.strictEqual(description, registered.tool.description)
        assert.deepStrictEqual(inputSchema, parametersOf(registered.tool) as never)
        assert.strictEqual(inputSchema.type, "object")
      }
    }).pipe(Effect.provide(Session.layer))
  )

  it.effect("that takes nothing says so", () =>
    Effect.gen(function* () {
      const list = (yield* all).find(({ tool }) => tool.name === "job_list")
      const { inputSchema } = McpTools.definition(list as never)
      assert.deepInclude(inputSchema, { type: "object", properties: {}, additionalProperties: false })
    }).pipe(Effect.provide(Session.layer))
  )

  it.effect("tells of its manner what is known, and no more", () =>
    Effect.gen(function* () {
      const hints = Object.fromEntries(
        (yield* all).map((registered) => [registered.tool.name, McpTools.definition(registered).annotations])
      )
      assert.deepStrictEqual(hints, {
        todo_write: {
          title: "Write the todo list",
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false
        },
        job_output: { title: "Read a background job", destructiveHint: false, openWorldHint: false },
        job_list: { title: "List background jobs", readOnlyHint: true, openWorldHint: false },
        job_kill: {
          title: "Stop a background job",
          destructiveHint: true,
          idempotentHint: true,
          openWorldHint: false
        }
      })
      const bare = Tool.make("bare", { description: "says nothing of itself" })
      assert.notProperty(McpTools.definition({ tool: bare } as never), "annotations")
    }).pipe(Effect.provide(Session.layer))
  )
})
