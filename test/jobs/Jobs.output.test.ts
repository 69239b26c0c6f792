import * as Job from "@afterturn/jobs/Job"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import type { OutputChunk } from "@afterturn/jobs/Jobs"
import { Jobs } from "@afterturn/jobs/Jobs"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Support from "./support/jobs.js"

const { s1 } = Support

const bytes = (...values: ReadonlyArray<number>) => Uint8Array.from(values)

const started = (facts?: Parameters<typeof Support.writer>[1]) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    yield* Support.alive()
    const work = Support.writer(s1, facts)
    const { id } = yield* jobs.start(work.spec)
    return { jobs, id, ...work, read: Effect.map(jobs.read(id, s1), ({ output }) => output) }
  })

describe("read", () => {
  it.scoped("gives what is new, with the status of that moment, and says how much is unread", () =>
    Effect.gen(function* () {
      const { id, jobs, release, write } = yield* started()
      yield* write("one ")
      yield* write("two")
      const before = yield* jobs.get(id, s1)
      assert.deepStrictEqual([before.outputBytes, before.unreadBytes], [7, 7])
      const first = yield* jobs.read(id, s1)
      assert.deepStrictEqual(first, {
        snapshot: { ...before, unreadBytes: 0 },
        output: "one two",
        cursor: 7,
        limitBytes: 30_000,
        droppedBytes: 0,
        expired: false
      })
      assert.strictEqual((yield* jobs.read(id, s1)).output, "")
      assert.strictEqual((yield* jobs.get(id, s1)).unreadBytes, 0)
      yield* write("three")
      yield* release()
      yield* jobs.wait(id, "1 minute", s1)
      const last = yield* jobs.read(id, s1)
      assert.deepStrictEqual([last.snapshot.status, last.output, last.cursor], ["completed", "three", 12])
      assert.strictEqual((yield* jobs.read(id, s1)).output, "")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("gives a final output each time, once the job has ended", () =>
    Effect.gen(function* () {
      const { id, jobs, release, write } = yield* started()
      yield* write("working …")
      assert.strictEqual((yield* jobs.read(id, s1)).output, "working …")
      yield* release("the report")
      const ended = yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual(ended.unreadBytes, 10)
      for (let index = 0; index < 3; index++) assert.strictEqual((yield* jobs.read(id, s1)).output, "the report")
      assert.strictEqual((yield* jobs.get(id, s1)).unreadBytes, 0)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("gives an empty final output as empty", () =>
    Effect.gen(function* () {
      const { id, jobs, release } = yield* started()
      yield* release("")
      yield* jobs.wait(id, "1 minute", s1)
      const read = yield* jobs.read(id, s1)
      assert.deepStrictEqual([read.output, read.droppedBytes, read.expired], ["", 0, false])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("keeps the tail within the limit, whole characters, and counts what it skipped", () =>
    Effect.gen(function* () {
      const { id, jobs, write } = yield* started({ outputLimitBytes: 10 })
      yield* write("a€€€€")
      const read = yield* jobs.read(id, s1)
      assert.deepStrictEqual([read.output, read.droppedBytes, read.cursor, read.limitBytes], ["€€€", 4, 13, 10])
      yield* write("0123456789")
      assert.strictEqual((yield* jobs.read(id, s1, { reserveBytes: 4 })).output, "456789")
      yield* write("€")
      const nothing = yield* jobs.read(id, s1, { reserveBytes: 8 })
      assert.deepStrictEqual([nothing.output, nothing.droppedBytes], ["", 3])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("says how many bytes the spool dropped before anybody read them", () =>
    Effect.gen(function* () {
      const { id, jobs, write } = yield* started()
      for (let index = 0; index < 100; index++) yield* write("0123456789")
      const read = yield* jobs.read(id, s1)
      assert.strictEqual(read.droppedBytes + read.output.length, 1000)
      assert.isAtMost(read.output.length, 100)
      assert.isAtLeast(read.output.length, 80)
    }).pipe(Effect.provide(Support.layer(undefined, { spool: JobSpool.layerMemory({ maxSpoolBytes: 100 }) })))
  )

  it.scoped("gives no piece to two readers", () =>
    Effect.gen(function* () {
      const { id, jobs, write } = yield* started()
      const pieces: Array<string> = []
      const reader = Effect.repeatN(
        Effect.map(jobs.read(id, s1), ({ output }) => pieces.push(output)),
        30
      )
      const writing = Effect.forEach(
        Array.from({ length: 50 }, (_, index) => `${index} `),
        (piece) => Effect.zipRight(write(piece), Effect.yieldNow())
      )
      yield* Effect.all([writing, reader, reader, reader], { concurrency: "unbounded" })
      pieces.push((yield* jobs.read(id, s1)).output)
      const numbers = pieces.join("").trim().split(" ").map(Number)
      assert.deepStrictEqual(
        numbers.toSorted((one, other) => one - other),
        Array.from({ length: 50 }, (_, index) => index)
      )
    }).pipe(Effect.provide(Support.layer(undefined, { spool: slowSpool() })))
  )

  it.scoped("takes nothing when it is interrupted", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    return Effect.gen(function* () {
      const { id, jobs, write } = yield* started()
      yield* write("output")
      const reader = yield* Effect.fork(jobs.read(id, s1))
      yield* Support.turns
      yield* Fiber.interrupt(reader)
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* jobs.read(id, s1)).output, "output")
    }).pipe(Effect.provide(Support.layer(undefined, { spool: slowSpool(Deferred.await(gate)) })))
  })
})

/** A spool whose reads take a while. */
const slowSpool = (before: Effect.Effect<void> = Effect.yieldNow()) =>
  Layer.map(JobSpool.layerMemory(), (context) => {
    const spool = Context.get(context, JobSpool.JobSpool)
    return Context.make(JobSpool.JobSpool, {
      ...spool,
      read: (key, from, limit) => Effect.zipRight(before, spool.read(key, from, limit))
    })
  })

describe("characters", () => {
  it.scoped("that come in two writes arrive whole, and what is no character as U+FFFD", () =>
    Effect.gen(function* () {
      const { id, jobs, read, release, write } = yield* started()
      const reads: Array<string> = []
      const next = Effect.map(read, (output) => reads.push(output))
      yield* write(bytes(0xe2, 0x94))
      yield* next
      yield* write(bytes(0x80, 0x0a))
      yield* write(bytes(0xf0, 0x9f))
      yield* next
      yield* write(bytes(0x8e, 0x89, 0x0a))
      yield* write(bytes(0xff, 0x6f, 0x6b, 0x0a))
      yield* next
      yield* write(bytes(0xe2, 0x94))
      yield* next
      yield* release()
      yield* jobs.wait(id, "1 minute", s1)
      yield* next
      assert.deepStrictEqual(reads, ["", "─\n", "🎉\n\uFFFDok\n", "", "\uFFFD"])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("of text that come in two halves arrive whole, text does not overtake bytes", () =>
    Effect.gen(function* () {
      const { id, jobs, read, release, write } = yield* started()
      yield* write("a\ud83c")
      assert.strictEqual(yield* read, "a")
      yield* write("\udf89b")
      assert.strictEqual(yield* read, "🎉b")
      yield* write(bytes(0xe2, 0x94))
      yield* write("text")
      yield* write(bytes(0x80))
      yield* write("\ud83c")
      yield* release()
      yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual(yield* read, "\uFFFDtext\uFFFD\uFFFD")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.effect.prop(
    "are those of the whole output, however it is cut into writes and reads",
    [fc.array(fc.tuple(fc.uint8Array({ maxLength: 12 }), fc.boolean()), { maxLength: 12 }), fc.fullUnicodeString()],
    ([writes, text]) =>
      Effect.gen(function* () {
        const { id, jobs, read, release, write } = yield* started()
        const encoded = new TextEncoder().encode(text)
        const chunks = [...writes, ...[...encoded].map((byte) => [bytes(byte), byte % 3 === 0] as const)]
        let seen = ""
        for (const [chunk, reads] of chunks) {
          yield* write(chunk)
          if (reads) seen += yield* read
        }
        yield* release()
        yield* jobs.wait(id, "1 minute", s1)
        seen += yield* read
        const all = Buffer.concat(chunks.map(([chunk]) => chunk))
        assert.strictEqual(seen, new TextDecoder("utf-8", { ignoreBOM: true }).decode(all))
      }).pipe(Effect.scoped, Effect.provide(Support.layer())),
    { fastCheck: { numRuns: 50 } }
  )
})

describe("wait", () => {
  it.scoped("answers with the live status when the time is over, at once for 0, and for what has ended", () =>
    Effect.gen(function* () {
      const { id, jobs, release } = yield* started()
      const timed = yield* Effect.fork(jobs.wait(id, "200 millis", s1))
      yield* TestClock.adjust("199 millis")
      assert.isNull(yield* Fiber.poll(timed).pipe(Effect.map((exit) => (exit._tag === "None" ? null : exit.value))))
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* Fiber.join(timed)).status, "running")
      assert.strictEqual((yield* jobs.wait(id, 0, s1)).status, "running")
      assert.strictEqual((yield* jobs.wait(id, -5, s1)).status, "running")
      const forever = yield* Effect.fork(jobs.wait(id, "99999 days", s1))
      yield* release()
      assert.strictEqual((yield* Fiber.join(forever)).status, "completed")
      assert.strictEqual((yield* jobs.wait(id, "1 day", s1)).status, "completed")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("ends alone when it is interrupted", () =>
    Effect.gen(function* () {
      const { id, jobs, release } = yield* started()
      const waits = yield* Effect.forEach([1, 2], () => Effect.fork(jobs.wait(id, "1 day", s1)))
      yield* Support.turns
      yield* Fiber.interrupt(waits[0]!)
      assert.strictEqual((yield* jobs.get(id, s1)).status, "running")
      yield* release()
      assert.strictEqual((yield* Fiber.join(waits[1]!)).status, "completed")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("keeps to its time where it may not be interrupted", () =>
    Effect.gen(function* () {
      const { id, jobs, release } = yield* started()
      const waiting = yield* Effect.fork(Effect.uninterruptible(jobs.wait(id, "1 second", s1)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting)).status, "running")
      yield* release()
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("knows an id from the moment it is out", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const work = Support.held()
      const status = yield* Effect.flatMap(jobs.start(work.spec), ({ id }) =>
        Effect.all([jobs.wait(id, "200 millis", s1), TestClock.adjust("1 second")], { concurrency: 2 })
      )
      assert.strictEqual(status[0].status, "running")
    }).pipe(Effect.provide(Support.layer()))
  )
})

const joined = (chunks: Chunk.Chunk<OutputChunk>) =>
  Chunk.toReadonlyArray(chunks)
    .map(({ text }) => text)
    .join("")

describe("output", () => {
  it.scoped("follows from any offset to the end of the job, for any number of readers, and consumes nothing", () =>
    Effect.gen(function* () {
      const { id, jobs, read, release, write } = yield* started()
      yield* write("before ")
      const all = yield* Effect.forEach([0, 0, 7, 12], (from) =>
        Effect.fork(Stream.runCollect(jobs.output(id, s1, { from })))
      )
      yield* Support.turns
      yield* write("während")
      yield* Support.turns
      yield* write(" after")
      yield* release("!")
      const texts = yield* Effect.forEach(all, (fiber) => Effect.map(Fiber.join(fiber), joined))
      assert.deepStrictEqual(texts, ["before während after!", "before während after!", "während after!", "end after!"])
      assert.strictEqual(yield* read, "!")
      const chunks = Chunk.toReadonlyArray(yield* Stream.runCollect(jobs.output(id, s1)))
      assert.deepStrictEqual(chunks, [{ offset: 0, text: "before während after!", droppedBytes: 0 }])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("begins with a whole character, and takes strange offsets for the beginning", () =>
    Effect.gen(function* () {
      const { id, jobs, release, write } = yield* started()
      yield* write("€uro")
      yield* release()
      yield* jobs.wait(id, "1 minute", s1)
      const from = (offset: number) => Effect.map(Stream.runCollect(jobs.output(id, s1, { from: offset })), joined)
      assert.strictEqual(yield* from(1), "uro")
      assert.strictEqual(yield* from(-1), "€uro")
      assert.strictEqual(yield* from(Number.NaN), "€uro")
      assert.strictEqual(yield* from(6), "")
      assert.strictEqual(yield* from(60), "")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("tells a slow reader what it missed, and queues nothing for it", () =>
    Effect.gen(function* () {
      const { id, jobs, release, write } = yield* started()
      const seen = yield* Ref.make<ReadonlyArray<OutputChunk>>([])
      const gate = yield* Deferred.make<void>()
      const reader = yield* Effect.fork(
        Stream.runForEach(jobs.output(id, s1), (chunk) =>
          Effect.zipRight(
            Ref.update(seen, (chunks) => [...chunks, chunk]),
            Deferred.await(gate)
          )
        )
      )
      yield* write("first")
      yield* Support.turns
      for (let index = 0; index < 100; index++) yield* write("0123456789")
      yield* release()
      yield* jobs.wait(id, "1 minute", s1)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(reader)
      const [first, second, ...rest] = yield* Ref.get(seen)
      assert.deepStrictEqual(rest, [])
      assert.deepStrictEqual(first, { offset: 0, text: "first", droppedBytes: 0 })
      assert.strictEqual(second!.droppedBytes + second!.text.length, 1000)
      assert.strictEqual(second!.offset, 5 + second!.droppedBytes)
      assert.isAtMost(second!.text.length, 100)
    }).pipe(Effect.provide(Support.layer(undefined, { spool: JobSpool.layerMemory({ maxSpoolBytes: 100 }) })))
  )

  it.scoped("pages through more than fits a page without cutting a character", () =>
    Effect.gen(function* () {
      const { id, jobs, release, write } = yield* started()
      const text = `x${"€".repeat(100_000)}`
      yield* write(text)
      yield* release()
      yield* jobs.wait(id, "1 minute", s1)
      const chunks = yield* Stream.runCollect(jobs.output(id, s1))
      assert.isAbove(chunks.length, 3)
      assert.strictEqual(joined(chunks), text)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("ends with the reader, not with the job", () =>
    Effect.gen(function* () {
      const { id, jobs, write } = yield* started()
      yield* write("a")
      const [chunk] = Chunk.toReadonlyArray(yield* Stream.runCollect(Stream.take(jobs.output(id, s1), 1)))
      assert.strictEqual(chunk?.text, "a")
      assert.strictEqual((yield* jobs.get(id, s1)).status, "running")
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("a flood", () => {
  it.live("leaves turns of the event loop to others", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      let turns = 0
      const count = () => {
        turns++
        if (turns < 1000) setImmediate(count)
      }
      const piece = new Uint8Array(64 * 1024).fill(0x78)
      const flood = Job.make({ kind: "work", label: "flood", owner: s1 }, ({ write }) =>
        Effect.zipRight(Effect.sync(count), Effect.repeatN(write(piece), 16 * 20 - 1))
      )
      const { id } = yield* jobs.start(flood)
      const ended = yield* jobs.wait(id, "1 hour", s1)
      assert.strictEqual(ended.outputBytes, 20 * 1024 * 1024)
      assert.isAtLeast(turns, 20)
    }).pipe(Effect.scoped, Effect.provide(Support.layer()))
  )
})

describe("a spool that fails", () => {
  it.scoped("loses output, not the job", () => {
    let isFull = false
    const spool = Layer.map(JobSpool.layerMemory(), (context) => {
      const memory = Context.get(context, JobSpool.JobSpool)
      const error = new JobSpool.JobSpoolError({ message: "no space left" })
      return Context.make(JobSpool.JobSpool, {
        ...memory,
        append: (key, chunk, options) => (isFull ? Effect.fail(error) : memory.append(key, chunk, options)),
        read: (key, from, limit) => (isFull ? Effect.fail(error) : memory.read(key, from, limit))
      })
    })
    return Effect.gen(function* () {
      const { id, jobs, release, write } = yield* started()
      yield* write("kept ")
      isFull = true
      yield* write("lost ")
      const unreadable = yield* jobs.read(id, s1)
      assert.deepStrictEqual([unreadable.output, unreadable.expired, unreadable.cursor], ["", true, 0])
      isFull = false
      yield* write("kept too")
      yield* release()
      assert.strictEqual((yield* jobs.wait(id, "1 minute", s1)).status, "completed")
      assert.strictEqual((yield* jobs.read(id, s1)).output, "kept kept too")
    }).pipe(Effect.provide(Support.layer(undefined, { spool })))
  })
})

describe("foreground", () => {
  it.scoped("holds while somebody collects the end, and is a change", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const work = Support.held(s1, { foreground: true })
      const { foreground, id } = yield* jobs.start(work.spec)
      assert.isTrue(foreground)
      const changes = yield* Support.listen(jobs.changes)
      yield* jobs.foreground(id, s1)
      yield* jobs.background(id, s1)
      assert.isTrue(yield* jobs.isForeground(id, s1))
      yield* jobs.background(id, s1)
      assert.isFalse(yield* jobs.isForeground(id, s1))
      yield* jobs.background(id, s1)
      yield* jobs.foreground(id, s1)
      assert.isTrue((yield* jobs.get(id, s1)).foreground)
      yield* Support.turns
      assert.deepStrictEqual(changes, [s1, s1])
      assert.isFalse(yield* jobs.isForeground(id, Support.s2))
      assert.isFalse(Exit.isFailure(yield* Effect.exit(jobs.foreground(id, Support.s2))))
      yield* work.release()
    }).pipe(Effect.provide(Support.layer()))
  )
})
