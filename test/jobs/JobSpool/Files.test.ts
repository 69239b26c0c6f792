import { JobSpool } from "@afterturn/jobs/JobSpool"
import * as Files from "@afterturn/jobs/JobSpool/Files"
import { FileSystem, Path } from "@effect/platform"
import { SystemError } from "@effect/platform/Error"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { bytes, key, spoolContract, text } from "../support/spoolContract.js"

const temporary = Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())

const inTemporary = (maxSpoolBytes: number) =>
  Layer.unwrapScoped(Effect.map(temporary, (directory) => Files.layer({ directory, maxSpoolBytes }))).pipe(
    Layer.provide(NodeContext.layer)
  )

spoolContract("a spool in files", inTemporary, 10)

/** A process that keeps output in `directory`, from the beginning of `use` to its end. */
const processWith = <A, E, R>(
  options: Files.FilesOptions,
  use: (spool: typeof JobSpool.Service) => Effect.Effect<A, E, R>
) => Effect.provide(Effect.flatMap(JobSpool, use), Files.layer(options))

/** Lets the disk get on. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

describe("a spool in files", () => {
  it.scoped("makes nothing until a job writes", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = `${yield* temporary}/spool`
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          yield* spool.size(key())
          assert.isFalse(yield* fs.exists(directory))
          yield* spool.append(key(), bytes("x"))
          assert.isTrue(yield* fs.exists(directory))
        })
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("is read by the next process, wherever the last one died", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          yield* spool.append(key(), bytes("first "))
          yield* spool.append(key(), bytes("second"))
          yield* spool.append(key("bash-2"), bytes("progress"))
          yield* spool.append(key("bash-2"), bytes("report"), { final: true })
        })
      )
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          assert.strictEqual(text(yield* spool.read(key(), 0, 100)), "first second")
          assert.strictEqual(text(yield* spool.read(key(), 8, 100)), "cond")
          assert.deepStrictEqual(yield* spool.size(key()), { size: 12, finalFrom: undefined })
          assert.deepStrictEqual(yield* spool.size(key("bash-2")), { size: 14, finalFrom: 8 })
        })
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("is its user's only", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const directory = `${yield* temporary}/spool`
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          yield* spool.append(key(), bytes("secret"))
          const folder = spool.location(key())!
          const [file] = yield* fs.readDirectory(folder)
          const mode = (name: string) => Effect.map(fs.stat(name), (info) => info.mode & 0o777)
          assert.strictEqual(yield* mode(path.join(folder, file!)), 0o600)
          assert.strictEqual(yield* mode(folder), 0o700)
          assert.strictEqual(yield* mode(path.dirname(folder)), 0o700)
          assert.strictEqual(yield* mode(directory), 0o700)
        })
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("puts every session in a folder of its own, inside its directory", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const directory = yield* temporary
      const long = "A".repeat(127)
      const sessions = [
        "a",
        "A",
        "a.b",
        "a..b",
        "a:b",
        "a_3ab",
        "a_b",
        "con",
        "host-1",
        "S-a",
        "s-a",
        "0",
        `${long}A`,
        `${long}B`
      ]
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          yield* Effect.forEach(sessions, (session) => spool.append(key("bash-1", session), bytes(session)))
          const folders = sessions.map((session) => spool.location(key("bash-1", session))!)
          assert.strictEqual(new Set(folders.map((folder) => folder.toLowerCase())).size, sessions.length)
          for (const [index, session] of sessions.entries()) {
            assert.strictEqual(text(yield* spool.read(key("bash-1", session), 0, 1000)), session)
            assert.strictEqual(path.dirname(path.dirname(folders[index]!)), directory)
          }
        })
      )
      assert.strictEqual((yield* fs.readDirectory(directory)).length, sessions.length)
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("holds no more on disk than it may, in files whose order is the output's", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const directory = yield* temporary
      const line = "0123456789abcde\n"
      yield* processWith({ directory, maxSpoolBytes: 4096, segmentBytes: 512 }, (spool) =>
        Effect.gen(function* () {
          for (let index = 0; index < 100; index++) yield* spool.append(key(), bytes(line.repeat(10)))
          const folder = spool.location(key())!
          const names = (yield* fs.readDirectory(folder)).sort()
          const contents = yield* Effect.forEach(names, (name) => fs.readFileString(path.join(folder, name)))
          const all = contents.join("")
          assert.isAtMost(all.length, 4096)
          assert.isAtLeast(all.length, 3500)
          assert.match(all, /^(0123456789abcde\n)+$/)
        })
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("serves readers while the oldest is dropped", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const numbers = Array.from({ length: 200 }, (_, index) => `${index.toString().padStart(7, "0")}\n`)
      yield* processWith({ directory, maxSpoolBytes: 512, segmentBytes: 64 }, (spool) =>
        Effect.gen(function* () {
          const reader = Effect.gen(function* () {
            let from = 0
            while (from < numbers.length * 8) {
              const page = yield* spool.read(key(), from, 100)
              if (page === undefined || page.bytes.length === 0) {
                yield* turn
                continue
              }
              assert.isAtLeast(page.offset, from)
              const expected = numbers.join("").slice(page.offset, page.offset + page.bytes.length)
              assert.strictEqual(text(page), expected)
              from = page.offset + page.bytes.length
            }
          })
          const write = Effect.forEach(numbers, (number) => spool.append(key(), bytes(number)), { discard: true })
          yield* Effect.all([write, reader, reader, reader], { concurrency: "unbounded", discard: true })
        })
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("does not take up what an earlier session of the same id left", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* processWith({ directory }, (spool) => spool.append(key(), bytes("of the old one")))
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          assert.strictEqual(yield* spool.append(key(), bytes("new")), 3)
          assert.strictEqual(text(yield* spool.read(key(), 0, 100)), "new")
        })
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("removes the output of jobs that nobody owns with the process", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const directory = yield* temporary
      const unowned = { owner: undefined, id: key("host-bash-1").id }
      yield* processWith({ directory }, (spool) => spool.append(unowned, bytes("x")))
      assert.deepStrictEqual(yield* fs.readDirectory(directory), [])
      yield* processWith({ directory }, (spool) =>
        Effect.map(spool.read(unowned, 0, 10), (page) => assert.isUndefined(page))
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("goes on after a write that failed half-way, without what it left", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const disk = yield* fullDisk
      const broken = Layer.provide(Files.layer({ directory }), Layer.succeed(FileSystem.FileSystem, disk.fs))
      yield* Effect.gen(function* () {
        const spool = yield* JobSpool
        yield* spool.append(key(), bytes("before "))
        disk.isFull = true
        const error = yield* Effect.flip(spool.append(key(), bytes("lost")))
        assert.match(error.message, /^cannot keep output in .*bash-1: /)
        disk.isFull = false
        assert.strictEqual(yield* spool.append(key(), bytes("after")), 12)
        assert.strictEqual(text(yield* spool.read(key(), 0, 100)), "before after")
        yield* spool.end(key())
        assert.strictEqual(text(yield* spool.read(key(), 0, 100)), "before after")
      }).pipe(Effect.provide(broken))
    }).pipe(Effect.provide(NodeContext.layer))
  )
})

/** A file system that can be told to be full: a write then leaves half of its bytes and fails. */
const fullDisk = Effect.map(FileSystem.FileSystem, (fs) => {
  const disk = {
    isFull: false,
    fs: FileSystem.make({
      ...fs,
      open: (path, options) =>
        Effect.map(fs.open(path, options), (file) =>
          Object.assign(Object.create(file) as FileSystem.File, {
            writeAll: (buffer: Uint8Array) =>
              disk.isFull
                ? Effect.zipRight(file.writeAll(buffer.subarray(0, buffer.length >> 1)), Effect.fail(noSpace(path)))
                : file.writeAll(buffer)
          })
        )
    })
  }
  return disk
})

