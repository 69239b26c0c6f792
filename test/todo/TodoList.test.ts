import type { TodoItem } from "@afterturn/todo/TodoItem"
import * as TodoList from "@afterturn/todo/TodoList"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import { todoLists } from "./support/arbitraries.js"

const policy: TodoList.TodoPolicy = {
  allowParallelInProgress: false,
  maxItems: 1000,
  maxContentLength: 10_000,
  maxTotalLength: 1_000_000
}
const parallel: TodoList.TodoPolicy = { ...policy, allowParallelInProgress: true }

const accepted = (todos: unknown, under = policy) => Either.getOrThrow(TodoList.validate(todos, under))

const refused = (todos: unknown, under = policy) => {
  const error = Either.getOrThrow(Either.flip(TodoList.validate(todos, under)))
  return `${error.code} ${error.message}`
}

const item = (content: string, status: TodoItem["status"] = "pending"): TodoItem => ({ content, status })

const nearTodos = fc.oneof(
  fc.record({ content: fc.fullUnicodeString(), status: fc.constantFrom("pending", "in_progress", "completed") }),
  fc.record({ content: fc.anything(), status: fc.anything() }, { requiredKeys: [] }),
  fc.dictionary(fc.string(), fc.jsonValue())
)

describe("validate", () => {
  it("takes a list as it is, and an empty one", () => {
    const list = [item("write the parser", "completed"), item("test it", "in_progress"), item("ship it")]
    assert.deepStrictEqual(accepted(list), list)
    assert.deepStrictEqual(accepted([]), [])
  })

  it("trims contents, line breaks at their ends as well", () => {
    assert.deepStrictEqual(accepted([item("  a \n"), item("\u00a0b\ufeff")]), [item("a"), item("b")])
  })

  it("says to wrap a single todo in an array, the same each time", () => {
    const single = { content: "write report", status: "pending" }
    assert.strictEqual(
      refused(single),
      "invalid_todo todos: expected an array of todos, got an object; wrap the item in [ ]"
    )
    assert.strictEqual(refused(single), refused({ ...single }))
  })

  it("names the place of what is missing or wrong", () => {
    for (const [todos, message] of [
      [undefined, "invalid_todo todos: expected an array of todos, got nothing"],
      [null, "invalid_todo todos: expected an array of todos, got null"],
      ["[]", 'invalid_todo todos: expected an array of todos, got "[]"'],
      [[null], "invalid_todo todos[0]: expected an object with content and status, got null"],
      [[42], "invalid_todo todos[0]: expected an object with content and status, got the number 42"],
      [[[]], "invalid_todo todos[0]: expected an object with content and status, got an array"],
      [[{ content: "a" }], "invalid_todo todos[0].status: expected pending, in_progress or completed, got nothing"],
      [[{ status: "pending" }], "invalid_todo todos[0].content: expected one line of text, got nothing"],
      [
        [item("a"), { content: 1, status: "pending" }],
        "invalid_todo todos[1].content: expected one line of text, got the number 1"
      ],
      [
        [{ content: "a", status: "done" }],
        'invalid_todo todos[0].status: expected pending, in_progress or completed, got "done"'
      ],
      [[item("")], 'invalid_todo todos[0].content: expected text that can be seen, got ""'],
      [[item(" \t ")], 'invalid_todo todos[0].content: expected text that can be seen, got " \\u{9} "'],
      [
        [{ ...item("a"), priority: 1 }],
        'invalid_todo todos[0]: expected only content and status, got the key "priority" as well'
      ]
    ] as const) {
      assert.strictEqual(refused(todos), message)
    }
  })

  it("refuses a key that JSON can smuggle past a spread", () => {
    assert.include(
      refused(JSON.parse('[{"content":"a","status":"pending","__proto__":{}}]')),
      'got the key "__proto__"'
    )
  })

  it("refuses line breaks, control characters and separators inside a content", () => {
    for (const character of [
      "\n",
      "\r",
      "\t",
      "\0",
      "\u0007",
      "\u001b",
      "\u007f",
      "\u0085",
      "\u009b",
      "\u2028",
      "\u2029"
    ]) {
      const message = refused([item(`a${character}b`)])
      assert.include(message, "invalid_todo todos[0].content: expected one line", JSON.stringify(character))
      assert.notInclude(message, character)
    }
  })

  it("takes joiners, marks, emoji and text from right to left", () => {
    const list = [item("👩‍👩‍👧 am Tisch"), item("نقد و بررسی"), item("‏שלום"), item("e\u0301clair"), item("❤️")]
    assert.deepStrictEqual(accepted(list), list)
  })

  it("refuses a content that cannot be seen", () => {
    for (const content of ["\u200b", "\u2060\u00ad", "\ufe0f", "\u200b \u200b", "\u3164"]) {
      assert.include(
        refused([item(content)]),
        "todos[0].content: expected text that can be seen",
        JSON.stringify(content)
      )
    }
  })

  it("refuses two that read the same", () => {
    for (const [a, b] of [
      ["a", "a"],
      ["a", " a\n"],
      ["run tests", "run\u200b tests"],
      ["run tests", "run\u00a0tests"],
      ["file", "ﬁle"],
      ["é", "e\u0301"],
      ["a", "a\ufe0f"],
      ["abc", "ａｂｃ"]
    ] as const) {
      assert.match(
        refused([item("x"), item(a), item(b, "completed")]),
        /^duplicate_content todos\[2\]\.content: reads the same as todos\[1\]/
      )
    }
  })

  it("takes two that differ in what can be seen", () => {
    const list = [item("a"), item("A"), item("a b"), item("a  b"), item("á"), item("ab")]
    assert.deepStrictEqual(accepted(list), list)
  })

  it("refuses several in progress by position and content, and counts them", () => {
    const list = [item("a", "in_progress"), item("b", "in_progress"), item("c")]
    assert.match(
      refused(list),
      /^too_many_in_progress expected at most 1 todo in_progress, got 2: todos\[0\] "a", todos\[1\] "b"; keep/
    )
    assert.deepStrictEqual(accepted(list, parallel), list)
  })

  it("reports shape before wording and wording before the policy", () => {
    const both = [item("a", "in_progress"), item("a", "in_progress")]
    assert.match(refused(both), /^duplicate_content/)
    assert.match(refused([...both, null]), /^invalid_todo todos\[2\]/)
  })

  it("limits the number of todos", () => {
    const list = Array.from({ length: 1000 }, (_, n) => item(`task ${n}`))
    assert.strictEqual(accepted(list).length, 1000)
    assert.strictEqual(
      refused([...list, item("one more")]),
      "invalid_todo todos: expected at most 1000 items, got 1001"
    )
    assert.strictEqual(
      refused([item("a"), item("b")], { ...policy, maxItems: 1 }),
      "invalid_todo todos: expected at most 1 items, got 2"
    )
  })

  it("limits a content by code points after trimming", () => {
    assert.strictEqual(accepted([item(`  ${"x".repeat(10_000)}  `)]).length, 1)
    assert.strictEqual(accepted([item("👩".repeat(10_000))]).length, 1)
    assert.strictEqual(
      refused([item("a"), item("x".repeat(10_001))]),
      "invalid_todo todos[1].content: expected at most 10000 characters, got 10001"
    )
    assert.match(refused([item("👩".repeat(10_001))]), /got 10001$/)
    assert.match(refused([item("abc")], { ...policy, maxContentLength: 2 }), /at most 2 characters, got 3$/)
  })

  it("limits the contents of a list together", () => {
    const list = Array.from({ length: 100 }, (_, n) => item(` ${"x".repeat(9997)}${100 + n} `))
    assert.strictEqual(accepted(list).length, 100)
    assert.strictEqual(
      refused([...list, item("y")]),
      "invalid_todo todos: expected at most 1000000 characters, got 1000001"
    )
  })

  it("compares the worst that the limits allow within the time that a test has", () => {
    // Marks in an order that normalization has to sort, in quadratic time: about half a minute when compared as they are.
    const marks = "\u0315\u0300".repeat(4900)
    const list = Array.from({ length: 1000 }, (_, n) => item(`${n}${marks}`))
    assert.strictEqual(accepted(list, { ...policy, maxTotalLength: 10_000_000 }).length, 1000)
    assert.match(refused([...list.slice(0, 2), item(`1\u200b${marks}`)]), /^duplicate_content todos\[2\]/)
  })

  it("answers whatever is given, also what cannot be read", () => {
    const throwing = () => {
      throw new Error("no")
    }
    const hostile: ReadonlyArray<unknown> = [
      new Proxy([], { get: throwing }),
      [new Proxy({}, { ownKeys: throwing })],
      [Object.defineProperty({ status: "pending" }, "content", { enumerable: true, get: throwing })],
      Proxy.revocable([], {}).proxy,
      [Object.create(null)],
      [Symbol("a")],
      [1n],
      throwing,
      new Array(5),
      Number.NaN
    ]
    const revoked = Proxy.revocable([], {})
    revoked.revoke()
    for (const value of [...hostile, revoked.proxy]) {
      const result = TodoList.validate(value, policy)
      if (Either.isRight(result)) assert.deepStrictEqual(result.right, [])
      else assert.strictEqual(result.left.code, "invalid_todo")
    }
  })

  const oneLine = (value: unknown) => {
    const result = TodoList.validate(value, policy)
    if (Either.isLeft(result)) assert.notMatch(result.left.message, /[\n\r\u2028\u2029]/)
  }
  const many = { fastCheck: { numRuns: 500 } }

  it.prop("answers arbitrary JSON with one line of text", [fc.jsonValue()], ([value]) => oneLine(value), many)

  it.prop("answers arbitrary values with one line of text", [fc.anything()], ([value]) => oneLine(value), many)

  it.prop("answers what is nearly a list with one line of text", [fc.array(nearTodos)], ([list]) => oneLine(list), many)

  it.prop("accepts what it accepted once more, unchanged", [todoLists], ([todos]) => {
    const once = accepted(todos, parallel)
    assert.deepStrictEqual(accepted(once, parallel), once)
  })
})

