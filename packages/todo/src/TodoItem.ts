/**
 * A todo, and what a list of them is refused for.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { quote } from "./internal/text.js"

/**
 * `pending` has not begun, `in_progress` is worked on now, `completed` is done.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TodoStatus = Schema.Literal("pending", "in_progress", "completed").annotations({
  description: "pending: not begun; in_progress: worked on now; completed: done"
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type TodoStatus = typeof TodoStatus.Type

/**
 * One todo. The Schema says what is stored and read back; what a new list must keep to beyond it is `TodoList.validate`'s matter,
 * so that a log written under another policy stays readable.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TodoItem = Schema.Struct({
  content: Schema.String.annotations({ description: "What is to be done: one short line in the imperative" }),
  status: TodoStatus
}).annotations({ description: "One todo" })

/**
 * @since 0.1.0
 * @category schemas
 */
export type TodoItem = typeof TodoItem.Type

/**
 * How many todos of a list have each status.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TodoCounts = Schema.Struct({ pending: Schema.Int, inProgress: Schema.Int, completed: Schema.Int })

/**
 * @since 0.1.0
 * @category schemas
 */
export type TodoCounts = typeof TodoCounts.Type

/**
 * A list that has not the shape of one: `path` names the place, such as `todos[0].status`.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidTodo extends Schema.TaggedError<InvalidTodo>("@afterturn/todo/InvalidTodo")("InvalidTodo", {
  path: Schema.String,
  reason: Schema.String
}) {
  readonly code = "invalid_todo"
  override get message(): string {
    return `${this.path}: ${this.reason}`
  }
}

/**
 * More todos than `maxItems`, a content of more characters than `maxContentLength`, or contents of more than `maxTotalLength`
 * together.
 *
 * @since 0.1.0
 * @category errors
 */
export class TodoLimitExceeded extends Schema.TaggedError<TodoLimitExceeded>("@afterturn/todo/TodoLimitExceeded")(
  "TodoLimitExceeded",
  { path: Schema.String, limit: Schema.Literal("items", "characters"), maximum: Schema.Int, actual: Schema.Int }
) {
  readonly code = "invalid_todo"
  override get message(): string {
    return `${this.path}: expected at most ${this.maximum} ${this.limit}, got ${this.actual}`
  }
}

/**
 * Two todos of a list read the same. `first` and `second` are their positions.
 *
 * @since 0.1.0
 * @category errors
 */
export class DuplicateTodo extends Schema.TaggedError<DuplicateTodo>("@afterturn/todo/DuplicateTodo")("DuplicateTodo", {
  first: Schema.Int,
  second: Schema.Int,
  content: Schema.String
}) {
  readonly code = "duplicate_content"
  override get message(): string {
    return (
      `todos[${this.second}].content: reads the same as todos[${this.first}].content, ${quote(this.content)}; ` +
      "expected each todo to have a wording of its own (compared after Unicode NFKC, without invisible characters)"
    )
  }
}

const shownOffenders = 5

/**
 * More than one todo is `in_progress` where the policy allows one. `positions` has all of them.
 *
 * @since 0.1.0
 * @category errors
 */
export class TooManyTodosInProgress extends Schema.TaggedError<TooManyTodosInProgress>(
  "@afterturn/todo/TooManyTodosInProgress"
)("TooManyTodosInProgress", { positions: Schema.Array(Schema.Int), contents: Schema.Array(Schema.String) }) {
  readonly code = "too_many_in_progress"
  override get message(): string {
    const count = this.positions.length
    const offenders = this.positions
      .slice(0, shownOffenders)
      .map((position, index) => `todos[${position}] ${quote(this.contents[index] ?? "")}`)
    const more = count > shownOffenders ? ` and ${count - shownOffenders} more` : ""
    return (
      `expected at most 1 todo in_progress, got ${count}: ${offenders.join(", ")}${more}; ` +
      "keep the one that is worked on now in_progress and set the others to pending or completed"
    )
  }
}

/**
 * Why a list is not accepted. Nothing of it is stored then.
 *
 * @since 0.1.0
 * @category errors
 */
export type TodoError = InvalidTodo | TodoLimitExceeded | DuplicateTodo | TooManyTodosInProgress
