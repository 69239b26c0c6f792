/**
 * Text of models, tools and logs on its way to a terminal: it may say anything there, and do nothing.
 *
 * @since 0.1.0
 */

/**
 * Escape sequences, whole: CSI (cursor, colours, modes), the string sequences (OSC titles and clipboard, DCS, SOS, PM, APC) with their
 * terminator, and the short ones. Introducers come in a 7-bit and an 8-bit form.
 */
const sequences =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]/g

/** The beginning of one of these at the end of a text, and half of what is read as one character or one line break. */
const unfinished =
  /(?:(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,16}|(?:\x1b[P\]X^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]{0,4096}\x1b?|\x1b[ -/]{0,16}|\r|[\ud800-\udbff])$/

const returns = /\r\n?/g
const separators = /[\u2028\u2029]/g
// Marks (U+200E, U+200F, U+061C) stay: right-to-left writing needs them, and they reorder nothing but themselves.
const unsafe = /[\x00-\x08\x0b-\x1f\x7f-\x9f\p{Cs}\u202a-\u202e\u2066-\u2069]/gu
const halves = /\p{Cs}/gu
const harmless = /^[\t\n\x20-\x7e]*$/

const visible = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return "\u2421"
  return code < 0xa0 || (code >= 0xd800 && code <= 0xdfff) ? "\ufffd" : `\\u{${code.toString(16)}}`
}

/**
 * Text without a way to move the cursor, change colours, modes or the title, reach the clipboard, or reorder what stands beside it.
 * Escape sequences are dropped; control characters that remain are shown (`␛`), as is what reorders text (`\u{202e}`). Line breaks of
 * every kind are `\n`; tabs stay.
 *
 * @since 0.1.0
 * @category conversions
 */
export const clean = (text: string): string =>
  harmless.test(text)
    ? text
    : // What two pieces make together comes first: what stood between two of them must not join them by going away.
      text
        .replace(halves, "\ufffd")
        .replace(returns, "\n")
        .replace(sequences, "")
        .replace(separators, "\n")
        .replace(unsafe, visible)

/**
 * The same for text that arrives in pieces: `[clean text, rest]`, where the rest (at most a few thousand characters) goes before the
 * next piece, so that a sequence may be cut anywhere. At the end, `clean` what is left.
 *
 * @since 0.1.0
 * @category conversions
 */
export const cleanPiece = (rest: string, piece: string): readonly [text: string, rest: string] => {
  const whole = rest + piece
  if (harmless.test(whole)) return [whole, ""]
  const tail = unfinished.exec(whole)?.[0] ?? ""
  return [clean(whole.slice(0, whole.length - tail.length)), tail]
}

/**
 * The same on one line: line breaks and tabs are shown as well.
 *
 * @since 0.1.0
 * @category conversions
 */
export const cleanLine = (text: string): string => clean(text).replaceAll("\n", "\u23ce").replaceAll("\t", " ")
