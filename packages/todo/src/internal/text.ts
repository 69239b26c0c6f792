const plain = /^[\x20-\x7e]*$/
const ignorable = /\p{Default_Ignorable_Code_Point}/gu
const longMarkRun = /\p{M}{30}/gu
const visible = /[^\s\p{Default_Ignorable_Code_Point}]/u
const breaks = /[\p{Cc}\u2028\u2029]/u
const unprintable = /[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/gu

/**
 * What two contents are compared by: NFKC without characters that take no space.
 *
 * A run of combining marks is cut by a joiner every 30 (the stream-safe form of Unicode UAX #15; the joiner is ignorable itself):
 * normalization sorts such a run in quadratic time, 26 s for a thousand contents of 10,000 marks.
 */
export const comparisonKey = (content: string): string =>
  plain.test(content) ? content : content.replace(longMarkRun, "$&\u034f").normalize("NFKC").replace(ignorable, "")

/** Whether there is anything to see. */
export const isVisible = (content: string): boolean => visible.test(content)

/** Whether text would break out of its line: line breaks, separators and control characters. */
export const hasBreak = (text: string): boolean => breaks.test(text)

/** The length in code points. */
export const characters = (text: string): number => {
  let count = 0
  for (const _ of text) count++
  return count
}

const codePoint = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** Text that stays on its line and in its order, whatever it holds. */
export const oneLine = (text: string): string => text.replace(unprintable, codePoint)

/** A content as a message shows it: in quotes, on one line, at most 80 characters of it. */
export const quote = (text: string): string => {
  const head = text.slice(0, 320)
  const shown = Array.from(head).slice(0, 80).join("")
  return `"${oneLine(shown)}${shown.length < text.length ? "…" : ""}"`
}

/** What kind of thing an unknown value is, in words. */
export const describe = (value: unknown): string => {
  switch (typeof value) {
    case "undefined":
      return "nothing"
    case "string":
      return quote(value)
    case "number":
    case "boolean":
      return `the ${typeof value} ${String(value)}`
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "an array" : "an object"
    default:
      return `a ${typeof value}`
  }
}
