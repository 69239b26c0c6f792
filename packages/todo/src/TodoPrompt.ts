/**
 * A section of the system prompt that states the list which a turn begins with.
 *
 * @since 0.1.0
 */
import * as SystemPrompt from "@afterturn/agent/SystemPrompt"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Todo } from "./Todo.js"
import type { TodoItem } from "./TodoItem.js"
import { toChecklist } from "./TodoList.js"

/** Characters of a list that the section shows at most. */
const maxShown = 20_000

/** Whole lines, as many as fit. */
const shown = (todos: ReadonlyArray<TodoItem>): string => {
  let length = 0
  let fitting = 0
  while (fitting < todos.length) {
    length += todos[fitting]!.content.length
    if (length > maxShown) break
    fitting++
  }
  const rest = todos.length - fitting
  return toChecklist(todos.slice(0, fitting)) + (rest === 0 ? "" : `\n(${rest} more, left out here)`)
}

/**
 * Adds the section. It is there only in turns that keep a list, so that the list is in front of the model once more after the
 * call that wrote it was summarized away; it states and asks for nothing. Whole todos of up to 20,000 characters are shown.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Todo | SystemPrompt.SystemPrompt> = Layer.effectDiscard(
  Effect.gen(function* () {
    const todo = yield* Todo
    const prompt = yield* SystemPrompt.SystemPrompt
    yield* prompt.section({
      key: "todos",
      order: 950,
      text: (agent) =>
        todo.get(agent.id).pipe(
          Effect.map((todos) =>
            todos === null || todos.length === 0 ? "" : `The todo list as this turn starts:\n${shown(todos)}`
          ),
          // The turn goes on without the section: a session that cannot be read fails where it matters.
          Effect.catchAll((error) => Effect.as(Effect.logWarning("the todo list could not be read", error), ""))
        )
    })
  })
)
