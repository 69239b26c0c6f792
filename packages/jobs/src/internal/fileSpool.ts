import type { PlatformError } from "@effect/platform/Error"
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { SpoolPage, SpoolSize } from "../JobSpool.js"
import type { Segment } from "./fileNames.js"
import { parseSegmentName, segmentName } from "./fileNames.js"
import { edgeBefore } from "./utf8.js"

export interface Disk {
  readonly fs: FileSystem.FileSystem
  readonly path: Path.Path
  readonly maxBytes: number
  readonly segmentBytes: number
}

/**
 * The output of one job while it is written. One operation at a time, in the order of the calls.
 */
export interface Writer {
  readonly folder: string
  /** What is on disk, oldest first; replaced whole, so that a reader keeps what it looked at. */
  segments: ReadonlyArray<Segment>
  size: number
  finalFrom: number | undefined
  file: { readonly handle: FileSystem.File; readonly scope: Scope.CloseableScope } | undefined
  isPrepared: boolean
  last: Deferred.Deferred<void> | undefined
}

export const makeWriter = (folder: string): Writer => ({
  folder,
  segments: [],
  size: 0,
  finalFrom: undefined,
  file: undefined,
  isPrepared: false,
  last: undefined
})

/** Uninterruptible: what follows in the queue relies on this one's end. */
export const inTurn = <A, E>(writer: Writer, use: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const before = writer.last
      const done = Deferred.unsafeMake<void>(FiberId.none)
      writer.last = done
      const used = Effect.ensuring(
        use,
        Effect.sync(() => {
          if (writer.last === done) writer.last = undefined
          Deferred.unsafeDone(done, Effect.void)
        })
      )
      return before === undefined ? used : Effect.zipRight(Deferred.await(before), used)
    })
  )

/** Adds bytes, in pieces that fill segments and end with a whole character, and drops the oldest segments that are too many. */
export const append = (
  disk: Disk,
  writer: Writer,
  bytes: Uint8Array,
  final: boolean
): Effect.Effect<number, PlatformError> =>
  Effect.gen(function* () {
    if (!writer.isPrepared) yield* prepare(disk, writer)
    if (final) {
      yield* closeFile(writer)
      writer.finalFrom = writer.size
    }
    let rest = bytes
    while (rest.length > 0) {
      const segment = yield* roomySegment(disk, writer, final)
      const length = edgeBefore(rest, Math.min(rest.length, disk.segmentBytes - segment.length))
      // A segment with no room for one more character is full.
      if (length === 0) yield* closeFile(writer)
      else yield* write(disk, writer, segment, rest.subarray(0, length))
      rest = rest.subarray(length)
    }
    return writer.size
  })

/** Whatever has this name already is of a session that was removed and whose id came back: not this job's. */
const prepare = ({ fs }: Disk, writer: Writer): Effect.Effect<void, PlatformError> =>
  fs.remove(writer.folder, { recursive: true, force: true }).pipe(
    Effect.zipRight(fs.makeDirectory(writer.folder, { recursive: true, mode: 0o700 })),
    Effect.zipRight(
      Effect.sync(() => {
        writer.isPrepared = true
      })
    )
  )

const roomySegment = (disk: Disk, writer: Writer, final: boolean): Effect.Effect<Segment, PlatformError> =>
  Effect.suspend(() => {
    const last = writer.segments.at(-1)
    return last !== undefined && writer.file !== undefined && last.length < disk.segmentBytes
      ? Effect.succeed(last)
      : newSegment(disk, writer, final)
  })

const newSegment = (disk: Disk, writer: Writer, final: boolean): Effect.Effect<Segment, PlatformError> =>
  Effect.gen(function* () {
    yield* closeFile(writer)
    const segment: Segment = { offset: writer.size, length: 0, final }
    const scope = yield* Scope.make()
    // One that failed may have left a file of this name: nothing in it counts.
    const handle = yield* Scope.extend(
      disk.fs.open(disk.path.join(writer.folder, segmentName(segment)), { flag: "w", mode: 0o600 }),
      scope
    )
    writer.file = { handle, scope }
    writer.segments = [...writer.segments.filter(({ length }) => length > 0), segment]
    return segment
  })

/** What a failed write left behind does not count; the next one begins a segment of its own. */
const write = (disk: Disk, writer: Writer, segment: Segment, bytes: Uint8Array): Effect.Effect<void, PlatformError> =>
  Effect.suspend(() => (writer.file === undefined ? Effect.void : writer.file.handle.writeAll(bytes))).pipe(
    Effect.tapError(() => closeFile(writer)),
    Effect.zipRight(
      Effect.suspend(() => {
        segment.length += bytes.length
        writer.size += bytes.length
        return dropOldest(disk, writer)
      })
    )
  )

