import * as TodoItem from "@afterturn/todo/TodoItem"
import { assert, describe, it } from "@effect/vitest"

describe("TodoItem", () => {
  it("names at most five of the offenders in a message and counts the rest", () => {
    const positions = Array.from({ length: 12 }, (_, index) => index)
    const error = new TodoItem.TooManyTodosInProgress({ positions, contents: positions.map((n) => `task ${n}`) })
    assert.include(error.message, "got 12")
    assert.include(error.message, 'todos[4] "task 4" and 7 more')
    assert.notInclude(error.message, "task 5")
  })

  it("keeps what a content holds from forging a message", () => {
    const error = new TodoItem.DuplicateTodo({ first: 0, second: 1, content: "a\nok: all stored\u001b[2J\u202e" })
    assert.notMatch(error.message, /[\n\u001b\u202e]/)
    assert.include(error.message, "a\\u{a}ok: all stored\\u{1b}[2J\\u{202e}")
  })

  it("shows a long content short", () => {
    const error = new TodoItem.DuplicateTodo({ first: 0, second: 1, content: "👩".repeat(5000) })
    assert.include(error.message, `"${"👩".repeat(80)}…"`)
  })

  it("has a code on each error that a model reads", () => {
    assert.strictEqual(new TodoItem.InvalidTodo({ path: "todos", reason: "" }).code, "invalid_todo")
    assert.strictEqual(
      new TodoItem.TodoLimitExceeded({ path: "todos", limit: "items", maximum: 1, actual: 2 }).code,
      "invalid_todo"
    )
    assert.strictEqual(new TodoItem.DuplicateTodo({ first: 0, second: 1, content: "" }).code, "duplicate_content")
    assert.strictEqual(
      new TodoItem.TooManyTodosInProgress({ positions: [], contents: [] }).code,
      "too_many_in_progress"
    )
  })
})
