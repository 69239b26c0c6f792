/**
 * The tool by which a model keeps its todo list.
 *
 * @since 0.1.0
 */
import { CurrentAgent } from "@afterturn/agent/Agent"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { TodoSummary } from "./Todo.js"
import { Todo } from "./Todo.js"
import type { TodoSettings } from "./TodoConfig.js"
import { TodoConfig } from "./TodoConfig.js"
import { TodoCounts, TodoItem } from "./TodoItem.js"
import { countsText } from "./TodoList.js"
import { TodoWrite } from "./TodoLog.js"

/**
 * Why a call was refused, for the model: the list is as it was. `not_stored` means that the list was fine and the session's store
 * was not.
 *
 * @since 0.1.0
 * @category errors
 */
export class TodoToolError extends Schema.TaggedError<TodoToolError>("@afterturn/todo/TodoToolError")("TodoToolError", {
  code: Schema.Literal("invalid_todo", "duplicate_content", "too_many_in_progress", "no_owning_session", "not_stored"),
  message: Schema.String
}) {}

const description = ({ allowParallelInProgress, clearOn }: TodoSettings): string =>
  [
    "Keeps a todo list for work of several steps and shows its progress; leave it out for a single simple step.",
    "Send the whole list each time: it replaces the former one, and an empty list clears it.",
    "Before you start, add one todo for each concrete step, each on one line and worded unlike the others.",
    allowParallelInProgress
      ? "While work remains, mark every todo that is being worked on in_progress; several at once when they run in parallel."
      : "While work remains, keep exactly one todo in_progress: a list with more than one is refused.",
    "Mark a todo completed as soon as it is done.",
    "When work that you delegated or left running in the background completes, update the list to reflect it: nothing else will.",
    clearOn === "every-turn"
      ? "Each turn begins without a list."
      : "A turn that a notice, a reminder or a goal round opens keeps the list; any other begins without one."
  ].join(" ")

const make = (settings: TodoSettings) =>
  Tool.make("todo_write", {
    description: description(settings),
    parameters: {
      todos: Schema.Array(TodoItem).annotations({ description: "The whole list; it replaces the former one" })
    },
    success: Schema.Struct({ todos: Schema.Array(TodoItem), counts: TodoCounts }),
    failure: TodoToolError,
    // So that a model reads why, also under a runtime that would end on an error.
    failureMode: "return"
  })
    .annotate(Tool.Title, "Write the todo list")
    .annotate(Tool.Destructive, false)
    .annotate(Tool.Idempotent, true)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (value: TodoSummary) => countsText(value.counts))

/**
 * The toolkit. The description depends on the configuration, the parameters don't.
 *
 * @since 0.1.0
 * @category toolkits
 */
export const toolkit = (settings: TodoSettings) => Toolkit.make(make(settings))

/**
 * The handlers of a toolkit. A call acts on the session of the agent that makes it and can name no other.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHandlers = (
  settings: TodoSettings
): Layer.Layer<Tool.HandlersFor<ReturnType<typeof toolkit>["tools"]>, never, Todo> =>
  toolkit(settings).toLayer(
    Effect.map(Todo, (service) => ({
      todo_write: ({ todos }: { readonly todos: ReadonlyArray<TodoItem> }) =>
        Effect.flatMap(
          Effect.serviceOption(CurrentAgent),
          Option.match({
            onNone: () => Effect.fail(noOwningSession),
            onSome: (agent) => Effect.mapError(service.write(agent.id, todos), refusal)
          })
        )
    }))
  )

const noOwningSession = new TodoToolError({
  code: "no_owning_session",
  message: "a todo list belongs to an agent's session and this call was made outside one; nothing was stored"
})

type WriteError = Effect.Effect.Error<ReturnType<(typeof Todo)["Service"]["write"]>>

const refusal = (error: WriteError): TodoToolError =>
  new TodoToolError({
    code: "code" in error ? error.code : "not_stored",
    message: `${error.message}; the list is unchanged`
  })

/**
 * Registers the tool.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Todo | TodoConfig | ToolRegistry.ToolRegistry> = Layer.unwrapEffect(
  Effect.map(TodoConfig, (settings) =>
    ToolRegistry.layerToolkit(toolkit(settings), {
      package: "@afterturn/todo",
      requires: ["Todo", "an agent that makes the call"],
      writes: [TodoWrite.type],
      note: `allowParallelInProgress: ${settings.allowParallelInProgress} (required, no default; the description follows it), clearOn: ${settings.clearOn}`
    }).pipe(Layer.provide(layerHandlers(settings)))
  )
)
