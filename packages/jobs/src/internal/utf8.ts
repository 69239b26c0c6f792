/**
 * Edges of characters in UTF-8 bytes.
 */

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The first position from `position` on where a character begins. Bytes that are no UTF-8 do not hold it up. */
export const edgeAfter = (bytes: Uint8Array, position: number): number => {
  let edge = position
  while (edge < position + 3 && edge < bytes.length && isContinuation(bytes[edge])) edge++
  return isContinuation(bytes[edge]) ? position : edge
}

/** The last position up to `position` that no character lies across. */
export const edgeBefore = (bytes: Uint8Array, position: number): number => {
  if (position >= bytes.length || !isContinuation(bytes[position])) return position
  for (let start = position - 1; start >= Math.max(0, position - 3); start--) {
    if (!isContinuation(bytes[start])) return start
  }
  return position
}

/** Where the last character begins when it is not whole; else the length. */
export const wholeLength = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!
    if (isContinuation(byte)) continue
    return lengthOf(byte) > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}

const lengthOf = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1)

const encoder = new TextEncoder()

export const encode = (text: string): Uint8Array => encoder.encode(text)

/** Bytes to text, with what is not whole yet kept for the next call. */
export type Decoder = InstanceType<typeof TextDecoder>

export const newDecoder = (): Decoder => new TextDecoder("utf-8", { ignoreBOM: true })

const decoder = newDecoder()

export const decode = (bytes: Uint8Array): string => decoder.decode(bytes)
