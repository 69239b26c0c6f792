/**
 * How much room text takes on a terminal, and how it is broken into rows.
 *
 * @since 0.1.0
 */
import stringWidth from "string-width"

const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" })
const ascii = /^[\x20-\x7e]*$/

/** Code units that are segmented at once: the time that the platform's segmenter takes grows with the square of that. */
const reach = 256

/**
 * What a reader takes for the characters of a text: an emoji sequence or a letter with its marks is one. One of more than 256 code
 * units may come in pieces.
 *
 * @since 0.1.0
 * @category accessors
 */
export const graphemes = (text: string): ReadonlyArray<string> => {
  if (ascii.test(text)) return text.split("")
  const found: Array<string> = []
  let at = 0
  while (at < text.length) {
    const slice = text.slice(at, at + reach + (splitsPair(text, at + reach) ? 1 : 0))
    const parts = Array.from(segmenter.segment(slice), ({ segment }) => segment)
    // The last one may go on behind the slice.
    if (parts.length > 1 && at + slice.length < text.length) parts.pop()
    for (const part of parts) {
      found.push(part)
      at += part.length
    }
  }
  return found
}

const splitsPair = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/**
 * The columns that a text takes.
 *
 * @since 0.1.0
 * @category accessors
 */
export const width = (text: string): number => {
  if (ascii.test(text)) return text.length
  return text.length <= reach ? stringWidth(text) : graphemes(text).reduce((sum, part) => sum + stringWidth(part), 0)
}

/**
 * Tabs as spaces.
 *
 * @since 0.1.0
 * @category conversions
 */
export const expandTabs = (text: string): string => text.replaceAll("\t", "    ")

/**
 * The text, or as much of it as fits before `…`.
 *
 * @since 0.1.0
 * @category conversions
 */
export const truncate = (text: string, columns: number): string => {
  // No character is wider than what its code units take twice, so a long text is cut before it is measured.
  const head = text.length > columns * 32 ? `${text.slice(0, columns * 32)} ` : text
  if (head === text && width(text) <= columns) return text
  let used = 0
  let kept = ""
  for (const grapheme of graphemes(head)) {
    used += width(grapheme)
    if (used > columns - 1) break
    kept += grapheme
  }
  return columns > 0 ? `${kept}…` : ""
}

/**
 * One line of text as rows of at most `columns`, broken at spaces where there are any; a space at a break stays on its row, and may
 * hang over. Only the last row depends on what may yet be added at the end: wrapping that row with it goes on where this left off.
 *
 * @since 0.1.0
 * @category conversions
 */
export const wrap = (text: string, columns: number): ReadonlyArray<string> => {
  if (text.length <= columns && ascii.test(text)) return [text]
  const rows: Array<string> = []
  let row: Array<string> = []
  let used = 0
  // Where the row can be broken; 0 while it holds nothing but indentation.
  let breakAt = 0
  let inked = false
  const pushRow = (from: number) => {
    rows.push(row.slice(0, from).join(""))
    row = row.slice(from)
    used = row.reduce((sum, grapheme) => sum + width(grapheme), 0)
    breakAt = 0
    inked = row.length > 0
  }
  for (const grapheme of graphemes(text)) {
    const size = width(grapheme)
    const space = grapheme === " "
    if (!space && size > 0 && used + size > columns) {
      if (breakAt > 0) pushRow(breakAt)
      if (row.length > 0 && used + size > columns) pushRow(row.length)
    }
    row.push(grapheme)
    used += size
    if (!space) inked = true
    else if (inked) breakAt = row.length
  }
  rows.push(row.join(""))
  return rows
}
