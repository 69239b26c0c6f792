import type { AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as Row from "@afterturn/cli/chat/Row"
import * as Transcript from "@afterturn/cli/chat/Transcript"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const event = ({ data, type }: EventInput): AgentOutput => ({
  _tag: "Event",
  event: { seq: 0, time: "2025-01-01T00:00:00.000Z" as never, type, data }
})

const delta = (text: string, step = 1): AgentOutput => ({ _tag: "Text", turn: 1, step, delta: text })
const thought = (text: string): AgentOutput => ({ _tag: "Reasoning", turn: 1, step: 1, delta: text })

const answer = (text: string): AgentOutput =>
  event(
    AgentEvents.AssistantMessage.make({
      id: "m",
      turn: 1,
      step: 1,
      route: "scripted:x",
      content: [{ type: "text", text }],
      finishReason: "stop",
      usage: { inputTokens: null, outputTokens: null }
    })
  )

const said = (text: string, source: (typeof AgentEvents.UserMessage.schema.Type)["source"] = { kind: "user" }) =>
  event(AgentEvents.UserMessage.make({ id: "msg-1", source, content: [{ type: "text", text }] }))

const call = (callId: string, name: string, input: unknown): AgentOutput =>
  event(AgentEvents.ToolCall.make({ callId, turn: 1, step: 1, name, input }))

const result = (callId: string, name: string, answer: { text: string } | { code: string; message: string }) =>
  event(
    AgentEvents.ToolResult.make(
      "text" in answer
        ? { callId, name, ok: true, text: answer.text }
        : { callId, name, ok: false, error: answer, text: answer.message }
    )
  )

const ended = (reason: AgentEvents.TurnEndReason): AgentOutput => event(AgentEvents.TurnEnd.make({ turn: 1, reason }))

const fold = (items: ReadonlyArray<AgentOutput>, from = Transcript.make()): Transcript.Transcript =>
  items.reduce(Transcript.add, from)

/** What a person has read: the complete lines, and the open one. */
const shown = ({ lines, open }: Transcript.Transcript): ReadonlyArray<string> =>
  [...lines, ...(open === undefined ? [] : [open])].flatMap((line) =>
    Row.rows(line, 200).map((row) => Row.encode(row, { color: false }))
  )

describe("text", () => {
  it("is open while it arrives and complete once its message is stored", () => {
    const arriving = fold([delta("Hel"), delta("lo\nwor")])
    assert.deepStrictEqual(shown(arriving), ["Hello", "wor"])
    assert.strictEqual(arriving.lines.length, 1)
    const whole = fold([delta("ld"), answer("Hello\nworld")], arriving)
    assert.deepStrictEqual(shown(whole), ["Hello", "world"])
    assert.strictEqual(whole.open, undefined)
  })

  it("that was not seen arriving is shown from its message", () => {
    assert.deepStrictEqual(shown(fold([answer("Hello\nworld")])), ["Hello", "world"])
  })

  it("of which some was missed is completed from its message", () => {
    assert.deepStrictEqual(shown(fold([delta("Hel"), answer("Hello")])), ["Hello"])
    assert.deepStrictEqual(shown(fold([delta("lo"), answer("Hello")])), ["lo", "Hello"])
  })

  it("has no blank lines before and after, and those within", () => {
    const items = [delta("\n \n"), delta("a\n"), delta("\n"), delta("\nb\n\n"), answer("\n \na\n\n\nb\n\n")]
    assert.deepStrictEqual(shown(fold(items)), ["a", "", "", "b"])
  })

  it("cannot act on the terminal, wherever it was cut on its way", () => {
    assert.deepStrictEqual(shown(fold([delta("a\x1b"), delta("[2"), delta("Jb\x1b]0;t"), delta("\x07c")])), ["abc"])
    assert.deepStrictEqual(shown(fold([answer("a\x1b[2Jb\x07")])), ["ab␇"])
  })

  it("is the same however it was cut on its way", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("a", "\n", " ", "日", "\x1b[1m", "\r\n", "\t"), { maxLength: 20 }),
        (parts) => {
          const text = parts.join("")
          const pieces = fold([...parts.map((part) => delta(part)), answer(text)])
          assert.deepStrictEqual(shown(pieces), shown(fold([delta(text), answer(text)])))
        }
      ),
      { numRuns: 300 }
    )
  })

  it("of a failed request is followed by the reason, and the new answer stands for itself", () => {
    const retry: AgentOutput = { _tag: "Retry", turn: 1, step: 1, message: "the provider is busy" }
    assert.deepStrictEqual(shown(fold([delta("Hal"), retry, delta("Hello"), answer("Hello")])), [
      "Hal",
      "↻ the request failed and is made again; the answer begins anew: the provider is busy",
      "Hello"
    ])
  })

  it("is told from reasoning", () => {
    const items = [thought("hm\n"), thought("yes"), delta("Yes."), answer("Yes.")]
    assert.deepStrictEqual(shown(fold(items)), ["· hm", "  yes", "Yes."])
  })
})