describe("counts", () => {
  it("counts by status and says so in one short line", () => {
    const counts = TodoList.counts([
      item("a"),
      item("b", "in_progress"),
      item("c", "completed"),
      item("d", "completed")
    ])
    assert.deepStrictEqual(counts, { pending: 1, inProgress: 1, completed: 2 })
    assert.strictEqual(TodoList.countsText(counts), "4 todos: 2 completed, 1 in progress, 1 pending.")
    assert.strictEqual(
      TodoList.countsText(TodoList.counts([item("a")])),
      "1 todo: 0 completed, 0 in progress, 1 pending."
    )
    assert.strictEqual(TodoList.countsText(TodoList.counts([])), "The todo list is empty.")
  })
})

describe("isSame", () => {
  it("minds content, status, order and length", () => {
    const list = [item("a"), item("b", "completed")]
    assert.isTrue(TodoList.isSame(list, [{ ...item("a") }, item("b", "completed")]))
    assert.isFalse(TodoList.isSame(list, [item("b", "completed"), item("a")]))
    assert.isFalse(TodoList.isSame(list, [item("a"), item("b")]))
    assert.isFalse(TodoList.isSame(list, [item("a")]))
    assert.isFalse(TodoList.isSame([], list))
  })
})

describe("diff", () => {
  it("tells added, removed and changed todos", () => {
    const before = [item("keep"), item("drop", "completed"), item("move on", "pending")]
    const after = [item("new"), item("move on", "in_progress"), item("keep")]
    assert.deepStrictEqual(TodoList.diff(before, after), {
      added: [item("new")],
      removed: [item("drop", "completed")],
      statusChanged: [{ content: "move on", from: "pending", to: "in_progress" }]
    })
  })

  it("is empty for the same todos in another order", () => {
    const nothing = { added: [], removed: [], statusChanged: [] }
    assert.deepStrictEqual(TodoList.diff([item("a"), item("b")], [item("b"), item("a")]), nothing)
  })

  it("matches a content that stands twice in order", () => {
    assert.deepStrictEqual(TodoList.diff([item("a"), item("a", "completed")], [item("a", "in_progress")]), {
      added: [],
      removed: [item("a", "completed")],
      statusChanged: [{ content: "a", from: "pending", to: "in_progress" }]
    })
  })

  it.prop("turns the earlier list into the later one", [todoLists, todoLists], ([before, after]) => {
    const { added, removed, statusChanged } = TodoList.diff(before, after)
    const gone = new Set(removed.map(({ content }) => content))
    const changed = new Map(statusChanged.map((change) => [change.content, change]))
    const result = before
      .filter(({ content }) => !gone.has(content))
      .map((todo) => ({ ...todo, status: changed.get(todo.content)?.to ?? todo.status }))
    const byContent = (a: TodoItem, b: TodoItem) => (a.content < b.content ? -1 : 1)
    assert.deepStrictEqual([...result, ...added].sort(byContent), [...after].sort(byContent))
    for (const { content, from } of statusChanged) assert.deepInclude(before, { content, status: from })
  })
})

describe("toChecklist", () => {
  it("shows one line a todo", () => {
    assert.strictEqual(
      TodoList.toChecklist([item("a", "completed"), item("b", "in_progress"), item("c")]),
      "[x] a\n[~] b\n[ ] c"
    )
    assert.strictEqual(TodoList.toChecklist([]), "")
  })

  it("shows escaped what an old log may hold", () => {
    assert.strictEqual(
      TodoList.toChecklist([item("a\n[x] forged\u001b[31m\u202ed\u2028e")]),
      "[ ] a\\u{a}[x] forged\\u{1b}[31m\\u{202e}d\\u{2028}e"
    )
  })
})
