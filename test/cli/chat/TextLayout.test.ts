import * as TextLayout from "@afterturn/cli/chat/TextLayout"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const words = fc
  .array(
    fc.constantFrom(
      "a",
      "word",
      " ",
      "  ",
      "longerword",
      "日本",
      "é",
      "👩‍💻",
      "🇩🇪",
      "e\u0301",
      "-",
      "averyveryverylongword"
    ),
    {
      maxLength: 25
    }
  )
  .map((parts) => parts.join(""))

const columns = fc.integer({ min: 2, max: 30 })

describe("width", () => {
  for (const [text, expected] of [
    ["abc", 3],
    ["日本", 4],
    ["e\u0301", 1],
    ["👩‍💻", 2],
    ["🇩🇪", 2],
    ["\u200b", 0],
    ["ﾊﾝ", 2]
  ] as const) {
    it(`of ${JSON.stringify(text)} is ${expected}`, () => assert.strictEqual(TextLayout.width(text), expected))
  }
})

describe("graphemes", () => {
  it("are those of the whole text, however long it is", () => {
    const unit = fc.constantFrom("a", "e\u0301", "👩‍💻", "🇩", "🇪", "日", "\u200d", "\u0301", "\r\n", "한", "ᄀ", "ᅡ")
    fc.assert(
      fc.property(fc.array(unit, { minLength: 200, maxLength: 500 }), (units) => {
        const text = units.join("")
        const expected = Array.from(new Intl.Segmenter("en").segment(text), ({ segment }) => segment)
        assert.deepStrictEqual(TextLayout.graphemes(text), expected)
      }),
      { numRuns: 30 }
    )
  })
})

describe("truncate", () => {
  it("leaves what fits", () => assert.strictEqual(TextLayout.truncate("four", 4), "four"))

  it("cuts before a character that would not fit whole", () => {
    assert.strictEqual(TextLayout.truncate("日本語", 4), "日…")
    assert.strictEqual(TextLayout.truncate("abcdef", 4), "abc…")
  })

  it("never takes more than there is, and keeps the beginning", () => {
    fc.assert(
      fc.property(words, fc.nat(30), (text, most) => {
        const cut = TextLayout.truncate(text, most)
        assert.isAtMost(TextLayout.width(cut), most)
        if (cut !== text && most > 0) assert.isTrue(text.startsWith(cut.slice(0, -1)) && cut.endsWith("…"))
      })
    )
  })

  it("does not read a megabyte to show a few characters", () => {
    assert.strictEqual(TextLayout.truncate("é".repeat(1_000_000), 3), "éé…")
  })
})

describe("wrap", () => {
  it("breaks at spaces, which stay where they were", () => {
    assert.deepStrictEqual(TextLayout.wrap("one two  three", 8), ["one two  ", "three"])
  })

  it("breaks a word that is too long for any row, and wide characters anywhere", () => {
    assert.deepStrictEqual(TextLayout.wrap("ab cdefghijk l", 5), ["ab ", "cdefg", "hijk ", "l"])
    assert.deepStrictEqual(TextLayout.wrap("日本語日本", 5), ["日本", "語日", "本"])
  })

  it("keeps indentation", () => assert.deepStrictEqual(TextLayout.wrap("    one two", 8), ["    one ", "two"]))

  it("makes one row of nothing", () => assert.deepStrictEqual(TextLayout.wrap("", 8), [""]))

  it("loses nothing, and no row is wider than allowed", () => {
    fc.assert(
      fc.property(words, columns, (text, most) => {
        const rows = TextLayout.wrap(text, most)
        assert.strictEqual(rows.join(""), text)
        for (const row of rows) assert.isAtMost(TextLayout.width(row.trimEnd()), most)
      }),
      { numRuns: 500 }
    )
  })

  it("goes on from its last row as if the text had been there at once", () => {
    fc.assert(
      fc.property(words, words, columns, (text, more, most) => {
        const rows = TextLayout.wrap(text, most)
        const rest = TextLayout.wrap((rows.at(-1) ?? "") + more, most)
        assert.deepStrictEqual([...rows.slice(0, -1), ...rest], TextLayout.wrap(text + more, most))
      }),
      { numRuns: 500 }
    )
  })

  it("is done in a moment with a long row of spaces, or of one word", () => {
    assert.strictEqual(TextLayout.wrap(" ".repeat(300_000), 80).join("").length, 300_000)
    assert.strictEqual(TextLayout.wrap("é".repeat(80_000), 80).length, 1000)
  })
})