describe("messages", () => {
  it("of a person and of others differ", () => {
    assert.deepStrictEqual(shown(fold([said("one\ntwo")])), ["", "› one", "  two"])
    assert.deepStrictEqual(shown(fold([said("done", { kind: "job-notice", jobs: ["job-1"] })])), [
      "",
      "» notice: job-1",
      "  done"
    ])
  })

  it("cannot act on the terminal", () => assert.deepStrictEqual(shown(fold([said("a\x1b[2Jb")])), ["", "› ab"]))

  const insert = (id: string, kind: "user" | "system") =>
    event(
      AgentEvents.InboxSpliced.make({
        list: "nextStep",
        op: "insert",
        messages: [{ id, source: { kind }, content: [{ type: "text", text: `text of ${id}` }] }]
      })
    )
  const remove = (op: "claim" | "discard", ...ids: ReadonlyArray<string>) =>
    event(AgentEvents.InboxSpliced.make({ list: "nextStep", op, ids }))

  it("wait until they are claimed", () => {
    const two = fold([insert("a", "user"), insert("b", "user")])
    assert.deepStrictEqual(
      two.waiting.map(({ id }) => id),
      ["a", "b"]
    )
    const one = fold([remove("claim", "a")], two)
    assert.deepStrictEqual(
      one.waiting.map(({ id }) => id),
      ["b"]
    )
    assert.deepStrictEqual(shown(one), [])
  })

  it("of a person that were discarded are shown again, others are not", () => {
    const state = fold([insert("a", "user"), insert("b", "system"), remove("discard", "a", "b")])
    assert.deepStrictEqual(state.waiting, [])
    assert.deepStrictEqual(shown(state), ["■ discarded: text of a"])
  })
})

describe("calls", () => {
  it("take one line each, with their answer", () => {
    const state = fold([
      call("1", "bash", { command: "npm test", timeout: 5 }),
      result("1", "bash", { text: "ok\nfine\n" })
    ])
    assert.deepStrictEqual(shown(state), ["✓ bash(command: npm test, timeout: 5) → ok (and more)"])
  })

  it("that failed say why", () => {
    const state = fold([
      call("1", "x", { list: [1, 2], of: { a: 1 } }),
      result("1", "x", { code: "denied", message: "no" })
    ])
    assert.deepStrictEqual(shown(state), ["✗ x(list: 2 items, of: {…}) → denied: no"])
  })

  it("are running until they are answered, or their turn ends", () => {
    const both = fold([call("1", "a", {}), call("2", "b", {})])
    assert.deepStrictEqual(
      both.running.map(({ name }) => name),
      ["a", "b"]
    )
    assert.deepStrictEqual(
      fold([result("1", "a", { text: "" })], both).running.map(({ name }) => name),
      ["b"]
    )
    assert.deepStrictEqual(fold([ended({ kind: "aborted", cause: "c" })], both).running, [])
  })

  it("cannot act on the terminal by name, input or answer", () => {
    const state = fold([
      call("1", "a\x1b[2J\r", { "k\n": "v\x1b]0;t\x07\r\n" }),
      result("1", "a", { text: "\x1b[31mred\x9b1A" })
    ])
    assert.deepStrictEqual(shown(state), ["✓ a⏎(k⏎: v⏎) → red"])
  })
})

describe("the end of a turn", () => {
  for (const [reason, expected] of [
    [{ kind: "completed" }, []],
    [{ kind: "aborted", cause: "Ctrl-C" }, ["■ stopped: Ctrl-C"]],
    [{ kind: "error", error: { code: "provider_rejected", message: "a\nb" } }, ["✗ provider_rejected: a", "  b"]],
    [{ kind: "interrupted" }, ["■ this turn was interrupted by the end of its process"]],
    [{ kind: "step-limit", maxSteps: 3 }, ["■ stopped after 3 steps, the limit of a turn"]]
  ] as const) {
    it(`by ${reason.kind} is told where it is not as usual`, () => {
      assert.deepStrictEqual(shown(fold([ended(reason)])), expected)
    })
  }

  it("completes what was being said", () => {
    assert.deepStrictEqual(shown(fold([delta("half a sen"), ended({ kind: "aborted", cause: "c" }), delta("x")])), [
      "half a sen",
      "■ stopped: c",
      "x"
    ])
  })
})

describe("note", () => {
  it("stands between what was said before and after it", () => {
    const state = Transcript.note(fold([delta("one")]), [Row.line("note")])
    assert.deepStrictEqual(shown(fold([delta(" two"), answer("one two")], state)), ["one", "note", " two"])
  })
})

describe("add", () => {
  it("leaves out events that it does not know, and data that is not of its type", () => {
    const strange = [event({ type: "job/start", data: {} }), event({ type: "turn/start", data: { turn: "one" } })]
    assert.deepStrictEqual(shown(fold(strange)), [])
  })
})
