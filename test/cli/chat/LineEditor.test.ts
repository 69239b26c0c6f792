import type { Key, KeyName } from "@afterturn/cli/chat/Keys"
import * as LineEditor from "@afterturn/cli/chat/LineEditor"
import * as TextLayout from "@afterturn/cli/chat/TextLayout"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

type Typed = KeyName | { readonly text: string }

const toKey = (typed: Typed): Key =>
  typeof typed === "string" ? { _tag: "Press", name: typed } : { _tag: "Text", text: typed.text }

const type = (editor: LineEditor.LineEditor, ...typed: ReadonlyArray<Typed>): LineEditor.LineEditor =>
  typed.map(toKey).reduce(LineEditor.press, editor)

/** The text with a bar where the cursor is. */
const shown = ({ cursor, text }: LineEditor.LineEditor): string => `${text.slice(0, cursor)}|${text.slice(cursor)}`

const after = (...typed: ReadonlyArray<Typed>): string => shown(type(LineEditor.make(), ...typed))

describe("editing", () => {
  for (const [what, typed, expected] of [
    ["moves and inserts", [{ text: "ac" }, "left", { text: "b" }], "ab|c"],
    [
      "moves and deletes by characters as a reader sees them",
      [{ text: "a👩‍💻e\u0301" }, "backspace", "left"],
      "a|👩‍💻"
    ],
    ["deletes the whole of an emoji", [{ text: "a👩‍💻" }, "backspace"], "a|"],
    ["deletes to the right", [{ text: "a日b" }, "home", "right", "delete"], "a|b"],
    ["goes to the ends of the line", [{ text: "abc" }, "home", { text: "<" }, "end", { text: ">" }], "<abc>|"],
    ["deletes to the end", [{ text: "one two" }, "wordLeft", "deleteToEnd"], "one |"],
    ["deletes to the start", [{ text: "one two" }, "wordLeft", "deleteToStart"], "|two"],
    ["deletes the word before the cursor, with what follows it", [{ text: "one two, " }, "deleteWordLeft"], "one |"],
    ["deletes the word behind", [{ text: "one two" }, "home", "deleteWordRight"], "| two"],
    [
      "goes by words, accents and wide letters among them",
      [{ text: "één 日本 x" }, "wordLeft", "wordLeft"],
      "één |日本 x"
    ],
    ["goes to the end of a word", [{ text: "one two" }, "home", "wordRight", "wordRight"], "one two|"],
    ["has several lines", [{ text: "ab" }, "newLine", { text: "cd" }, "home", { text: ">" }], "ab\n>|cd"],
    ["joins lines", [{ text: "ab\ncd" }, "home", "backspace"], "ab|cd"],
    ["deletes a line break at the end of a line", [{ text: "ab\ncd" }, "up", "end", "deleteToEnd"], "ab|cd"],
    ["moves up and down at about the same column", [{ text: "日本語\nabc" }, "up"], "日|本語\nabc"],
    ["does nothing at the ends", ["left", "backspace", "delete", "right", "deleteToEnd"], "|"]
  ] as const) {
    it(what, () => assert.strictEqual(after(...typed), expected))
  }

  it("keeps the cursor between characters, whatever is typed", () => {
    const keys = fc.oneof(
      fc.constantFrom<Typed>(
        "left",
        "right",
        "home",
        "end",
        "backspace",
        "delete",
        "wordLeft",
        "wordRight",
        "deleteWordLeft",
        "up",
        "down",
        "deleteToEnd",
        "deleteToStart",
        "newLine"
      ),
      fc.constantFrom("a", "\u0301", "👩", "\u200d", "💻", "🇩", "日", " ", "\n", "e").map((text) => ({ text }))
    )
    fc.assert(
      fc.property(fc.array(keys, { maxLength: 40 }), (typed) => {
        let editor = LineEditor.make(["old 👩‍💻", "older"])
        for (const key of typed) {
          editor = type(editor, key)
          const ends = [0]
          for (const grapheme of TextLayout.graphemes(editor.text)) ends.push((ends.at(-1) ?? 0) + grapheme.length)
          assert.include(ends, editor.cursor)
        }
      }),
      { numRuns: 300 }
    )
  })

  it("takes back what it inserted, character by character", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "日", "👩‍💻", "é", "\n", " "), { maxLength: 20 }), (characters) => {
        const typed = type(LineEditor.make(), ...characters.map((text) => ({ text })))
        const back = type(typed, ...characters.map(() => "backspace" as const))
        assert.strictEqual(typed.text, characters.join(""))
        assert.strictEqual(shown(back), "|")
      })
    )
  })

  it("answers a key in a line of a hundred thousand characters", () => {
    const editor = type(LineEditor.make(), { text: "é".repeat(100_000) })
    assert.strictEqual(type(editor, "left", "backspace", { text: "x" }).text.length, 100_000)
  })
})

describe("history", () => {
  const editor = LineEditor.make(["first", "second"])

  it("goes back to what was entered and forth to the draft", () => {
    const up = type(editor, { text: "draft" }, "up")
    assert.strictEqual(shown(up), "second|")
    assert.strictEqual(shown(type(up, "up", "up")), "first|")
    assert.strictEqual(shown(type(up, "up", "down", "down", "down")), "draft|")
  })

  it("moves within a text of several lines before it goes to another", () => {
    assert.strictEqual(shown(type(editor, { text: "a\nb" }, "up")), "a|\nb")
    assert.strictEqual(shown(type(editor, { text: "a\nb" }, "up", "up")), "second|")
  })

  it("remembers what was entered, once, and begins with an empty line", () => {
    const [text, next] = LineEditor.submit(type(editor, { text: "third" }))
    assert.strictEqual(text, "third")
    assert.deepStrictEqual(next.history, ["first", "second", "third"])
    assert.strictEqual(shown(next), "|")
    assert.deepStrictEqual(LineEditor.submit(type(next, { text: "third" }))[1].history, ["first", "second", "third"])
    assert.deepStrictEqual(LineEditor.submit(type(next, { text: "  " }))[1].history, ["first", "second", "third"])
  })

  it("keeps an entry as it was when a changed copy of it is entered", () => {
    const [text, next] = LineEditor.submit(type(editor, "up", { text: "!" }))
    assert.strictEqual(text, "second!")
    assert.deepStrictEqual(next.history, ["first", "second", "second!"])
  })
})
