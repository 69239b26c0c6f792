import * as FileSystem from "node:fs"
import type { Readable } from "node:stream"
import * as Effect from "effect/Effect"

/**
 * The read side of a command's output.
 */
export interface NodeOutput {
  readonly read: Effect.Effect<Uint8Array | undefined>
  readonly rest: Effect.Effect<Uint8Array>
  readonly close: Effect.Effect<void>
}

/** The most that a pipe can be made to hold without privileges. */
const pipeCapacity = 1024 * 1024

/**
 * Reads from a stream that is not flowing, so that it takes no more than its buffer holds. `descriptor` is that of the stream, where
 * it may be read past the stream.
 */
export const make = (stream: Readable, descriptor: number | undefined): NodeOutput => {
  // The end of a command is told by its exit; what a broken channel still held is lost, and nothing else.
  stream.on("error", () => undefined)
  return {
    read: next(stream),
    rest: Effect.sync(() => Buffer.concat([...buffered(stream), ...unread(stream, descriptor)])),
    close: Effect.sync(() => void stream.destroy())
  }
}

const next = (stream: Readable): Effect.Effect<Uint8Array | undefined> =>
  Effect.suspend(() => {
    const chunk = take(stream)
    if (chunk !== null) return Effect.succeed(chunk)
    return isOver(stream)
      ? Effect.succeed(undefined)
      : Effect.zipRight(Effect.interruptible(change(stream)), next(stream))
  })

const take = (stream: Readable): Buffer | null => stream.read() as Buffer | null

const isOver = (stream: Readable): boolean => stream.readableEnded || stream.destroyed

const changes = ["readable", "end", "close"] as const

const change = (stream: Readable): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const stop = () => {
      for (const name of changes) stream.off(name, done)
    }
    const done = () => {
      stop()
      resume(Effect.void)
    }
    for (const name of changes) stream.on(name, done)
    return Effect.sync(stop)
  })

const buffered = (stream: Readable): ReadonlyArray<Buffer> => {
  const chunk = isOver(stream) ? null : take(stream)
  return chunk === null ? [] : [chunk]
}

/** What the kernel holds and the event loop has not come to yet. The descriptor does not block. */
const unread = (stream: Readable, descriptor: number | undefined): ReadonlyArray<Buffer> => {
  const chunks: Array<Buffer> = []
  let size = 0
  while (descriptor !== undefined && !isOver(stream) && size < pipeCapacity) {
    const chunk = readNow(descriptor)
    if (chunk.length === 0) break
    chunks.push(chunk)
    size += chunk.length
  }
  return chunks
}

const readNow = (descriptor: number): Buffer => {
  const buffer = Buffer.allocUnsafe(64 * 1024)
  try {
    return buffer.subarray(0, FileSystem.readSync(descriptor, buffer))
  } catch {
    // Nothing there: EAGAIN.
    return buffer.subarray(0, 0)
  }
}
