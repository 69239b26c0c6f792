/**
 * The rules of a todo list, as functions over values: what may be written, what differs between two lists, how one is shown.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { characters, comparisonKey, describe, hasBreak, isVisible, oneLine, quote } from "./internal/text.js"
import type { TodoCounts, TodoError, TodoStatus } from "./TodoItem.js"
import { DuplicateTodo, InvalidTodo, TodoItem, TodoLimitExceeded, TooManyTodosInProgress } from "./TodoItem.js"

/**
 * What a new list is held to.
 *
 * @since 0.1.0
 * @category models
 */
export interface TodoPolicy {
  readonly allowParallelInProgress: boolean
  readonly maxItems: number
  readonly maxContentLength: number
  readonly maxTotalLength: number
}

const isStatus = Schema.is(TodoItem.fields.status)

/**
 * Reads a list from whatever was given: contents trimmed, one line each, each with a wording of its own, within the policy. Never
 * throws, whatever the value does. The first problem in order of position is reported; shape comes before wording, wording before
 * the policy.
 *
 * @since 0.1.0
 * @category validation
 */
export const validate = (todos: unknown, policy: TodoPolicy): Either.Either<ReadonlyArray<TodoItem>, TodoError> => {
  let list: Either.Either<ReadonlyArray<TodoItem>, TodoError>
  try {
    list = readList(todos, policy)
  } catch {
    // Reading a property can throw on a value that never was JSON: a getter, a proxy.
    return Either.left(
      new InvalidTodo({ path: "todos", reason: "expected an array of todos, got a value that cannot be read" })
    )
  }
  return Either.flatMap(list, (items) => {
    const problem = findDuplicate(items) ?? (policy.allowParallelInProgress ? undefined : findParallel(items))
    return problem === undefined ? Either.right(items) : Either.left(problem)
  })
}

const readList = (todos: unknown, policy: TodoPolicy): Either.Either<ReadonlyArray<TodoItem>, TodoError> => {
  if (!Array.isArray(todos)) {
    const hint = typeof todos === "object" && todos !== null ? "; wrap the item in [ ]" : ""
    return invalid("todos", `expected an array of todos, got ${describe(todos)}${hint}`)
  }
  const length = todos.length
  if (length > policy.maxItems) {
    return Either.left(
      new TodoLimitExceeded({ path: "todos", limit: "items", maximum: policy.maxItems, actual: length })
    )
  }
  const items: Array<TodoItem> = []
  let total = 0
  for (let position = 0; position < length; position++) {
    const item = readItem(todos[position], `todos[${position}]`, policy)
    if (Either.isLeft(item)) return Either.left(item.left)
    items.push(item.right)
    total += item.right.content.length
  }
  const maximum = policy.maxTotalLength
  return total > maximum
    ? Either.left(new TodoLimitExceeded({ path: "todos", limit: "characters", maximum, actual: total }))
    : Either.right(items)
}

const readItem = (value: unknown, path: string, policy: TodoPolicy): Either.Either<TodoItem, TodoError> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return invalid(path, `expected an object with content and status, got ${describe(value)}`)
  }
  const unknownKey = Object.keys(value).find((key) => key !== "content" && key !== "status")
  if (unknownKey !== undefined) {
    return invalid(path, `expected only content and status, got the key ${quote(unknownKey)} as well`)
  }
  const { content, status } = value as { readonly content?: unknown; readonly status?: unknown }
  const text = readContent(content, `${path}.content`, policy)
  if (Either.isLeft(text)) return Either.left(text.left)
  return isStatus(status)
    ? Either.right({ content: text.right, status })
    : invalid(`${path}.status`, `expected pending, in_progress or completed, got ${describe(status)}`)
}

const readContent = (value: unknown, path: string, policy: TodoPolicy): Either.Either<string, TodoError> => {
  if (typeof value !== "string") return invalid(path, `expected one line of text, got ${describe(value)}`)
  const content = value.trim()
  const maximum = policy.maxContentLength
  // A code point is at most two units, so only a longer text needs counting.
  const actual = content.length > maximum ? characters(content) : content.length
  if (actual > maximum) return Either.left(new TodoLimitExceeded({ path, limit: "characters", maximum, actual }))
  if (hasBreak(content)) {
    return invalid(path, `expected one line without line breaks, tabs and control characters, got ${quote(content)}`)
  }
  return isVisible(content)
    ? Either.right(content)
    : invalid(path, `expected text that can be seen, got ${quote(value)}`)
}

