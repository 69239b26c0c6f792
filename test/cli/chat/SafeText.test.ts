import * as SafeText from "@afterturn/cli/chat/SafeText"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

/** Text with much of what a terminal would act on. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        "\x1b",
        "[",
        "]",
        "0;",
        "2J",
        "31m",
        "\x07",
        "\x1b\\",
        "\x9b",
        "\x9d",
        "\x9c",
        "P",
        "q",
        "\r",
        "\n",
        "\t"
      ),
      fc.constantFrom("\u202e", "\u2066", "\u2028", "\ud83d", "\udc4b", "👋", "é", "\x00", "\x7f", "\b", " ", "a"),
      fc.string({ maxLength: 3 })
    ),
    { maxLength: 30 }
  )
  .map((parts) => parts.join(""))

const fold = (pieces: ReadonlyArray<string>): string => {
  let shown = ""
  let rest = ""
  for (const piece of pieces) {
    const [text, next] = SafeText.cleanPiece(rest, piece)
    shown += text
    rest = next
  }
  return shown + SafeText.clean(rest)
}

describe("clean", () => {
  for (const [what, text, expected] of [
    ["colours", "a\x1b[1;31mred\x1b[0m", "ared"],
    ["cursor movement and erasing", "\x1b[2J\x1b[10;10Hx\x1b[1A", "x"],
    ["a title, ended either way", "\x1b]0;owned\x07a\x1b]2;owned\x1b\\b", "ab"],
    ["the clipboard and links", "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\t\x1b]8;;\x1b\\", "t"],
    ["device control strings", "\x1bP1;2qsixel\x1b\\a", "a"],
    ["the 8-bit forms", "\x9b31ma\x9d0;t\x9cb", "ab"],
    ["a reset and other short sequences", "\x1bca\x1b7\x1b(Bb", "ab"]
  ] as const) {
    it(`drops ${what}`, () => assert.strictEqual(SafeText.clean(text), expected))
  }

  for (const [what, text, expected] of [
    ["a lone escape", "a\x1b", "a␛"],
    ["an escape in front of a sequence, which does not make another", "\x1b\x1b[0m[2J", "␛[2J"],
    ["bells and backspaces", "a\x07\bb", "a␇␈b"],
    ["what reorders text", "a\u202eb\u2066c", "a\\u{202e}b\\u{2066}c"],
    ["half a character", "a\ud83d", "a\ufffd"],
    ["the text of a title that does not end", "\x1b]0;title\nnext", "0;title\nnext"]
  ] as const) {
    it(`shows ${what}`, () => assert.strictEqual(SafeText.clean(text), expected))
  }

  it("keeps line breaks of every kind as one, tabs, emoji and marks of right-to-left writing", () => {
    assert.strictEqual(SafeText.clean("a\r\nb\rc\u2028d\te 👩‍💻 \u200f"), "a\nb\nc\nd\te 👩‍💻 \u200f")
  })

  it("leaves nothing that a terminal acts on, whatever it is given", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        assert.notMatch(SafeText.clean(text), /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/)
      }),
      { numRuns: 500 }
    )
  })

  it("changes nothing any more once it is clean", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const once = SafeText.clean(text)
        assert.strictEqual(SafeText.clean(once), once)
      })
    )
  })

  it("is done in a moment with a megabyte of beginnings", () => {
    const text = "\x1b]\x1b[0;\x9d".repeat(200_000)
    assert.notMatch(SafeText.clean(text), /[\x1b\x9d]/)
  })
})

describe("cleanPiece", () => {
  it("takes a sequence that was cut for what it is", () => {
    assert.strictEqual(fold(["a\x1b", "[3", "1mred\x1b]0;ti", "tle\x1b", "\\b"]), "aredb")
  })

  it("joins no halves of a character that a sequence kept apart", () => {
    assert.strictEqual(SafeText.clean("\ud83d\x1b\\\udc4b"), "\ufffd\ufffd")
    assert.strictEqual(fold(["\ud83d\x1b", "\\\udc4b"]), "\ufffd\ufffd")
    assert.strictEqual(fold(["\ud83d", "\udc4b"]), "👋")
  })

  it("takes two line breaks for two, whatever stood between them", () => {
    assert.strictEqual(SafeText.clean("\r\x1b\\\n"), "\n\n")
    assert.strictEqual(fold(["\r\x1b", "\\\n"]), "\n\n")
  })

  it("gives the same however a text is cut", () => {
    fc.assert(
      fc.property(hostile, fc.array(fc.nat(60), { maxLength: 6 }), (text, cuts) => {
        const at = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length]
        const pieces = at.slice(1).map((end, index) => text.slice(at[index], end))
        assert.strictEqual(fold(pieces), SafeText.clean(text))
      }),
      { numRuns: 500 }
    )
  })

  it("holds back no more than a bit, however long a title goes on", () => {
    const [, rest] = SafeText.cleanPiece("", `\x1b]0;${"x".repeat(100_000)}`)
    assert.isBelow(rest.length, 5000)
  })
})

describe("cleanLine", () => {
  it("has no line breaks and tabs", () => {
    assert.strictEqual(SafeText.cleanLine("a\nb\r\nc\td"), "a⏎b⏎c d")
  })
})
