import * as ChatState from "@afterturn/cli/chat/ChatState"
import * as LineEditor from "@afterturn/cli/chat/LineEditor"
import * as Row from "@afterturn/cli/chat/Row"
import * as Transcript from "@afterturn/cli/chat/Transcript"
import * as View from "@afterturn/cli/chat/View"
import type { TodoItem, TodoStatus } from "@afterturn/todo/TodoItem"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const plain = (rows: ReadonlyArray<Row.Row>): ReadonlyArray<string> =>
  rows.map((row) => Row.encode(row, { color: false }))

const todo = (content: string, status: TodoStatus): TodoItem => ({ content, status })

const idle = ChatState.make({ title: "scripted:demo", now: 0, transcript: Transcript.make() })

const withText = (...deltas: ReadonlyArray<string>): Transcript.Transcript =>
  deltas.reduce((state, delta) => Transcript.add(state, { _tag: "Text", turn: 1, step: 1, delta }), Transcript.make())

const live = (state: ChatState.ChatState, size = { columns: 40, rows: 20 }, input = true) =>
  plain(View.frame(state, size, { input })[0].live)

describe("settle", () => {
  it("gives each row once, however the text arrives and whatever the width", () => {
    const words = fc.array(fc.constantFrom("one ", "two\n", "日本語", "a-long-word-of-many-letters ", "\n\n", "x"), {
      maxLength: 20
    })
    fc.assert(
      fc.property(words, fc.integer({ min: 6, max: 30 }), (deltas, columns) => {
        let transcript = Transcript.make()
        const rows: Array<Row.Row> = []
        for (const delta of deltas) {
          const grown = Transcript.add(transcript, { _tag: "Text", turn: 1, step: 1, delta })
          const [above, tail, rest] = View.settle(grown, columns)
          rows.push(...above)
          transcript = rest
          assert.isAtMost(tail.length, 1)
        }
        const [last] = View.settle(Transcript.note(transcript, []), columns)
        const [whole] = View.settle(Transcript.note(withText(deltas.join("")), []), columns)
        assert.deepStrictEqual(plain([...rows, ...last]), plain(whole))
      }),
      { numRuns: 300 }
    )
  })
})

