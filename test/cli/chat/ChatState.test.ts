import * as ChatState from "@afterturn/cli/chat/ChatState"
import type { KeyName } from "@afterturn/cli/chat/Keys"
import * as Transcript from "@afterturn/cli/chat/Transcript"
import { assert, describe, it } from "@effect/vitest"

const begin = ChatState.make({ title: "t", now: 0, transcript: Transcript.make() })

/** What happens, each with its time; a word is typed text. */
type Step = readonly [at: number, what: ChatState.Happening | KeyName | `"${string}"`]

const toHappening = (what: Step[1]): ChatState.Happening => {
  if (typeof what !== "string") return what
  return what.startsWith('"')
    ? { _tag: "Key", key: { _tag: "Text", text: what.slice(1, -1) } }
    : { _tag: "Key", key: { _tag: "Press", name: what as KeyName } }
}

const play = (...steps: ReadonlyArray<Step>) => {
  let state = begin
  const actions: Array<ChatState.Action> = []
  for (const [at, what] of steps) {
    const [next, asked] = ChatState.update(state, toHappening(what), at)
    state = next
    actions.push(...asked)
  }
  return { state, actions, tags: actions.map(({ _tag }) => _tag) }
}

const runs: ChatState.Happening = { _tag: "Status", status: "running" }
const rests: ChatState.Happening = { _tag: "Status", status: "idle" }

describe("Ctrl-C", () => {
  it("while a turn runs cancels it", () => {
    assert.deepStrictEqual(play([0, runs], [10, "interrupt"]).tags, ["Cancel"])
  })

  it("a second time within two seconds quits, whether or not the turn has ended", () => {
    assert.deepStrictEqual(play([0, runs], [10, "interrupt"], [2009, "interrupt"]).tags, ["Cancel", "Quit"])
    assert.deepStrictEqual(play([0, runs], [10, "interrupt"], [20, rests], [30, "interrupt"]).tags, ["Cancel", "Quit"])
  })

  it("a second time after two seconds cancels again", () => {
    assert.deepStrictEqual(play([0, runs], [10, "interrupt"], [2010, "interrupt"]).tags, ["Cancel", "Cancel"])
  })

  it("while idle asks for a second one, for two seconds", () => {
    const once = play([0, "interrupt"])
    assert.deepStrictEqual(once.tags, [])
    assert.strictEqual(once.state.armedUntil, 2000)
    assert.deepStrictEqual(play([0, "interrupt"], [1999, "interrupt"]).tags, ["Quit"])
    assert.deepStrictEqual(play([0, "interrupt"], [2000, "interrupt"]).tags, [])
    assert.strictEqual(play([0, "interrupt"], [2000, { _tag: "Tick" }]).state.armedUntil, undefined)
  })

  it("takes back what was typed, while idle", () => {
    assert.strictEqual(play([0, '"half a thought"'], [1, "interrupt"]).state.editor.text, "")
    assert.strictEqual(play([0, runs], [1, '"half a thought"'], [2, "interrupt"]).state.editor.text, "half a thought")
  })

  it("followed by typing does not mean to quit", () => {
    assert.deepStrictEqual(play([0, "interrupt"], [1, '"x"'], [2, "interrupt"]).tags, [])
    assert.deepStrictEqual(play([0, runs], [1, "interrupt"], [2, "left"], [3, "interrupt"]).tags, ["Cancel", "Cancel"])
  })
})

describe("Enter", () => {
  it("sends what was typed and remembers it, while idle and while the agent works", () => {
    for (const status of [rests, runs]) {
      const { actions, state } = play([0, status], [1, '"hello"'], [2, "enter"])
      assert.deepStrictEqual(actions, [{ _tag: "Send", text: "hello" }])
      assert.strictEqual(state.editor.text, "")
      assert.deepStrictEqual(state.editor.history, ["hello"])
    }
  })

  it("sends nothing when there is nothing", () => {
    assert.deepStrictEqual(play([0, "enter"], [1, '"  "'], [2, "enter"]).actions, [])
  })

  it("runs a command", () => {
    assert.deepStrictEqual(play([0, '"/todo"'], [1, "enter"]).actions, [
      { _tag: "Command", name: "todo", argument: "" }
    ])
  })
})

describe("Ctrl-D", () => {
  it("quits on an empty line, and deletes on another", () => {
    assert.deepStrictEqual(play([0, "endOfInput"]).tags, ["Quit"])
    const { state, tags } = play([0, '"ab"'], [1, "home"], [2, "endOfInput"])
    assert.deepStrictEqual(tags, [])
    assert.strictEqual(state.editor.text, "b")
  })
})

describe("a question", () => {
  const question = { request: { tool: "bash", action: "git log" }, prefix: "git log" }
  const asked: ChatState.Happening = { _tag: "Question", question }

  it("is answered by a line that is an answer, once, and by nothing else", () => {
    const { actions, state } = play(
      [0, asked],
      [1, '"yes but"'],
      [2, "enter"],
      [3, '"y"'],
      [4, "enter"],
      [5, '"y"'],
      [6, "enter"]
    )
    assert.deepStrictEqual(actions, [
      { _tag: "Send", text: "yes but" },
      { _tag: "Answer", answer: { _tag: "once" } },
      { _tag: "Send", text: "y" }
    ])
    assert.isUndefined(state.question)
    assert.deepStrictEqual(play([0, asked], [1, '"y"']).actions, [])
  })

  it("is taken back by who asked, and leaves Ctrl-C as it is", () => {
    assert.isUndefined(play([0, asked], [1, { _tag: "Question", question: undefined }]).state.question)
    assert.deepStrictEqual(play([0, runs], [1, asked], [2, "interrupt"]).tags, ["Cancel"])
  })
})

describe("read", () => {
  for (const [text, expected] of [
    ["  hi  ", { _tag: "Send", text: "hi" }],
    ["/goal set\nship it", { _tag: "Command", name: "goal", argument: "set\nship it" }],
    ["/", { _tag: "Command", name: "", argument: "" }],
    ["//etc/passwd", { _tag: "Send", text: "/etc/passwd" }],
    [" \n", undefined]
  ] as const) {
    it(JSON.stringify(text), () => assert.deepStrictEqual(ChatState.read(text), expected))
  }
})

describe("running", () => {
  it("is timed from when it began, not from when it was last heard of", () => {
    const { state } = play([5, runs], [9, runs], [12, { _tag: "Tick" }])
    assert.deepStrictEqual([state.runningSince, state.now], [5, 12])
    assert.isTrue(ChatState.moves(state))
    assert.isFalse(ChatState.moves(play([5, runs], [6, rests]).state))
    const job = { id: "bash-1", label: "x", stopping: false, since: 0 }
    assert.isTrue(ChatState.moves(play([5, { _tag: "Jobs", jobs: [job] }]).state))
  })
})
