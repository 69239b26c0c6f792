/**
 * Output of jobs in files: bounded a job, there after a restart, and where a person can read it.
 *
 * A job's folder is `<directory>/<session>/<job id>`. It holds segments of at most 1 MiB, named by the offset at which they begin, so
 * that `cat` of all of them gives the output; the oldest goes when there are too many. Folders and files are their user's only.
 *
 * @since 0.1.0
 */
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import { isJobFolder, isJobsFolder, parseSegmentName, sessionFolder } from "../internal/fileNames.js"
import type { Disk, Writer } from "../internal/fileSpool.js"
import * as FileSpool from "../internal/fileSpool.js"
import type { SpoolKey, SpoolPage } from "../JobSpool.js"
import { defaultMaxSpoolBytes, JobSpool, JobSpoolError } from "../JobSpool.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface FilesOptions {
  /** Where the output is kept. Made when the first job writes. */
  readonly directory: string
  /** Bytes that are kept of one job's output. Default 16 MiB. */
  readonly maxSpoolBytes?: number
  /** Bytes of one file, and the least that is dropped. Default 1 MiB, and at most a quarter of `maxSpoolBytes`. */
  readonly segmentBytes?: number
  /** Output that nobody has added to for so long is removed when the layer is built. Default 7 days. */
  readonly retention?: Duration.DurationInput
}

const defaultRetention = Duration.days(7)

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: FilesOptions): Layer.Layer<JobSpool, never, FileSystem.FileSystem | Path.Path> =>
  Layer.scoped(JobSpool, make(options))

/**
 * Removes the output of jobs that nobody has added to for `retention` (7 days), and answers of how many jobs. Leaves alone what has
 * not the shape of a job's output.
 *
 * @since 0.1.0
 * @category operations
 */
export const collectGarbage = Effect.fn("JobSpool.collectGarbage")(function* (
  options: Pick<FilesOptions, "directory" | "retention">
) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  return yield* asSpoolError(
    "remove old output",
    removeOld(fs, path, options, () => false)
  )
})

const make = (
  options: FilesOptions
): Effect.Effect<typeof JobSpool.Service, never, FileSystem.FileSystem | Path.Path | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const maxBytes = options.maxSpoolBytes ?? defaultMaxSpoolBytes
    const segmentBytes = Math.max(4, Math.min(options.segmentBytes ?? 1024 * 1024, Math.floor(maxBytes / 4)))
    const disk: Disk = { fs, path, maxBytes, segmentBytes }
    // Jobs that nobody owns end with the process, and their ids begin anew with the next.
    const unowned = `host-${(yield* Random.nextIntBetween(0, 2 ** 31)).toString(16)}`
    const files: Files = {
      disk,
      writers: new Map(),
      folderOf: (owner) => path.join(options.directory, owner === undefined ? unowned : sessionFolder(owner))
    }
    yield* Effect.addFinalizer(() => close(files))
    yield* Effect.forkScoped(removeOldQuietly(files, options))
    return service(files)
  })

interface Files {
  readonly disk: Disk
  /** By folder: the jobs that are being written. */
  readonly writers: Map<string, Writer>
  readonly folderOf: (owner: SpoolKey["owner"]) => string
}

const jobFolder = (files: Files, key: SpoolKey): string => files.disk.path.join(files.folderOf(key.owner), key.id)

const service = (files: Files): typeof JobSpool.Service => ({
  append: (key, bytes, options) =>
    Effect.suspend(() => {
      const writer = writerOf(files, jobFolder(files, key))
      return asSpoolError(
        `keep output in ${writer.folder}`,
        FileSpool.inTurn(writer, FileSpool.append(files.disk, writer, bytes, options?.final ?? false))
      )
    }),
  end: (key) =>
    Effect.suspend(() => {
      const folder = jobFolder(files, key)
      const writer = files.writers.get(folder)
      return writer === undefined ? Effect.void : forget(files, folder, writer)
    }),
  read: (key, from, limit) => {
    const folder = jobFolder(files, key)
    return asSpoolError(`read output in ${folder}`, read(files, folder, from, limit))
  },
  size: (key) => {
    const folder = jobFolder(files, key)
    return asSpoolError(
      `look up output in ${folder}`,
      Effect.map(segmentsOf(files, folder), (segments) =>
        segments === undefined ? undefined : FileSpool.sizeOf(segments)
      )
    )
  },
  location: (key) => jobFolder(files, key),
  remove: (owner) => {
    const folder = files.folderOf(owner)
    return asSpoolError(`remove ${folder}`, removeFolder(files, folder))
  }
})

const writerOf = (files: Files, folder: string): Writer => {
  const present = files.writers.get(folder)
  if (present !== undefined) return present
  const writer = FileSpool.makeWriter(folder)
  files.writers.set(folder, writer)
  return writer
}

const forget = (files: Files, folder: string, writer: Writer): Effect.Effect<void> =>
  FileSpool.inTurn(
    writer,
    Effect.map(FileSpool.closeFile(writer), () => {
      if (files.writers.get(folder) === writer) files.writers.delete(folder)
    })
  )

