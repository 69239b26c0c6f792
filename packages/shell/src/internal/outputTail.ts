/**
 * The newest bytes of an output, as text.
 */
export interface OutputTail {
  readonly write: (chunk: Uint8Array) => void
  /** Whole characters, and how many bytes before them are left out. */
  readonly text: () => { readonly text: string; readonly droppedBytes: number }
}

export const make = (limitBytes: number): OutputTail => {
  let chunks: Array<Uint8Array> = []
  let kept = 0
  let total = 0
  return {
    write: (chunk) => {
      const part = chunk.length > limitBytes ? chunk.subarray(chunk.length - limitBytes) : chunk
      chunks.push(part)
      kept += part.length
      total += chunk.length
      while (chunks.length > 1 && kept - chunks[0]!.length >= limitBytes) kept -= chunks.shift()!.length
      // Many small writes: one copy for as many as the limit holds bytes.
      if (chunks.length > limitBytes) chunks = [Buffer.concat(chunks)]
    },
    text: () => {
      const all = Buffer.concat(chunks)
      const from = Math.max(0, all.length - limitBytes)
      const start = total > all.length || from > 0 ? edgeAfter(all, from) : 0
      return { text: all.subarray(start).toString("utf8"), droppedBytes: total - (all.length - start) }
    }
  }
}

/** The first position from here on where a character begins. Bytes that are no UTF-8 do not hold it up. */
const edgeAfter = (bytes: Uint8Array, position: number): number => {
  for (let edge = position; edge < position + 4 && edge < bytes.length; edge++) {
    if ((bytes[edge]! & 0xc0) !== 0x80) return edge
  }
  return position
}