const invalid = (path: string, reason: string): Either.Either<never, TodoError> =>
  Either.left(new InvalidTodo({ path, reason }))

const findDuplicate = (items: ReadonlyArray<TodoItem>): DuplicateTodo | undefined => {
  const seen = new Map<string, number>()
  for (const [second, { content }] of items.entries()) {
    const key = comparisonKey(content)
    const first = seen.get(key)
    if (first !== undefined) return new DuplicateTodo({ first, second, content })
    seen.set(key, second)
  }
  return undefined
}

const findParallel = (items: ReadonlyArray<TodoItem>): TooManyTodosInProgress | undefined => {
  const positions = Array.from(items.keys()).filter((position) => items[position]?.status === "in_progress")
  return positions.length > 1
    ? new TooManyTodosInProgress({ positions, contents: positions.map((position) => items[position]?.content ?? "") })
    : undefined
}

/**
 * How many todos have each status.
 *
 * @since 0.1.0
 * @category accessors
 */
export const counts = (todos: ReadonlyArray<TodoItem>): TodoCounts => {
  let pending = 0
  let inProgress = 0
  for (const { status } of todos) {
    if (status === "pending") pending++
    else if (status === "in_progress") inProgress++
  }
  return { pending, inProgress, completed: todos.length - pending - inProgress }
}

/**
 * Counts as one short line of text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const countsText = ({ completed, inProgress, pending }: TodoCounts): string => {
  const total = pending + inProgress + completed
  return total === 0
    ? "The todo list is empty."
    : `${total} ${total === 1 ? "todo" : "todos"}: ${completed} completed, ${inProgress} in progress, ${pending} pending.`
}

/**
 * Whether two lists hold the same todos in the same order.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isSame = (a: ReadonlyArray<TodoItem>, b: ReadonlyArray<TodoItem>): boolean =>
  a.length === b.length &&
  a.every((item, index) => item.content === b[index]?.content && item.status === b[index].status)

/**
 * What differs between two lists. A todo is known by its content; one that only moved is in none of these.
 *
 * @since 0.1.0
 * @category models
 */
export interface TodoDiff {
  /** In the order of the later list. */
  readonly added: ReadonlyArray<TodoItem>
  /** In the order of the earlier list, with the status that they had. */
  readonly removed: ReadonlyArray<TodoItem>
  /** In the order of the later list. */
  readonly statusChanged: ReadonlyArray<{
    readonly content: string
    readonly from: TodoStatus
    readonly to: TodoStatus
  }>
}

/**
 * What differs between two lists. A log written elsewhere may hold a content twice: its todos are then matched in order.
 *
 * @since 0.1.0
 * @category accessors
 */
export const diff = (before: ReadonlyArray<TodoItem>, after: ReadonlyArray<TodoItem>): TodoDiff => {
  const left = new Map<string, Array<TodoItem>>()
  for (const item of before) {
    const same = left.get(item.content)
    if (same === undefined) left.set(item.content, [item])
    else same.push(item)
  }
  const added: Array<TodoItem> = []
  const statusChanged: Array<TodoDiff["statusChanged"][number]> = []
  const kept = new Set<TodoItem>()
  for (const item of after) {
    const former = left.get(item.content)?.shift()
    if (former === undefined) {
      added.push(item)
      continue
    }
    kept.add(former)
    if (former.status !== item.status) {
      statusChanged.push({ content: item.content, from: former.status, to: item.status })
    }
  }
  return { added, removed: before.filter((item) => !kept.has(item)), statusChanged }
}

const boxes: { readonly [Status in TodoStatus]: string } = { pending: "[ ]", in_progress: "[~]", completed: "[x]" }

/**
 * A list as a checklist, one line a todo: `[ ]` pending, `[~]` in progress, `[x]` completed. What could break a line or reorder it
 * on a screen is shown escaped, for a log written elsewhere may hold it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toChecklist = (todos: ReadonlyArray<TodoItem>): string =>
  todos.map(({ content, status }) => `${boxes[status]} ${oneLine(content)}`).join("\n")
