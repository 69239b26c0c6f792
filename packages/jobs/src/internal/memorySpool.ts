import { edgeAfter } from "./utf8.js"

interface Block {
  bytes: Uint8Array
  length: number
}

/**
 * The newest bytes of a growing output.
 */
export class MemorySpool {
  size = 0
  finalFrom: number | undefined
  /** The offset of the oldest byte that is kept. */
  private first = 0
  private blocks: Array<Block> = []
  private readonly maxBytes: number
  /** Small writes share a block; a block is the least that is dropped. */
  private readonly blockBytes: number

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    this.blockBytes = Math.max(Math.min(16, maxBytes), Math.min(64 * 1024, maxBytes >> 3))
  }

  get kept(): number {
    return this.size - this.first
  }

  append(bytes: Uint8Array, final: boolean): number {
    if (final) this.finalFrom = this.size
    // What would be dropped at once is not copied.
    const skipped = bytes.length > this.maxBytes ? edgeAfter(bytes, bytes.length - this.maxBytes) : 0
    if (skipped > 0) {
      this.blocks = []
      this.size += skipped
      this.first = this.size
    }
    this.add(bytes.subarray(skipped))
    this.drop()
    return this.size
  }

  read(from: number, limit: number): { readonly offset: number; readonly bytes: Uint8Array } {
    const offset = Math.max(from, this.first)
    const bytes = new Uint8Array(Math.max(0, Math.min(limit, this.size - offset)))
    let position = this.first
    for (const block of this.blocks) {
      const start = Math.max(offset - position, 0)
      const at = position + start - offset
      if (at >= bytes.length) break
      if (start < block.length) {
        bytes.set(block.bytes.subarray(start, Math.min(block.length, start + bytes.length - at)), at)
      }
      position += block.length
    }
    return { offset, bytes }
  }

  private add(bytes: Uint8Array): void {
    let rest = bytes
    while (rest.length > 0) {
      const block = this.roomyBlock(rest.length)
      const part = rest.subarray(0, block.bytes.length - block.length)
      block.bytes.set(part, block.length)
      block.length += part.length
      this.size += part.length
      rest = rest.subarray(part.length)
    }
  }

  /** A last block that has room: a small output stays small, a growing one is not copied more than a few times. */
  private roomyBlock(wanted: number): Block {
    const last = this.blocks.at(-1)
    if (last !== undefined && last.length < last.bytes.length) return last
    if (last !== undefined && last.bytes.length < this.blockBytes) {
      const grown = new Uint8Array(Math.min(this.blockBytes, Math.max(last.length + wanted, last.length * 2)))
      grown.set(last.bytes)
      last.bytes = grown
      return last
    }
    const block = { bytes: new Uint8Array(Math.min(this.blockBytes, wanted)), length: 0 }
    this.blocks.push(block)
    return block
  }

  private drop(): void {
    let whole = 0
    while (this.kept > this.maxBytes && whole < this.blocks.length - 1) {
      this.first += this.blocks[whole]!.length
      whole++
    }
    if (whole === 0) return
    this.blocks = this.blocks.slice(whole)
    this.dropSplit()
  }

  /** A character may lie across blocks: what is kept begins with a whole one. */
  private dropSplit(): void {
    for (let oldest = this.blocks[0]; oldest !== undefined; oldest = this.blocks[0]) {
      const cut = edgeAfter(oldest.bytes.subarray(0, oldest.length), 0)
      this.first += cut
      if (cut < oldest.length || this.blocks.length === 1) {
        this.blocks[0] = { bytes: oldest.bytes.slice(cut), length: oldest.length - cut }
        return
      }
      this.blocks.shift()
    }
  }
}
