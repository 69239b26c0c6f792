import * as Row from "@afterturn/cli/chat/Row"
import * as Screen from "@afterturn/cli/chat/Screen"
import * as TextLayout from "@afterturn/cli/chat/TextLayout"
import type { Frame, Size } from "@afterturn/cli/chat/View"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { VirtualTerminal } from "./VirtualTerminal.js"

const color = { color: true }

const frame = (above: ReadonlyArray<string>, live: ReadonlyArray<string>, cursor?: Frame["cursor"]): Frame => ({
  above: above.map((text) => [Row.span(text)]),
  live: live.map((text) => [Row.span(text, "dim")]),
  cursor
})

/** Draws frames one after the other and gives what was written for each. */
const draw = (terminal: VirtualTerminal, frames: ReadonlyArray<Frame>) => {
  const size = { columns: terminal.columns, rows: terminal.rows }
  let drawn = Screen.blank
  return frames.map((next) => {
    const [bytes, after] = Screen.draw(drawn, next, size, color)
    terminal.write(bytes)
    drawn = after
    return bytes
  })
}

describe("draw", () => {
  it("keeps the live rows below what is printed", () => {
    const terminal = new VirtualTerminal(20, 6)
    draw(terminal, [frame([], ["status", "> "]), frame(["one"], ["status", "> "]), frame(["two", "three"], ["> "])])
    assert.deepStrictEqual(terminal.text(), ["one", "two", "three", ">"])
  })

  it("shows the cursor where it belongs, or not at all", () => {
    const terminal = new VirtualTerminal(20, 6)
    draw(terminal, [frame(["one"], ["status", "> ab", "hint"], { row: 1, column: 3 })])
    assert.deepStrictEqual(terminal.cursor(), { row: 2, column: 3 })
    assert.isTrue(terminal.cursorShown)
    draw(terminal, [frame([], ["status"])])
    assert.isFalse(terminal.cursorShown)
  })

  it("writes nothing when nothing changed, and no row that stayed as it was", () => {
    const terminal = new VirtualTerminal(20, 6)
    const [, same, changed] = draw(terminal, [
      frame([], ["list", "status 1", "> "]),
      frame([], ["list", "status 1", "> "]),
      frame([], ["list", "status 2", "> "])
    ])
    assert.strictEqual(same, "")
    assert.notInclude(changed, "list")
    assert.include(changed, "status 2")
    assert.deepStrictEqual(terminal.text(), ["list", "status 2", ">"])
  })

  it("writes a frame as one that a terminal shows at once, and puts back what it changes", () => {
    const [bytes = ""] = draw(new VirtualTerminal(20, 6), [frame(["a"], ["b"], { row: 0, column: 1 })])
    assert.match(bytes, /^\x1b\[\?2026h\x1b\[\?25l\x1b\[\?7l.*\x1b\[\?7h\x1b\[\?25h\x1b\[\?2026l$/s)
  })

  it("leaves nothing of longer rows and of more rows", () => {
    const terminal = new VirtualTerminal(20, 6)
    draw(terminal, [frame([], ["a long row", "another", "> long input"]), frame([], ["short", "> "])])
    assert.deepStrictEqual(terminal.text(), ["short", ">"])
    draw(terminal, [frame([], [])])
    assert.deepStrictEqual(terminal.text().slice(0, 1), ["short"])
  })

  it("takes the live rows away at the end", () => {
    const terminal = new VirtualTerminal(20, 6)
    draw(terminal, [frame(["one"], ["list", "> x"]), frame(["two"], [])])
    assert.deepStrictEqual(terminal.text(), ["one", "two"])
    assert.deepStrictEqual(terminal.cursor(), { row: 2, column: 0 })
  })

  it("cuts a row that turns out wider than the terminal instead of breaking the frame", () => {
    const terminal = new VirtualTerminal(8, 6)
    draw(terminal, [frame([], ["much too wide for it", "> "]), frame(["one"], ["much too wide for it", "> "])])
    assert.strictEqual(terminal.text().length, 3)
    assert.deepStrictEqual([terminal.text()[0], terminal.text()[2]], ["one", ">"])
  })

  const word = fc.constantFrom("a", "word", "日本", "x y", "👩‍💻", "")
  const rowText = fc.array(word, { maxLength: 4 }).map((words) => words.join(" "))

  /** Rows fit the terminal and are fewer than its own, as `View` gives them. */
  const frames = (size: Size) =>
    fc.array(
      fc
        .record({
          above: fc.array(rowText, { maxLength: 5 }),
          live: fc.array(rowText, { maxLength: size.rows - 1 }),
          at: fc.nat(size.rows),
          column: fc.nat(size.columns - 2)
        })
        .map(({ above, at, column, live }) => {
          const cut = (text: string) => TextLayout.truncate(text.trimEnd(), size.columns - 1)
          const cursor = live.length === 0 ? undefined : { row: at % live.length, column }
          return frame(above.map(cut), live.map(cut), cursor)
        }),
      { maxLength: 8 }
    )

  const size = fc.record({ columns: fc.integer({ min: 6, max: 30 }), rows: fc.integer({ min: 2, max: 8 }) })

  it("shows everything printed, once and in order, and below it the live rows, whatever the frames are", () => {
    fc.assert(
      fc.property(
        size.chain((given) => fc.tuple(fc.constant(given), frames(given))),
        ([given, all]) => {
          const terminal = new VirtualTerminal(given.columns, given.rows)
          draw(terminal, all)
          const text = (rows: ReadonlyArray<Row.Row>) => rows.map((row) => Row.encode(row, { color: false }).trimEnd())
          const expected = [...all.flatMap(({ above }) => text(above)), ...text(all.at(-1)?.live ?? [])]
          while (expected.at(-1) === "") expected.pop()
          assert.deepStrictEqual(terminal.text(), expected)
        }
      ),
      { numRuns: 300 }
    )
  })
})

describe("draw, when the terminal was resized", () => {
  const live = ["a list of several words", "a status that is nearly as wide", "> input"]

  for (const columns of [60, 30, 20, 9]) {
    it(`from 40 to ${columns} columns leaves nothing of the former frame`, () => {
      const terminal = new VirtualTerminal(40, 30)
      const [bytes, drawn] = Screen.draw(
        Screen.blank,
        frame(["printed before"], live, { row: 2, column: 7 }),
        { columns: 40, rows: 30 },
        color
      )
      terminal.write(bytes)
      terminal.resize(columns, 30)
      const next = frame(["after"], ["status", "> input"], { row: 1, column: 7 })
      terminal.write(Screen.draw(drawn, next, { columns, rows: 30 }, color)[0])
      const rows = terminal.text().join("").replaceAll(" ", "")
      assert.strictEqual(rows, "printedbeforeafterstatus>input")
    })
  }
})
