import type { Key, KeyName } from "@afterturn/cli/chat/Keys"
import * as Keys from "@afterturn/cli/chat/Keys"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const press = (name: KeyName): Key => ({ _tag: "Press", name })
const text = (typed: string): Key => ({ _tag: "Text", text: typed })

const readAll = (pieces: ReadonlyArray<string>): ReadonlyArray<Key> => {
  const keys: Array<Key> = []
  let left = ""
  for (const piece of pieces) {
    const [found, rest] = Keys.decode(left, piece)
    keys.push(...found)
    left = rest
  }
  return [...keys, ...Keys.flush(left)[0]]
}

/** Text that was typed in one piece or in several is the same. */
const joined = (keys: ReadonlyArray<Key>): ReadonlyArray<Key> => {
  const all: Array<Key> = []
  for (const key of keys) {
    const last = all.at(-1)
    if (key._tag === "Text" && last?._tag === "Text") all[all.length - 1] = text(last.text + key.text)
    else all.push(key)
  }
  return all
}

describe("decode", () => {
  for (const [sequence, name] of [
    ["\r", "enter"],
    ["\n", "newLine"],
    ["\x1b\r", "newLine"],
    ["\x1b[13;2u", "newLine"],
    ["\x7f", "backspace"],
    ["\b", "backspace"],
    ["\x1b[3~", "delete"],
    ["\x1b[A", "up"],
    ["\x1bOB", "down"],
    ["\x1b[C", "right"],
    ["\x1b[D", "left"],
    ["\x1b[1;5C", "wordRight"],
    ["\x1b[1;3D", "wordLeft"],
    ["\x1bb", "wordLeft"],
    ["\x1bf", "wordRight"],
    ["\x1b[H", "home"],
    ["\x1b[1~", "home"],
    ["\x1bOF", "end"],
    ["\x1b[4~", "end"],
    ["\x01", "home"],
    ["\x05", "end"],
    ["\x0b", "deleteToEnd"],
    ["\x15", "deleteToStart"],
    ["\x17", "deleteWordLeft"],
    ["\x1b\x7f", "deleteWordLeft"],
    ["\x1bd", "deleteWordRight"],
    ["\x03", "interrupt"],
    ["\x1b[99;5u", "interrupt"],
    ["\x04", "endOfInput"],
    ["\x0c", "redraw"],
    ["\x1a", "suspend"]
  ] as const) {
    it(`reads ${JSON.stringify(sequence)} as ${name}`, () => {
      assert.deepStrictEqual(Keys.decode("", sequence), [[press(name)], ""])
    })
  }

  it("reads text between keys", () => {
    assert.deepStrictEqual(Keys.decode("", "héllo 日本\r"), [[text("héllo 日本"), press("enter")], ""])
  })

  it("takes a paste for text, line breaks and all", () => {
    assert.deepStrictEqual(Keys.decode("", "\x1b[200~one\r\ntwo\rthree\x1b[201~x"), [
      [text("one\ntwo\nthree"), text("x")],
      ""
    ])
  })

  it("lets nothing of a paste through that a terminal would act on", () => {
    assert.deepStrictEqual(Keys.decode("", "\x1b[200~a\x1b[2Jb\x07\x1b[201~"), [[text("ab␇")], ""])
  })

  it("says nothing of sequences that stand for no key here", () => {
    assert.deepStrictEqual(Keys.decode("", "\x1b[5~\x1b[[A\x1bOP\x1b[<0;1;1Mx\x1b[?1;2c"), [[text("x")], ""])
  })

  it("reads an escape before another sequence as the key", () => {
    assert.deepStrictEqual(Keys.decode("", "\x1b\x1b[A"), [[press("escape"), press("up")], ""])
  })

  it("is not held up by a sequence that never ends", () => {
    const [, left] = Keys.decode("", `\x1b[${"1;".repeat(100)}`)
    assert.strictEqual(left, "")
  })

  it("gives the same however the input is cut, wherever that is", () => {
    const part = fc.constantFrom(
      "a",
      "日",
      "\x1b[A",
      "\x1b[1;5C",
      "\x1b[200~p\rq\x1b[201~",
      "\r",
      "\x03",
      "\x1bOH",
      "\x1b[3~"
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), fc.array(fc.nat(40), { maxLength: 5 }), (parts, cuts) => {
        const whole = parts.join("")
        const at = [0, ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b), whole.length]
        const pieces = at.slice(1).map((end, index) => whole.slice(at[index], end))
        assert.deepStrictEqual(joined(readAll(pieces)), joined(readAll([whole])))
      }),
      { numRuns: 500 }
    )
  })
})

describe("flush", () => {
  it("reads a lone escape as the key and drops half a sequence", () => {
    assert.deepStrictEqual(Keys.flush("\x1b"), [[press("escape")], ""])
    assert.deepStrictEqual(Keys.flush("\x1b["), [[], ""])
  })

  it("goes on waiting for the end of a paste", () => {
    assert.deepStrictEqual(Keys.flush("\x1b[200~one\r"), [[], "\x1b[200~one\r"])
  })
})
