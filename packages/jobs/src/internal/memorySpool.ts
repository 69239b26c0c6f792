/**
 * The newest bytes of a growing output, in the chunks in which they came.
 */
export class MemorySpool {
  size = 0
  private first = 0
  private chunks: Array<Uint8Array> = []

  private readonly maxBytes: number

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  append(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    this.chunks.push(bytes.slice())
    this.size += bytes.length
    this.drop()
  }

  read(from: number, limit: number): { readonly offset: number; readonly bytes: Uint8Array; readonly size: number } {
    const offset = Math.min(Math.max(from, this.first), this.size)
    const bytes = new Uint8Array(Math.min(limit, this.size - offset))
    let position = this.first
    for (const chunk of this.chunks) {
      const start = Math.max(offset - position, 0)
      const at = position + start - offset
      if (start < chunk.length && at < bytes.length) bytes.set(chunk.subarray(start, start + bytes.length - at), at)
      position += chunk.length
    }
    return { offset, bytes, size: this.size }
  }

  /** Whole chunks go first; one chunk that is too large by itself is cut at a character's edge. */
  private drop(): void {
    while (this.chunks.length > 1 && this.size - this.first - (this.chunks[0]?.length ?? 0) >= this.maxBytes) {
      this.first += this.chunks.shift()?.length ?? 0
    }
    const [oldest] = this.chunks
    const excess = this.size - this.first - this.maxBytes
    if (oldest === undefined || excess <= 0) return
    let cut = excess
    while (cut < oldest.length && ((oldest[cut] ?? 0) & 0xc0) === 0x80) cut++
    this.chunks[0] = oldest.subarray(cut)
    this.first += cut
  }
}