describe("frame", () => {
  it("has the row that text is added to, the checklist, what waits, the status and the input", () => {
    const transcript: Transcript.Transcript = {
      ...withText("one\ntwo"),
      turn: 2,
      running: [{ callId: "1", name: "bash", input: {} }],
      waiting: [{ id: "m", source: { kind: "user" }, content: [{ type: "text", text: "and\nthen" }] }]
    }
    const state: ChatState.ChatState = {
      ...idle,
      transcript,
      todos: [todo("a", "completed"), todo("b", "in_progress"), todo("c", "pending")],
      status: "running",
      now: 65_000,
      editor: LineEditor.setText(idle.editor, "next")
    }
    const [frame, settled] = View.frame(state, { columns: 70, rows: 20 }, { input: true })
    assert.deepStrictEqual(plain(frame.above), ["one"])
    assert.deepStrictEqual(
      plain(frame.live).map((row) => row.replace(/^[⠀-⣿]/, "*")),
      [
        "two",
        "",
        "  ☑ a",
        "  ▸ b",
        "  ☐ c",
        "waiting: and⏎then",
        "* turn 2: runs bash · 1 min 5 s · scripted:demo · Ctrl-C stops",
        "› next"
      ]
    )
    assert.deepStrictEqual(frame.cursor, { row: 7, column: 6 })
    assert.deepStrictEqual(settled.transcript.lines, [])
  })

  it("has the jobs that run with their age, few of many, and a question in place of the status", () => {
    const job = (number: number) => ({ id: `bash-${number}`, label: "a\nb\x1b[2J", stopping: false, since: 1_000 })
    const state = { ...idle, now: 63_000, jobs: [job(1), { ...job(2), stopping: true }] }
    assert.deepStrictEqual(live(state).slice(1), [
      "  ⧗ bash-1 1 min 2 s · a⏎b",
      "  ⧗ bash-2 stopping · 1 min 2 s · a⏎b",
      "● ready · scripted:demo · /help",
      "› "
    ])
    const doing = live({ ...state, doings: { "bash-1": "ls(\n\x1b[2J)", "bash-9": "of none" } })
    assert.strictEqual(doing[1], "  ⧗ bash-1 1 min 2 s · a⏎b · ls(⏎)")
    const many = live({ ...state, jobs: Array.from({ length: 9 }, (_, index) => job(index + 1)) })
    assert.lengthOf(many, 7)
    assert.include(many[4], "6 more running")
    assert.isAtMost(live({ ...state, jobs: [job(1), job(2)] }, { columns: 40, rows: 3 }).length, 3)
    const question = { request: { tool: "bash", action: "git log" }, prefix: "git log" }
    assert.include(
      live({ ...idle, question }, { columns: 80, rows: 20 }),
      '? may bash run that? y, n, a for always "git log", then Enter'
    )
  })

  it("says what Ctrl-C does next", () => {
    assert.include(live({ ...idle, status: "running" }).join(), "Ctrl-C stops")
    assert.include(live({ ...idle, armedUntil: 1 }).join(), "Ctrl-C again quits")
  })

  it("has no cursor where there is no input line", () => {
    assert.strictEqual(View.frame(idle, { columns: 40, rows: 20 }, { input: false })[0].cursor, undefined)
    assert.deepStrictEqual(live(idle, undefined, false), ["", "● ready · scripted:demo · Ctrl-C stops"])
  })

  it("cannot be written to by what it shows", () => {
    const state = {
      ...idle,
      title: "t\x1b[2J\n",
      todos: [todo("a\x1b]0;t\x07\nb", "pending")],
      transcript: { ...idle.transcript, running: [{ callId: "1", name: "x\x1b[1A", input: {} }] }
    }
    for (const row of live({ ...state, status: "running" }, { columns: 200, rows: 20 })) {
      assert.notMatch(row, /[\x00-\x1f\x7f-\x9f]/)
    }
  })

  const status = fc.constantFrom<TodoStatus>("pending", "in_progress", "completed")
  const word = fc.constantFrom("word ", "日本語", "👩‍💻", "\n", "a-long-word-of-many-letters")
  const words = fc.array(word, { maxLength: 30 }).map((all) => all.join(""))
  const anyState = fc
    .record({
      todos: fc.array(fc.tuple(words, status), { maxLength: 40 }),
      input: words,
      back: fc.nat(40),
      text: words,
      waiting: fc.array(words, { maxLength: 6 }),
      running: fc.boolean(),
      armed: fc.boolean(),
      jobs: fc.array(words, { maxLength: 12 }),
      asked: fc.option(words)
    })
    .map(({ armed, asked, back, input, jobs, running, text, todos, waiting }): ChatState.ChatState => {
      let editor = LineEditor.setText(idle.editor, input)
      for (let count = 0; count < back; count++) editor = LineEditor.press(editor, { _tag: "Press", name: "left" })
      return {
        ...idle,
        editor,
        todos: todos.map(([content, its]) => todo(content, its)),
        status: running ? "running" : "idle",
        armedUntil: armed ? 1 : undefined,
        jobs: jobs.map((label, index) => ({ id: `bash-${index}`, label, stopping: armed, since: 0 })),
        question:
          asked === null ? undefined : { request: { tool: "bash", action: asked }, prefix: armed ? asked : undefined },
        transcript: {
          ...withText(text),
          waiting: waiting.map((text, index) => ({
            id: `${index}`,
            source: { kind: "user" },
            content: [{ type: "text", text }]
          }))
        }
      }
    })

  it("fits the terminal, whatever it shows and however small that is, with the cursor in it", () => {
    fc.assert(
      fc.property(
        anyState,
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 1, max: 30 }),
        (state, columns, rows) => {
          const [{ cursor, live }] = View.frame(state, { columns, rows }, { input: true })
          assert.isAtMost(live.length, Math.max(1, rows - 1))
          for (const row of live) assert.isAtMost(Row.width(row), Math.max(4, columns - 1))
          assert.isBelow(cursor?.row ?? Number.NaN, live.length)
          assert.isAtMost(cursor?.column ?? Number.NaN, Math.max(4, columns - 1))
        }
      ),
      { numRuns: 300 }
    )
  })

  it("has the cursor where the next character goes: on a row of its own once one is full", () => {
    const at = (text: string) =>
      View.frame(
        { ...idle, editor: LineEditor.setText(idle.editor, text) },
        { columns: 11, rows: 20 },
        { input: true }
      )[0]
    assert.deepStrictEqual(at("1234567").cursor, { row: 2, column: 9 })
    assert.deepStrictEqual(at("12345678").cursor, { row: 3, column: 2 })
    assert.deepStrictEqual(plain(at("123456789").live).slice(-2), ["› 12345678", "  9"])
    assert.deepStrictEqual(at("日本語日").cursor, { row: 3, column: 2 })
  })

  it("shows the text around the cursor of a long input", () => {
    const text = Array.from({ length: 40 }, (_, index) => `line ${index}`).join("\n")
    let editor = LineEditor.setText(idle.editor, text)
    assert.include(live({ ...idle, editor }, { columns: 40, rows: 12 }).join(), "line 39")
    for (let count = 0; count < 20; count++) editor = LineEditor.press(editor, { _tag: "Press", name: "up" })
    const rows = live({ ...idle, editor }, { columns: 40, rows: 12 })
    assert.include(rows.join(), "line 19")
    assert.notInclude(rows.join(), "line 39")
  })

  it("lays out a pasted megabyte in a moment", () => {
    const editor = LineEditor.setText(idle.editor, "日本語 ".repeat(250_000))
    assert.isAtMost(live({ ...idle, editor }).length, 19)
  })
})

describe("checklistRows", () => {
  const many = Array.from({ length: 30 }, (_, index) => todo(`todo ${index}`, index < 10 ? "completed" : "pending"))

  it("shows what was just done and what comes, and counts the rest", () => {
    assert.deepStrictEqual(plain(View.checklistRows(many, 40, 4)), [
      "  ☑ todo 9",
      "  ☐ todo 10",
      "  ☐ todo 11",
      "  … 27 more (10 of 30 completed)"
    ])
  })

  it("shows the end of a list that is done", () => {
    const done = many.map(({ content }) => todo(content, "completed"))
    assert.deepStrictEqual(plain(View.checklistRows(done, 40, 3)), [
      "  ☑ todo 28",
      "  ☑ todo 29",
      "  … 28 more (30 of 30 completed)"
    ])
  })

  it("shows nothing where there is no room, and all where there is", () => {
    assert.deepStrictEqual(View.checklistRows(many, 40, 0), [])
    assert.strictEqual(View.checklistRows(many, 40, 30).length, 30)
  })
})
