import type { Agent } from "@afterturn/agent/Agent"
import { mcpPrompts } from "@afterturn/cli/Compose/McpPrompts"
import { McpPrompts } from "@afterturn/mcp/McpPrompts"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const layer = mcpPrompts.pipe(
  Layer.provideMerge(Todo.layer),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: true, clearOn: "user-turn" })),
  Layer.provideMerge(layerMemory)
)

const id = "s1" as SessionId

const text = (name: string, argument = "") =>
  Effect.gen(function* () {
    const prompt = (yield* Effect.flatMap(McpPrompts, ({ all }) => all)).find((each) => each.name === name)
    return yield* prompt?.text({ id } as Agent, argument) ?? Effect.dieMessage("no such prompt")
  })

describe("the prompts of the command", () => {
  it.effect("show the todo list and ask for it to be kept, or for one more", () =>
    Effect.gen(function* () {
      yield* Effect.flatMap(SessionLog, (log) => log.create({ id }))
      assert.match(yield* text("todo"), /^The session's todo list is empty\.\n\nShow it to me/)
      yield* Effect.flatMap(Todo.Todo, (todo) => todo.write(id, [{ content: "Read", status: "pending" }]))
      assert.match(yield* text("todo", "buy milk"), /^The session's todo list:\n\n\[ \] Read\n\nAdd this .*: buy milk$/)
    }).pipe(Effect.provide(layer))
  )

  it.effect("set a goal, or ask how it stands", () =>
    Effect.gen(function* () {
      assert.match(yield* text("goal"), /get_goal/)
      assert.match(yield* text("goal", "tidy up"), /create_goal.*: tidy up$/)
    }).pipe(Effect.provide(layer))
  )
})