const noSpace = (path: string) =>
  new SystemError({
    reason: "Unknown",
    module: "FileSystem",
    method: "writeAll",
    pathOrDescriptor: path,
    description: "ENOSPC"
  })

describe("collectGarbage", () => {
  const age = (directory: string, session: string, seconds: number) =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const folder = path.join(directory, `s-${session}`, "bash-1")
      for (const name of yield* fs.readDirectory(folder)) yield* fs.utimes(path.join(folder, name), seconds, seconds)
    })

  it.scoped("removes output that nobody has added to for the time, and nothing else", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const path = yield* Path.Path
      const directory = yield* temporary
      yield* processWith({ directory }, (spool) =>
        Effect.forEach(["old", "new"], (session) => spool.append(key("bash-1", session), bytes("x")))
      )
      yield* fs.makeDirectory(path.join(directory, "somebody's"))
      yield* fs.writeFileString(path.join(directory, "s-file"), "x")
      yield* age(directory, "old", 1000)
      yield* age(directory, "new", 2000)
      yield* TestClock.setTime(Duration.toMillis(Duration.sum(Duration.days(7), Duration.seconds(1500))))
      assert.strictEqual(yield* Files.collectGarbage({ directory }), 1)
      assert.strictEqual(yield* Files.collectGarbage({ directory }), 0)
      yield* processWith({ directory }, (spool) =>
        Effect.gen(function* () {
          assert.isUndefined(yield* spool.size(key("bash-1", "old")))
          assert.strictEqual((yield* spool.size(key("bash-1", "new")))?.size, 1)
        })
      )
      assert.isTrue(yield* fs.exists(path.join(directory, "somebody's")))
      assert.isTrue(yield* fs.exists(path.join(directory, "s-file")))
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("finds nothing where no job ever wrote", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Files.collectGarbage({ directory: `${yield* temporary}/nothing` }), 0)
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scoped("takes the time that it is given", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      yield* processWith({ directory }, (spool) => spool.append(key("bash-1", "a"), bytes("x")))
      yield* age(directory, "a", 1000)
      yield* TestClock.setTime(1_000_000 + 60_000)
      assert.strictEqual(yield* Files.collectGarbage({ directory, retention: "2 minutes" }), 0)
      assert.strictEqual(yield* Files.collectGarbage({ directory, retention: "59 seconds" }), 1)
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.effect("names what it cannot read", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Files.collectGarbage({ directory: "/tmp/\u0000" }))
      assert.strictEqual(error._tag, "JobSpoolError")
    }).pipe(Effect.provide(NodeContext.layer))
  )
})
