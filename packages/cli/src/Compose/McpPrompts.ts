/**
 * What a person can choose in an MCP client.
 *
 * @since 0.1.0
 */
import * as McpPrompts from "@afterturn/mcp/McpPrompts"
import { Todo } from "@afterturn/todo/Todo"
import { toChecklist } from "@afterturn/todo/TodoList"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * `/todo` shows the list and asks for it to be kept, `/goal` sets a goal or asks how it stands.
 *
 * @since 0.1.0
 * @category layers
 */
export const mcpPrompts: Layer.Layer<McpPrompts.McpPrompts, never, Todo> = Layer.suspend(() =>
  Layer.mergeAll(McpPrompts.layerPrompt(todo), McpPrompts.layerPrompt(Effect.succeed(goal))).pipe(
    Layer.provideMerge(McpPrompts.layer)
  )
)

const todo = Effect.map(
  Todo,
  (service): McpPrompts.McpPrompt => ({
    name: "todo",
    title: "Todo list",
    description: "Shows the session's todo list, and says what to add to it.",
    tool: "todo_write",
    argument: { name: "item", description: "What to add; nothing to go on with the list as it is" },
    text: (agent, item) =>
      Effect.map(
        Effect.orElseSucceed(service.get(agent.id), () => null),
        (todos) =>
          [
            todos === null || todos.length === 0
              ? "The session's todo list is empty."
              : `The session's todo list:\n\n${toChecklist(todos)}`,
            item === ""
              ? "Show it to me, go on with what is open, and keep the list with todo_write."
              : `Add this to it with todo_write, which takes the whole list: ${item}`
          ].join("\n\n")
      )
  })
)

const goal: McpPrompts.McpPrompt = {
  name: "goal",
  title: "Goal",
  description: "Sets the session's goal, or asks how it stands.",
  tool: "create_goal",
  argument: { name: "objective", description: "What is to be achieved; nothing to see the present goal" },
  text: (_, objective) =>
    Effect.succeed(
      objective === ""
        ? "Look with get_goal how the goal of this session stands, and tell me."
        : `I want this session to reach a goal. Set it with create_goal, in these words, and begin with it: ${objective}`
    )
}
