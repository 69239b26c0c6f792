/**
 * A terminal as a scrolling text with a few rows at the bottom that are drawn anew: frames become the bytes that lead from one to the
 * next. No alternate screen: what scrolled off stays in the terminal's history, and what runs before and after stays where it was.
 *
 * @since 0.1.0
 */
import * as Row from "./Row.js"
import type { Frame, Size } from "./View.js"

/**
 * What stands at the bottom of the terminal: each live row as it was written with its width, where the cursor is, and the width of
 * the terminal then.
 *
 * @since 0.1.0
 * @category models
 */
export interface Drawn {
  readonly rows: ReadonlyArray<{ readonly text: string; readonly width: number }>
  readonly cursor: { readonly row: number; readonly column: number }
  readonly columns: number
  readonly cursorShown: boolean
}

/**
 * Nothing was drawn: the cursor is at the beginning of a row.
 *
 * @since 0.1.0
 * @category constants
 */
export const blank: Drawn = {
  rows: [],
  cursor: { row: 0, column: 0 },
  columns: Number.POSITIVE_INFINITY,
  cursorShown: true
}

const hideCursor = "\x1b[?25l"
const showCursor = "\x1b[?25h"
// A row that turns out wider than was measured (terminals disagree on some emoji) is cut off instead of breaking the frame.
const wrapOff = "\x1b[?7l"
const wrapOn = "\x1b[?7h"
// Terminals that know synchronized output show the frame at once; the others ignore it.
const beginFrame = "\x1b[?2026h"
const endFrame = "\x1b[?2026l"
// The row as a whole, before it is written: a terminal that breaks rows anew may count what was erased in part as text.
const eraseRow = "\x1b[2K"
const eraseBelow = "\x1b[J"

/**
 * Puts back what drawing changes about a terminal.
 *
 * @since 0.1.0
 * @category constants
 */
export const restore = `${endFrame}${wrapOn}${showCursor}\x1b[0m`

/**
 * The bytes that draw a frame over what was drawn before, to be written at once; empty when nothing changed. Rows that stay as they
 * are are not written again.
 *
 * @since 0.1.0
 * @category drawing
 */
export const draw = (
  before: Drawn,
  frame: Frame,
  size: Size,
  options: { readonly color: boolean }
): readonly [bytes: string, drawn: Drawn] => {
  const rows = frame.live.map((row) => ({ text: Row.encode(row, options), width: Row.width(row) }))
  const cursor = frame.cursor ?? { row: Math.max(0, rows.length - 1), column: 0 }
  const drawn: Drawn = { rows, cursor, columns: size.columns, cursorShown: frame.cursor !== undefined }
  if (frame.above.length === 0 && isSame(before, drawn)) return ["", before]
  const above = frame.above.map((row) => `${eraseRow}${Row.encode(row, options)}\r\n`).join("")
  // What was printed above shifts everything, and a terminal that was resized may have broken rows anew.
  const kept = above === "" && before.columns === size.columns ? before.rows : []
  // The last row is always written: from its end on, whatever the former frame left below is erased.
  const isKept = (index: number) => index < rows.length - 1 && rows[index]?.text === kept[index]?.text
  const live = rows.map(({ text }, index) => (isKept(index) ? "" : `${eraseRow}${text}`)).join("\r\n")
  const bytes = `${toTop(before, size)}${above}${live}${eraseBelow}${toCursor(rows.length, cursor)}`
  return [
    `${beginFrame}${hideCursor}${wrapOff}${bytes}${wrapOn}${drawn.cursorShown ? showCursor : ""}${endFrame}`,
    drawn
  ]
}

const isSame = (before: Drawn, after: Drawn): boolean =>
  before.columns === after.columns &&
  before.cursorShown === after.cursorShown &&
  before.cursor.row === after.cursor.row &&
  before.cursor.column === after.cursor.column &&
  before.rows.length === after.rows.length &&
  before.rows.every(({ text }, index) => text === after.rows[index]?.text)

/**
 * To the beginning of the first live row. A terminal that has become narrower breaks rows that no longer fit, so that there are more
 * of them above the cursor.
 */
const toTop = ({ columns, cursor, rows }: Drawn, size: Size): string => {
  const narrower = size.columns < columns
  const height = (width: number) => (narrower ? Math.max(1, Math.ceil(width / size.columns)) : 1)
  const above = rows.slice(0, cursor.row).reduce((sum, { width }) => sum + height(width), 0)
  const within = narrower ? Math.floor(cursor.column / size.columns) : 0
  return `\r${up(above + within)}`
}

const toCursor = (rows: number, cursor: Drawn["cursor"]): string =>
  `\r${up(Math.max(0, rows - 1) - cursor.row)}${cursor.column > 0 ? `\x1b[${cursor.column}C` : ""}`

const up = (rows: number): string => (rows > 0 ? `\x1b[${rows}A` : "")
