/**
 * `afterturn todo …`
 *
 * @since 0.1.0
 */

import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Todo from "@afterturn/todo/Todo"
import { counts, countsText } from "@afterturn/todo/TodoList"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { Handler } from "../Commands.js"
import { todoConfig } from "../Compose/Todo.js"
import { jsonText } from "../internal/json.js"
import { withExistingStore } from "../internal/withStore.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import type { SessionOptions } from "./sessions.js"

/**
 * Shows the todo list of a session, or every list that it showed.
 *
 * @since 0.1.0
 * @category commands
 */
export const show = ({ db, history, id }: SessionOptions & { readonly history: boolean }): Handler =>
  withExistingStore(
    db,
    (history ? showHistory(id) : showPresent(id)).pipe(Effect.provide(Todo.layer.pipe(Layer.provide(todoConfig))))
  )

const showPresent = (id: SessionOptions["id"]) =>
  Effect.gen(function* () {
    const output = yield* Output
    const todo = yield* Todo.Todo
    // Says that there is no such session, rather than that it has no list.
    yield* Effect.flatMap(SessionLog, (log) => log.header(id))
    const todos = yield* todo.get(id)
    if (output.json) return yield* output.line(jsonText({ todos, counts: counts(todos ?? []) }, output))
    yield* output.line(todos === null ? "no todo list" : `${Render.checklist(todos)}\n\n${countsText(counts(todos))}`)
  })

const showHistory = (id: SessionOptions["id"]) =>
  Effect.gen(function* () {
    const output = yield* Output
    const todo = yield* Todo.Todo
    if (output.json) {
      const versions = yield* Stream.runCollect(todo.history(id))
      return yield* output.line(jsonText(Array.from(versions), output))
    }
    const shown = yield* Stream.runFoldEffect(todo.history(id), 0, (count, version) =>
      Effect.as(output.line(`${count === 0 ? "" : "\n"}${Render.todoVersion(version, output)}`), count + 1)
    )
    if (shown === 0) yield* output.line("no todo list")
  })
