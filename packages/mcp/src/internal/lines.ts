import type { Readable } from "node:stream"

/** What a stream of lines brings. A line that is longer than it may be comes as such, without its text. */
export type Line = { readonly _tag: "line"; readonly text: string } | { readonly _tag: "too-long" }

/**
 * Cuts bytes into lines. Of a line that is too long nothing is kept but that it was.
 */
export class Lines {
  private parts: Array<Buffer> = []
  private size = 0
  private isTooLong = false
  private readonly maxBytes: number
  private readonly onLine: (line: Line) => void

  constructor(maxBytes: number, onLine: (line: Line) => void) {
    this.maxBytes = maxBytes
    this.onLine = onLine
  }

  add(chunk: Buffer): void {
    let rest = chunk
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.keep(rest.subarray(0, end))
      this.finish()
      rest = rest.subarray(end + 1)
    }
    this.keep(rest)
  }

  private keep(part: Buffer): void {
    if (part.length === 0 || this.isTooLong) return
    this.size += part.length
    if (this.size > this.maxBytes) {
      this.isTooLong = true
      this.parts = []
    } else this.parts.push(part)
  }

  private finish(): void {
    const text = Buffer.concat(this.parts).toString("utf8").replace(/\r$/, "")
    const line: Line = this.isTooLong ? { _tag: "too-long" } : { _tag: "line", text }
    this.parts = []
    this.size = 0
    this.isTooLong = false
    if (line._tag === "too-long" || line.text.trim() !== "") this.onLine(line)
  }
}

/** Listens to a stream until it ends or the answer is called. */
export const listen = (
  input: Readable,
  on: { readonly data: (chunk: Buffer) => void; readonly end: () => void }
): (() => void) => {
  const data = (chunk: Buffer | string) => on.data(typeof chunk === "string" ? Buffer.from(chunk) : chunk)
  input.on("data", data).on("end", on.end).on("close", on.end).on("error", on.end)
  if (input.readableEnded || input.destroyed) queueMicrotask(on.end)
  return () => {
    // An error that comes later must not end the process.
    input
      .off("data", data)
      .off("end", on.end)
      .off("close", on.end)
      .off("error", on.end)
      .on("error", () => {})
    input.pause()
  }
}
