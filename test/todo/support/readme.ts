import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { layer, Todo } from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import { toChecklist } from "@afterturn/todo/TodoList"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const program = Effect.gen(function* () {
  const log = yield* SessionLog
  const todo = yield* Todo
  const { id } = yield* log.create()
  yield* todo.write(id, [
    { content: "Find the cause", status: "completed" },
    { content: "Write a test that fails", status: "in_progress" },
    { content: "Repair it", status: "pending" }
  ])
  const todos = yield* todo.get(id)
  return toChecklist(todos ?? [])
})

// [x] Find the cause
// [~] Write a test that fails
// [ ] Repair it
export const main = program.pipe(
  Effect.provide(
    layer.pipe(
      Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: false })),
      Layer.provideMerge(layerMemory)
    )
  )
)
