import * as Row from "@afterturn/cli/chat/Row"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

const plain = (rows: ReadonlyArray<Row.Row>): ReadonlyArray<string> =>
  rows.map((row) => Row.encode(row, { color: false }))

describe("rows", () => {
  it("wraps under the end of the label", () => {
    const line = Row.line("one two three four", { label: Row.span("› ") })
    assert.deepStrictEqual(plain(Row.rows(line, 12)), ["› one two", "  three four"])
  })

  it("gives up label and indentation where there is no room for text beside them", () => {
    const line = Row.line("one two", { label: Row.span("a long label: ") })
    assert.deepStrictEqual(plain(Row.rows(line, 9)), ["one two"])
  })

  it("cuts a line that is to take one row", () => {
    const line = Row.line("one two three", { label: Row.span("✓ "), cut: true })
    assert.deepStrictEqual(plain(Row.rows(line, 9)), ["✓ one tw…"])
  })

  it("shows tabs as spaces", () => assert.deepStrictEqual(plain(Row.rows(Row.line("a\tb"), 20)), ["a    b"]))
})

describe("lines", () => {
  it("labels the first line and indents the others", () => {
    const lines = Row.lines("one\ntwo", { label: Row.span("» ") })
    assert.deepStrictEqual(plain(lines.flatMap((line) => Row.rows(line, 20))), ["» one", "  two"])
  })
})

describe("split", () => {
  it("leaves a line whose rows go on with what is added", () => {
    const words = fc.array(fc.constantFrom("one ", "three ", "日本", "x", "longlonglong"), { maxLength: 12 })
    fc.assert(
      fc.property(words, words, fc.integer({ min: 4, max: 24 }), (first, more, columns) => {
        const line = Row.line(first.join(""), { label: Row.span("· ") })
        const [complete, rest] = Row.split(line, columns)
        const grown = Row.rows({ ...rest, text: rest.text + more.join("") }, columns)
        const whole = Row.rows({ ...line, text: first.join("") + more.join("") }, columns)
        assert.deepStrictEqual(plain([...complete, ...grown]), plain(whole))
      }),
      { numRuns: 500 }
    )
  })
})

describe("encode", () => {
  it("colours each span and puts the colour back", () => {
    const row = [Row.span("✓ ", "good"), Row.span("done", "dim"), Row.span("!")]
    assert.strictEqual(Row.encode(row, { color: true }), "\x1b[32m✓ \x1b[0m\x1b[2mdone\x1b[0m!")
    assert.strictEqual(Row.encode(row, { color: false }), "✓ done!")
  })

  it("lets no text out that a terminal acts on, even where nobody cleaned it before", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.constantFrom("\x1b[2J", "\r\n", "\x1b]0;t\x07", "\t"),
        (text, evil) => {
          const shown = Row.encode([Row.span(text + evil + text), Row.span(evil)], { color: false })
          assert.notMatch(shown, /[\x00-\x1f\x7f-\x9f]/)
        }
      ),
      { numRuns: 300 }
    )
  })

  it("leaves out spaces at the end of a row", () => {
    assert.strictEqual(
      Row.encode([Row.span("a ", "dim"), Row.span("  ", "strong")], { color: true }),
      "\x1b[2ma \x1b[0m"
    )
  })
})
