/**
 * As much of a terminal as it takes to see what a person sees: a grid with a cursor, its history, and what it was told beside text.
 * Anything else that it is told is an error.
 */
import * as TextLayout from "@afterturn/cli/chat/TextLayout"

interface Line {
  cells: Array<string>
  /** Whether the next line is the rest of this one, which did not fit. */
  wrapped: boolean
}

const blankLine = (): Line => ({ cells: [], wrapped: false })

export class VirtualTerminal {
  private lines: Array<Line> = [blankLine()]
  /** The first line on the screen. */
  private top = 0
  private row = 0
  private column = 0
  private wraps = true
  cursorShown = true
  columns: number
  rows: number

  constructor(columns: number, rows: number) {
    this.columns = columns
    this.rows = rows
  }

  write(bytes: string): void {
    let at = 0
    while (at < bytes.length) {
      const sequence = /^\x1b\[(\??)([\d;]*)([A-Za-z])/.exec(bytes.slice(at, at + 20))
      if (sequence !== null) {
        this.control(sequence[1] === "?", sequence[2] ?? "", sequence[3] ?? "")
        at += sequence[0].length
      } else if (bytes[at] === "\r") {
        this.column = 0
        at++
      } else if (bytes[at] === "\n") {
        this.lineFeed()
        at++
      } else {
        const text = /^[^\x00-\x1f\x7f-\x9f]+/.exec(bytes.slice(at))?.[0]
        if (text === undefined) throw new Error(`a terminal acts on ${JSON.stringify(bytes.slice(at, at + 10))}`)
        for (const grapheme of TextLayout.graphemes(text)) this.put(grapheme)
        at += text.length
      }
    }
  }

  /** Like terminals that break lines anew: what does not fit goes on in the next line, and what was one becomes one again. */
  resize(columns: number, rows: number): void {
    const cursorLine = this.top + this.row
    const logical: Array<{ cells: Array<string>; cursor: number | undefined }> = []
    let continued = false
    for (const [index, line] of this.lines.entries()) {
      if (!continued) logical.push({ cells: [], cursor: undefined })
      const current = logical[logical.length - 1]!
      if (index === cursorLine) current.cursor = current.cells.length + this.column
      current.cells.push(...line.cells)
      continued = line.wrapped
    }
    this.columns = columns
    this.rows = rows
    this.lines = []
    let cursor = { line: 0, column: 0 }
    for (const { cells, cursor: at } of logical) {
      const first = this.lines.length
      const count = Math.max(1, Math.ceil(cells.length / columns))
      for (let part = 0; part < count; part++) {
        this.lines.push({ cells: cells.slice(part * columns, (part + 1) * columns), wrapped: part < count - 1 })
      }
      if (at !== undefined) cursor = { line: first + Math.floor(at / columns), column: at % columns }
    }
    while (this.lines.length <= cursor.line) this.lines.push(blankLine())
    this.top = Math.max(0, Math.min(this.top, cursor.line), this.lines.length - rows)
    this.row = cursor.line - this.top
    this.column = cursor.column
  }

  /** All rows, those that scrolled off as well, without blank ones at the end. */
  text(): ReadonlyArray<string> {
    const rows = this.lines.map(({ cells }) => cells.join("").trimEnd())
    while (rows.at(-1) === "") rows.pop()
    return rows
  }

  /** What is on the screen. */
  screen(): ReadonlyArray<string> {
    return Array.from({ length: this.rows }, (_, row) => (this.lines[this.top + row]?.cells ?? []).join("").trimEnd())
  }

  cursor(): { readonly row: number; readonly column: number } {
    return { row: this.row, column: this.column }
  }

  private line(row: number): Line {
    while (this.lines.length <= this.top + row) this.lines.push(blankLine())
    return this.lines[this.top + row]!
  }

  private put(grapheme: string): void {
    const width = TextLayout.width(grapheme)
    if (this.column + width > this.columns) {
      if (this.wraps) {
        this.line(this.row).wrapped = true
        this.column = 0
        this.lineFeed()
      } else this.column = this.columns - width
    }
    const { cells } = this.line(this.row)
    while (cells.length < this.column) cells.push(" ")
    cells.splice(this.column, width, grapheme, ...Array.from({ length: width - 1 }, () => ""))
    this.column += width
  }

  private lineFeed(): void {
    if (this.row < this.rows - 1) this.row++
    else this.top++
    this.line(this.row)
  }

  private control(isPrivate: boolean, parameters: string, final: string): void {
    const count = Math.max(1, Number(parameters) || 1)
    const command = `${isPrivate ? "?" : ""}${parameters}${final}`
    if (final === "A" && !isPrivate) this.row = Math.max(0, this.row - count)
    else if (final === "C" && !isPrivate) this.column = Math.min(this.columns - 1, this.column + count)
    else if (command === "2K") {
      const line = this.line(this.row)
      line.cells = []
      line.wrapped = false
    } else if (command === "J") this.eraseBelow()
    else if (command === "?7h" || command === "?7l") this.wraps = final === "h"
    else if (command === "?25h" || command === "?25l") this.cursorShown = final === "h"
    else if (!isKnown.test(command)) throw new Error(`a terminal acts on ESC[${command}`)
  }

  private eraseBelow(): void {
    const line = this.line(this.row)
    line.cells = line.cells.slice(0, this.column)
    line.wrapped = false
    for (const below of this.lines.slice(this.top + this.row + 1)) {
      below.cells = []
      below.wrapped = false
    }
  }
}

/** Colours, frames and the marks around a paste, which change nothing that is looked at here. */
const isKnown = /^(?:[\d;]*m|\?2026[hl]|\?2004[hl])$/