const segmentsOf = (files: Files, folder: string) =>
  Effect.suspend(() => {
    const writer = files.writers.get(folder)
    return writer === undefined ? FileSpool.listSegments(files.disk, folder) : Effect.succeed(writer.segments)
  })

/** A page, looked up anew when the writer dropped a segment of it meanwhile. */
const read = (
  files: Files,
  folder: string,
  from: number,
  limit: number
): Effect.Effect<SpoolPage | undefined, PlatformError> =>
  Effect.gen(function* () {
    for (let attempt = 0; attempt < 5; attempt++) {
      const segments = yield* segmentsOf(files, folder)
      if (segments === undefined) return undefined
      const page = yield* FileSpool.readRange(files.disk, folder, segments, from, limit)
      if (page !== undefined) return page
    }
    // Somebody else removes the files.
    return undefined
  })

const removeFolder = (files: Files, folder: string): Effect.Effect<void, PlatformError> =>
  Effect.suspend(() => {
    const inside = [...files.writers].filter(([name]) => files.disk.path.dirname(name) === folder)
    return Effect.zipRight(
      Effect.forEach(inside, ([name, writer]) => forget(files, name, writer), { discard: true }),
      files.disk.fs.remove(folder, { recursive: true, force: true })
    )
  })

const close = (files: Files): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach([...files.writers], ([name, writer]) => forget(files, name, writer), { discard: true })
  ).pipe(
    Effect.zipRight(removeFolder(files, files.folderOf(undefined))),
    Effect.catchAll((error) => Effect.logWarning("output of jobs that nobody owned was left behind", error))
  )

/** Old output that stays costs space until the next start. */
const removeOldQuietly = (files: Files, options: FilesOptions): Effect.Effect<void> =>
  removeOld(files.disk.fs, files.disk.path, options, (folder) => files.writers.has(folder)).pipe(
    Effect.catchAll((error) => Effect.logWarning("old output of jobs could not be removed", error)),
    Effect.asVoid
  )

const removeOld = (
  fs: FileSystem.FileSystem,
  path: Path.Path,
  { directory, retention }: Pick<FilesOptions, "directory" | "retention">,
  isWritten: (folder: string) => boolean
): Effect.Effect<number, PlatformError> =>
  Effect.gen(function* () {
    const before = (yield* Clock.currentTimeMillis) - Duration.toMillis(retention ?? defaultRetention)
    let removed = 0
    for (const session of yield* entries(fs, directory, isJobsFolder)) {
      const folder = path.join(directory, session)
      if ((yield* fs.stat(folder)).type !== "Directory") continue
      let kept = 0
      for (const job of yield* entries(fs, folder, isJobFolder)) {
        const jobPath = path.join(folder, job)
        if (isWritten(jobPath) || (yield* lastChange(fs, path, jobPath)) >= before) kept++
        else {
          yield* fs.remove(jobPath, { recursive: true, force: true })
          removed++
        }
      }
      if (kept === 0) yield* removeEmpty(fs, folder, before)
    }
    return removed
  })

/** A folder that just became empty stays until the next time: a job may be about to write there. */
const removeEmpty = (fs: FileSystem.FileSystem, folder: string, before: number): Effect.Effect<void, PlatformError> =>
  Effect.gen(function* () {
    const names = yield* fs.readDirectory(folder)
    if (names.length > 0 || (yield* changedAt(fs, folder)) >= before) return
    yield* fs.remove(folder, { recursive: true, force: true })
  })

const entries = (
  fs: FileSystem.FileSystem,
  folder: string,
  isWanted: (name: string) => boolean
): Effect.Effect<ReadonlyArray<string>, PlatformError> =>
  fs.readDirectory(folder).pipe(
    Effect.map((names) => names.filter(isWanted)),
    Effect.catchTag("SystemError", (error) => (error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(error)))
  )

/** When a job last wrote, in milliseconds since the epoch. */
const lastChange = (fs: FileSystem.FileSystem, path: Path.Path, folder: string): Effect.Effect<number, PlatformError> =>
  Effect.gen(function* () {
    const newest = (yield* entries(fs, folder, (name) => parseSegmentName(name) !== undefined)).toSorted().at(-1)
    return yield* changedAt(fs, newest === undefined ? folder : path.join(folder, newest))
  })

const changedAt = (fs: FileSystem.FileSystem, path: string): Effect.Effect<number, PlatformError> =>
  fs.stat(path).pipe(
    Effect.map(({ mtime }) => Option.match(mtime, { onNone: () => Infinity, onSome: (date) => date.getTime() })),
    // Another process removes old output too, and a link may lead nowhere: that is no reason to keep the rest.
    Effect.catchTag("SystemError", (error) =>
      error.reason === "NotFound" ? Effect.succeed(Infinity) : Effect.fail(error)
    )
  )

const asSpoolError = <A, R>(
  what: string,
  effect: Effect.Effect<A, PlatformError, R>
): Effect.Effect<A, JobSpoolError, R> =>
  Effect.mapError(effect, (cause) => new JobSpoolError({ message: `cannot ${what}: ${cause.message}`, cause }))
