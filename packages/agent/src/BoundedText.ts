/**
 * Text within a number of bytes: what is too long keeps its beginning and its end, with a marker that says how much is
 * missing between them.
 *
 * Sizes are those of UTF-8. No character is split, and half a surrogate pair, which UTF-8 can't say, becomes U+FFFD:
 * the result is always well-formed.
 *
 * @since 0.1.0
 */

/**
 * What was left out, in bytes. `bytes` is the part between `headBytes` and `tailBytes`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Cut {
  readonly bytes: number
  readonly headBytes: number
  readonly tailBytes: number
  readonly totalBytes: number
}

/**
 * A text of at most the wanted size. `totalBytes` is the size before.
 *
 * @since 0.1.0
 * @category models
 */
export interface Bounded {
  readonly text: string
  readonly truncated: boolean
  readonly totalBytes: number
}

/**
 * Keeps head and tail of a text that is longer than `maxBytes`, the marker between them. The result, marker included,
 * never exceeds `maxBytes`; where the marker alone would, the head (or, with `headRatio` 0, the tail) stands without it.
 *
 * @since 0.1.0
 * @category bounding
 */
export const bound = (
  text: string,
  options: {
    readonly maxBytes: number
    /** Called with what is left out, possibly several times; the same cut must give the same text. */
    readonly marker: (cut: Cut) => string
    /** The head's share of what is kept, from 0 to 1. Default: 0.5. */
    readonly headRatio?: number
  }
): Bounded => {
  const totalBytes = byteLength(text)
  const maxBytes = Math.max(0, Math.floor(options.maxBytes) || 0)
  if (totalBytes <= maxBytes) return { text: wellFormed(text), truncated: false, totalBytes }
  const headRatio = Math.min(1, Math.max(0, options.headRatio ?? 0.5))

  // The marker's own size decides what is cut, and what is cut may change its size: reserve more until it fits.
  let reserved = byteLength(options.marker({ bytes: totalBytes, headBytes: 0, tailBytes: 0, totalBytes }))
  for (let attempt = 0; attempt < 8 && reserved <= maxBytes; attempt++) {
    const kept = split(text, maxBytes - reserved, headRatio)
    const headBytes = byteLength(kept.head)
    const tailBytes = byteLength(kept.tail)
    const bytes = totalBytes - headBytes - tailBytes
    const marker = wellFormed(options.marker({ bytes, headBytes, tailBytes, totalBytes }))
    const size = byteLength(marker)
    if (size <= reserved) {
      return { text: wellFormed(kept.head) + marker + wellFormed(kept.tail), truncated: true, totalBytes }
    }
    reserved = size
  }
  const { head, tail: end } = split(text, maxBytes, headRatio === 0 ? 0 : 1)
  return { text: wellFormed(head + end), truncated: true, totalBytes }
}

/**
 * Keeps only the end of a text that is longer than `maxBytes`, after the marker if there is one.
 *
 * @since 0.1.0
 * @category bounding
 */
export const tail = (
  text: string,
  options: { readonly maxBytes: number; readonly marker?: (cut: Cut) => string }
): Bounded => bound(text, { maxBytes: options.maxBytes, marker: options.marker ?? (() => ""), headRatio: 0 })

/**
 * The size of a text in UTF-8.
 *
 * @since 0.1.0
 * @category sizes
 */
export const byteLength = (text: string): number => {
  let bytes = text.length
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) continue
    // Each half of a pair counts two, and so do three bytes for a half alone once its pair is missing.
    bytes += unit < 0x800 || isPaired(text, i) ? 1 : 2
  }
  return bytes
}

/** The longest head and tail that fit in `room` bytes together; what the head can't use goes to the tail. */
const split = (text: string, room: number, headRatio: number): { readonly head: string; readonly tail: string } => {
  const headRoom = Math.round(room * headRatio)
  let end = 0
  let used = 0
  for (;;) {
    const size = sizeAt(text, end)
    if (end >= text.length || used + size > headRoom) break
    used += size
    end += size === 4 ? 2 : 1
  }
  let start = text.length
  let left = headRatio === 1 ? 0 : room - used
  while (start > end) {
    const step = isLow(text, start - 1) && isPaired(text, start - 1) ? 2 : 1
    const size = sizeAt(text, start - step)
    if (size > left) break
    left -= size
    start -= step
  }
  return { head: text.slice(0, end), tail: text.slice(start) }
}

/** Bytes of the character that starts at a UTF-16 unit. */
const sizeAt = (text: string, index: number): number => {
  const unit = text.charCodeAt(index)
  return unit < 0x80 ? 1 : unit < 0x800 ? 2 : isPaired(text, index) ? 4 : 3
}

const isHigh = (text: string, index: number): boolean => (text.charCodeAt(index) & 0xfc00) === 0xd800

const isLow = (text: string, index: number): boolean => (text.charCodeAt(index) & 0xfc00) === 0xdc00

/** Whether a unit is half of a surrogate pair that is whole. */
const isPaired = (text: string, index: number): boolean =>
  isHigh(text, index) ? isLow(text, index + 1) : isLow(text, index) && isHigh(text, index - 1)

/** With the `u` flag a whole pair is one character, so only halves match. */
const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd")