const dropOldest = (disk: Disk, writer: Writer): Effect.Effect<void, PlatformError> =>
  Effect.suspend(() => {
    const [oldest, ...rest] = writer.segments
    if (oldest === undefined || rest.length === 0 || writer.size - oldest.offset <= disk.maxBytes) return Effect.void
    writer.segments = rest
    return Effect.zipRight(
      disk.fs.remove(disk.path.join(writer.folder, segmentName(oldest)), { force: true }),
      dropOldest(disk, writer)
    )
  })

export const closeFile = (writer: Writer): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { file } = writer
    writer.file = undefined
    return file === undefined
      ? Effect.void
      : // All that was written is written; a handle that cannot be closed costs a descriptor.
        Effect.catchAllDefect(Scope.close(file.scope, Exit.void), (defect) =>
          Effect.logWarning(`a file of ${writer.folder} could not be closed`, defect)
        )
  })

/** What is on disk of a job that nobody writes. `undefined`: nothing. */
export const listSegments = (
  disk: Disk,
  folder: string
): Effect.Effect<ReadonlyArray<Segment> | undefined, PlatformError> =>
  Effect.gen(function* () {
    const names = yield* orNothing(disk.fs.readDirectory(folder))
    const found = (names ?? []).flatMap((name) => parseSegmentName(name) ?? [])
    found.sort((one, other) => one.offset - other.offset)
    const last = found.at(-1)
    if (last === undefined) return undefined
    const sizes = yield* Effect.forEach(found, (segment) =>
      Effect.map(orNothing(disk.fs.stat(disk.path.join(folder, segmentName(segment)))), (info) =>
        Number(info?.size ?? 0)
      )
    )
    const whole = found.map((segment, index) => ({
      ...segment,
      length: Math.min(sizes[index] ?? 0, (found[index + 1]?.offset ?? Number.MAX_SAFE_INTEGER) - segment.offset)
    }))
    // What stands before a hole counts as dropped: nobody knows what, and how much, was there.
    const hole = whole.findLastIndex(({ length, offset }, index) => offset + length < (whole[index + 1]?.offset ?? 0))
    return whole.slice(hole + 1)
  })

/** What does not exist is `undefined`. */
const orNothing = <A>(effect: Effect.Effect<A, PlatformError>): Effect.Effect<A | undefined, PlatformError> =>
  Effect.catchTag(effect, "SystemError", (error) =>
    error.reason === "NotFound" ? Effect.succeed(undefined) : Effect.fail(error)
  )

export const sizeOf = (segments: ReadonlyArray<Segment>): SpoolSize => {
  const last = segments.at(-1)
  return {
    size: last === undefined ? 0 : last.offset + last.length,
    finalFrom: segments.find(({ final }) => final)?.offset
  }
}

/**
 * The bytes from an offset on. `undefined`: a segment was dropped while it was about to be read; what is kept begins later now.
 */
export const readRange = (
  disk: Disk,
  folder: string,
  segments: ReadonlyArray<Segment>,
  from: number,
  limit: number
): Effect.Effect<SpoolPage | undefined, PlatformError> =>
  Effect.gen(function* () {
    const { size } = sizeOf(segments)
    const offset = Math.max(from, segments[0]?.offset ?? 0)
    const bytes = new Uint8Array(Math.max(0, Math.min(limit, size - offset)))
    for (const segment of segments) {
      const start = Math.max(offset, segment.offset)
      const end = Math.min(offset + bytes.length, segment.offset + segment.length)
      if (start >= end) continue
      const file = disk.path.join(folder, segmentName(segment))
      const part = yield* orNothing(readPart(disk, file, start - segment.offset, end - start))
      if (part === undefined) return undefined
      bytes.set(part, start - offset)
    }
    return { offset, bytes }
  })

const readPart = (
  disk: Disk,
  file: string,
  position: number,
  length: number
): Effect.Effect<Uint8Array, PlatformError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const handle = yield* disk.fs.open(file, { flag: "r" })
      yield* handle.seek(position, "start")
      const bytes = new Uint8Array(length)
      for (let filled = 0; filled < length; ) {
        const part = yield* handle.readAlloc(length - filled)
        // A file that was cut from outside ends early: the rest reads as zeros.
        if (Option.isNone(part)) break
        bytes.set(part.value, filled)
        filled += part.value.length
      }
      return bytes
    })
  )
