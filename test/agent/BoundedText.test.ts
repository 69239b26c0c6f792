import * as BoundedText from "@afterturn/agent/BoundedText"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const marker = (cut: BoundedText.Cut) => `[… ${cut.bytes} bytes …]`

/** What a reader of UTF-8 gets. */
const throughUtf8 = (text: string) => new TextDecoder().decode(new TextEncoder().encode(text))

const bytesOf = (text: string) => new TextEncoder().encode(text).length

/** Text of every width, lone surrogates among it. */
const anyText = fc
  .array(
    fc.oneof(
      fc.fullUnicodeString({ maxLength: 20 }),
      fc.string16bits({ maxLength: 10 }),
      fc.constantFrom("a", "é", "€", "😀", "\ud83d", "\ude00", "\ud83d\ud83d\ude00", "e\u0301", "👨‍👩‍👧")
    ),
    { maxLength: 40, size: "max" }
  )
  .map((parts) => parts.join(""))

describe("BoundedText", () => {
  describe("bound", () => {
    it("leaves a text that fits as it is", () => {
      for (const text of ["", "abc", "é€😀"]) {
        const totalBytes = bytesOf(text)
        assert.deepStrictEqual(BoundedText.bound(text, { maxBytes: totalBytes, marker }), {
          text,
          truncated: false,
          totalBytes
        })
      }
    })

    it("keeps head and tail and says how much is missing", () => {
      const text = `${"a".repeat(500)}${"b".repeat(500)}`
      const bounded = BoundedText.bound(text, { maxBytes: 120, marker })
      assert.match(bounded.text, /^a{50,}\[… (\d+) bytes …\]b{50,}$/)
      const missing = Number(/\d+/.exec(bounded.text)?.[0])
      assert.strictEqual(missing, 1000 - bounded.text.replace(/\[.*\]/, "").length)
      assert.isTrue(bounded.truncated)
      assert.strictEqual(bounded.totalBytes, 1000)
    })

    it("divides what is kept as told", () => {
      const text = `${"a".repeat(500)}${"b".repeat(500)}`
      const kept = (headRatio: number) => {
        const bounded = BoundedText.bound(text, { maxBytes: 100, marker: () => "", headRatio })
        return [bounded.text.replaceAll("b", "").length, bounded.text.replaceAll("a", "").length]
      }
      assert.deepStrictEqual(kept(0.25), [25, 75])
      assert.deepStrictEqual(kept(0), [0, 100])
      assert.deepStrictEqual(kept(1), [100, 0])
      assert.deepStrictEqual(kept(7), [100, 0])
      assert.deepStrictEqual(kept(-1), [0, 100])
    })

    it("splits no character", () => {
      const text = "😀".repeat(100)
      for (let maxBytes = 0; maxBytes < 40; maxBytes++) {
        const bounded = BoundedText.bound(text, { maxBytes, marker: () => "|" })
        assert.match(bounded.text, /^(😀)*\|?(😀)*$/u)
        assert.isAtMost(bytesOf(bounded.text), maxBytes)
        assert.isAtLeast(bytesOf(bounded.text), maxBytes - 4)
      }
    })

    it("stands without the marker where there is no room for it", () => {
      const text = "a".repeat(50) + "b".repeat(50)
      const long = () => "the marker is long"
      assert.strictEqual(BoundedText.bound(text, { maxBytes: 10, marker: long }).text, "a".repeat(10))
      assert.strictEqual(BoundedText.bound(text, { maxBytes: 10, marker: long, headRatio: 0 }).text, "b".repeat(10))
      assert.strictEqual(BoundedText.bound(text, { maxBytes: 18, marker: long }).text, "the marker is long")
      for (const maxBytes of [0, -5, Number.NaN, Number.NEGATIVE_INFINITY]) {
        assert.deepStrictEqual(BoundedText.bound(text, { maxBytes, marker }), {
          text: "",
          truncated: true,
          totalBytes: 100
        })
      }
    })

    it("holds its bound with markers that grow with what they say", () => {
      const text = "x".repeat(10_000)
      const sizes = (cut: BoundedText.Cut) => `[${cut.headBytes}+${cut.tailBytes}]`
      assert.match(BoundedText.bound(text, { maxBytes: 1000, marker: sizes }).text, /^x+\[49\d\+49\d\]x+$/)
      const growing = (cut: BoundedText.Cut) => "-".repeat(cut.headBytes + 1)
      const endless = (cut: BoundedText.Cut) => "-".repeat(cut.headBytes + cut.tailBytes + 1)
      for (const strange of [growing, endless]) {
        const bounded = BoundedText.bound(text, { maxBytes: 1000, marker: strange })
        assert.isAtMost(bounded.text.length, 1000)
        assert.isTrue(bounded.truncated)
      }
    })

    it("replaces half a surrogate pair, in what fits too", () => {
      assert.deepStrictEqual(BoundedText.bound("a\ud83d", { maxBytes: 10, marker }), {
        text: "a\ufffd",
        truncated: false,
        totalBytes: 4
      })
      const halves = BoundedText.bound("\ud83d".repeat(100), { maxBytes: 20, marker: () => "\ude00" })
      assert.strictEqual(halves.text, throughUtf8(halves.text))
    })

    it("stays within the bound and says the truth, for any text", () => {
      fc.assert(
        fc.property(
          anyText,
          fc.integer({ min: 0, max: 300 }),
          fc.double({ min: 0, max: 1, noNaN: true }),
          fc.boolean(),
          (text, maxBytes, headRatio, marked) => {
            const cuts: Array<BoundedText.Cut> = []
            const spy = (cut: BoundedText.Cut) => {
              cuts.push(cut)
              return marked ? marker(cut) : "\u0000"
            }
            const bounded = BoundedText.bound(text, { maxBytes, marker: spy, headRatio })
            const whole = throughUtf8(text)
            assert.strictEqual(bounded.totalBytes, bytesOf(text))
            assert.strictEqual(bounded.truncated, bounded.totalBytes > maxBytes)
            assert.strictEqual(bounded.text, throughUtf8(bounded.text))
            if (!bounded.truncated) {
              assert.strictEqual(bounded.text, whole)
              return
            }
            assert.isAtMost(bytesOf(bounded.text), maxBytes)
            const cut = cuts[cuts.length - 1] as BoundedText.Cut
            const mark = marked ? marker(cut) : "\u0000"
            if (bytesOf(marked ? marker({ ...cut, bytes: cut.totalBytes }) : mark) > maxBytes) {
              assert.isTrue(whole.startsWith(bounded.text) || whole.endsWith(bounded.text))
              return
            }
            const bytes = new TextEncoder().encode(whole)
            const head = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
              bytes.subarray(0, cut.headBytes)
            )
            const end = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
              bytes.subarray(bytes.length - cut.tailBytes)
            )
            assert.strictEqual(bounded.text, head + mark + end)
            assert.strictEqual(cut.headBytes + cut.bytes + cut.tailBytes, cut.totalBytes)
            // Nothing that fits is left out: a character has at most 4 bytes, the marker may have lost a few digits.
            assert.isAtLeast(bytesOf(bounded.text), maxBytes - 3 - (marked ? 3 : 0))
          }
        ),
        { numRuns: 1000 }
      )
    })
  })

  describe("tail", () => {
    it("keeps the end", () => {
      assert.strictEqual(BoundedText.tail("abcdef", { maxBytes: 3 }).text, "def")
      assert.strictEqual(BoundedText.tail("a😀", { maxBytes: 3 }).text, "")
      assert.deepStrictEqual(BoundedText.tail("x".repeat(100), { maxBytes: 20, marker: (cut) => `${cut.bytes}…` }), {
        text: `86…${"x".repeat(14)}`,
        truncated: true,
        totalBytes: 100
      })
    })
  })

  describe("byteLength", () => {
    it("is that of the encoded text", () => {
      fc.assert(
        fc.property(anyText, (text) => {
          assert.strictEqual(BoundedText.byteLength(text), bytesOf(text))
        })
      )
    })
  })

  it("bounds a large text", () => {
    const text = "é€😀 plain text\n".repeat(1_000_000)
    const bounded = BoundedText.bound(text, { maxBytes: 50_000, marker })
    assert.isAtMost(bytesOf(bounded.text), 50_000)
    assert.strictEqual(bounded.totalBytes, bytesOf(text))
  })
})
