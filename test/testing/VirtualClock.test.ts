import { readFile } from "node:fs/promises"
import * as VirtualClock from "@afterturn/testing/VirtualClock"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as fc from "fast-check"

const start = "2026-01-01T00:00:00.000Z"
const day = 24 * 60 * 60 * 1000

/** The time since the start, in seconds. */
const seconds = Effect.map(Clock.currentTimeMillis, (now) => (now - Date.parse(start)) / 1000)

const log = () => {
  const entries: Array<string> = []
  return { entries, write: (name: string) => Effect.map(seconds, (at) => void entries.push(`${name}@${at}`)) }
}

const defectOf = <A, E>(exit: Exit.Exit<A, E>): string =>
  Exit.isFailure(exit)
    ? Option.match(Cause.dieOption(exit.cause), { onNone: () => "no defect", onSome: String })
    : "succeeded"

describe("VirtualClock", () => {
  describe("time", () => {
    it.live("begins at the start and passes only when told", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          assert.strictEqual(yield* Clock.currentTimeMillis, Date.parse(start))
          yield* VirtualClock.advance("90 minutes")
          assert.strictEqual(DateTime.formatIso(yield* DateTime.now), "2026-01-01T01:30:00.000Z")
          yield* VirtualClock.advanceTo("2027-01-01T00:00:00.000Z")
          assert.strictEqual(yield* seconds, 365 * 24 * 60 * 60)
        })
      )
    )

    it.live("begins where the test wants", () =>
      Effect.gen(function* () {
        const now = VirtualClock.run(Clock.currentTimeMillis, { start: "2024-02-29T12:00:00.000Z" })
        assert.strictEqual(yield* now, Date.parse("2024-02-29T12:00:00.000Z"))
        assert.strictEqual(yield* VirtualClock.run(Clock.currentTimeMillis, { start: 5 }), 5)
        for (const wrong of ["yesterday", "2024-02-30", Number.NaN, 0.5]) {
          const exit = yield* Effect.exit(VirtualClock.run(Effect.void, { start: wrong }))
          assert.include(defectOf(exit), "expected milliseconds or a UTC instant")
        }
      })
    )

    it.live("counts nanoseconds with milliseconds, and does not set them with the wall clock", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const both = Effect.all([Clock.currentTimeMillis, Clock.currentTimeNanos])
          const [millis, nanos] = yield* both
          assert.strictEqual(nanos, BigInt(millis) * 1_000_000n)
          yield* VirtualClock.advance("1234567 millis")
          const [later, laterNanos] = yield* both
          assert.strictEqual(laterNanos, BigInt(later) * 1_000_000n)
          yield* VirtualClock.setTime(0)
          assert.deepStrictEqual(yield* both, [0, laterNanos])
        })
      )
    )

    it.live("refuses to advance to the past or without end", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          yield* VirtualClock.advance("1 hour")
          assert.include(defectOf(yield* Effect.exit(VirtualClock.advanceTo(start))), "has passed")
          assert.include(defectOf(yield* Effect.exit(VirtualClock.advance(Duration.infinity))), "without end")
          assert.strictEqual(yield* seconds, 3600)
        })
      )
    )

    it.live("is the test's own: the real clock is back afterwards", () =>
      Effect.gen(function* () {
        yield* VirtualClock.run(VirtualClock.advance("3650 days"))
        const now = yield* Clock.currentTimeMillis
        assert.isAtMost(Math.abs(now - Date.now()), 60_000)
      })
    )
  })

  describe("timers", () => {
    it.live("fire in order of due time, then of their start", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          for (const [name, after] of [
            ["c", 3],
            ["a1", 1],
            ["b", 2],
            ["a2", 1]
          ] as const) {
            yield* Effect.fork(Effect.zipRight(Effect.sleep(after * 1000), write(name)))
          }
          yield* VirtualClock.advance("2 seconds")
          assert.deepStrictEqual(entries, ["a1@1", "a2@1", "b@2"])
          yield* VirtualClock.advance("999 millis")
          assert.strictEqual(entries.length, 3)
          yield* VirtualClock.advance("1 millis")
          assert.strictEqual(entries[3], "c@3")
        })
      )
    )

    it.live("fire in order whatever is started and cancelled", () =>
      Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(
            fc.array(fc.record({ after: fc.integer({ min: 1, max: 20 }), cancel: fc.boolean() }), {
              minLength: 20,
              maxLength: 60
            }),
            async (timers) => {
              const fired: Array<number> = []
              await Effect.runPromise(
                VirtualClock.run(
                  Effect.gen(function* () {
                    const fibers = yield* Effect.forEach(timers, ({ after }, index) =>
                      Effect.fork(
                        Effect.zipRight(
                          Effect.sleep(after),
                          Effect.sync(() => fired.push(index))
                        )
                      )
                    )
                    yield* VirtualClock.settle
                    for (const [index, fiber] of fibers.entries()) {
                      if (timers[index]?.cancel === true) yield* Fiber.interrupt(fiber)
                    }
                    yield* VirtualClock.advance(20)
                  }),
                  { idleRounds: 1 }
                )
              )
              const expected = [...timers.entries()]
                .filter(([, timer]) => !timer.cancel)
                .sort(([, a], [, b]) => a.after - b.after)
                .map(([index]) => index)
              assert.deepStrictEqual(fired, expected)
            }
          ),
          { numRuns: 50 }
        )
      )
    )

    it.live("let all woken work come to rest before the next one", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          const queue = yield* Queue.unbounded<string>()
          yield* Effect.fork(Effect.forever(Effect.flatMap(Queue.take(queue), (name) => write(`heard ${name}`))))
          const chatty = (name: string) =>
            Effect.sleep(1000).pipe(
              Effect.zipRight(Effect.forEach(Array.from({ length: 5000 }), () => Effect.yieldNow())),
              Effect.zipRight(
                Effect.repeatN(
                  Effect.promise(() => new Promise((done) => setImmediate(done))),
                  9
                )
              ),
              Effect.zipRight(Queue.offer(queue, name))
            )
          yield* Effect.fork(chatty("one"))
          yield* Effect.fork(Effect.fork(Effect.fork(chatty("two"))).pipe(Effect.zipRight(Effect.sleep("1 day"))))
          yield* Effect.fork(Effect.zipRight(Effect.sleep(1000), write("late")))
          yield* VirtualClock.advance("1 hour")
          assert.deepStrictEqual(entries, ["heard one@1", "late@1"])
          yield* VirtualClock.advance("1 hour")
        })
      )
    )

    it.live("that a firing starts fire in the same advance", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          const nested: Effect.Effect<void> = Effect.fork(
            Effect.sleep("1 second").pipe(
              Effect.zipRight(write("outer")),
              Effect.zipRight(Effect.fork(Effect.zipRight(Effect.sleep("1 second"), write("inner")))),
              Effect.zipRight(Effect.never)
            )
          )
          yield* nested
          yield* VirtualClock.advance("2 seconds")
          assert.deepStrictEqual(entries, ["outer@1", "inner@2"])
        })
      )
    )

    it.live("are gone when their sleep is interrupted", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const fibers = yield* Effect.forEach([3, 1, 2], (after) => Effect.fork(Effect.sleep(`${after} days`)))
          const at = (days: number) => Date.parse(start) + days * day
          assert.deepStrictEqual(yield* VirtualClock.pending, [at(1), at(2), at(3)])
          yield* Fiber.interrupt(fibers[1] as Fiber.Fiber<void>)
          assert.deepStrictEqual(yield* VirtualClock.pending, [at(2), at(3)])
          yield* Fiber.interruptAll(fibers)
          assert.deepStrictEqual(yield* VirtualClock.pending, [])
        })
      )
    )

    it.live("may be further away than the host's timers reach", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(Effect.zipRight(Effect.sleep(2 ** 31 * 100), seconds))
          yield* VirtualClock.advance(2 ** 31 * 100 - 1)
          assert.isNull(fiber.unsafePoll())
          yield* VirtualClock.advance(1)
          assert.strictEqual(yield* Fiber.join(fiber), (2 ** 31 * 100) / 1000)
        })
      )
    )

    it.live("never fire early, at once for no time, never for endless time", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const short = yield* Effect.fork(Effect.sleep("300 micros"))
          const endless = yield* Effect.fork(Effect.sleep(Duration.infinity))
          yield* Effect.sleep(0)
          yield* VirtualClock.settle
          assert.isNull(short.unsafePoll())
          assert.strictEqual((yield* VirtualClock.pending).length, 1)
          yield* VirtualClock.advance(1)
          assert.isNotNull(short.unsafePoll())
          assert.isNull(endless.unsafePoll())
          yield* Fiber.interrupt(endless)
        })
      )
    )

    it.live("can be fired one by one", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          yield* Effect.fork(Effect.zipRight(Effect.sleep("1 hour"), write("a")))
          yield* Effect.fork(Effect.zipRight(Effect.sleep("2 hours"), write("b")))
          assert.isTrue(yield* VirtualClock.advanceToNext)
          assert.deepStrictEqual(entries, ["a@3600"])
          assert.isTrue(yield* VirtualClock.advanceToNext)
          assert.isFalse(yield* VirtualClock.advanceToNext)
          assert.strictEqual(yield* seconds, 7200)
        })
      )
    )

    it.live("fire by the hundred thousand", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          let fired = 0
          const beat = Effect.zipRight(
            Effect.sleep("1 hour"),
            Effect.sync(() => fired++)
          )
          yield* Effect.fork(Effect.forever(beat))
          yield* VirtualClock.advance("100000 hours")
          assert.strictEqual(fired, 100_000)
        }),
        { idleRounds: 1 }
      )
    )
  })

  describe("what Effect builds on time", () => {
    it.live("timeout and race", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const slow = yield* Effect.fork(Effect.timeoutOption(Effect.never, "30 days"))
          const quick = yield* Effect.fork(Effect.timeoutOption(Effect.as(Effect.sleep("1 day"), "done"), "30 days"))
          yield* VirtualClock.advance("1 day")
          assert.deepStrictEqual(yield* Fiber.join(quick), Option.some("done"))
          assert.strictEqual((yield* VirtualClock.pending).length, 1)
          yield* VirtualClock.advance("29 days")
          assert.deepStrictEqual(yield* Fiber.join(slow), Option.none())
        })
      )
    )

    it.live("schedules: fixed catches up once, spaced waits after each", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const fixed = log()
          const spaced = log()
          const runs = (write: (name: string) => Effect.Effect<void>) => {
            let count = 0
            return Effect.suspend(() =>
              Effect.zipRight(write("run"), Effect.sleep(count++ === 1 ? "25 minutes" : "1 minute"))
            )
          }
          yield* Effect.fork(Effect.repeat(runs(fixed.write), Schedule.fixed("10 minutes")))
          yield* Effect.fork(Effect.repeat(runs(spaced.write), Schedule.spaced("10 minutes")))
          yield* VirtualClock.advance("50 minutes")
          assert.deepStrictEqual(fixed.entries, ["run@0", "run@660", "run@2160", "run@2460"])
          assert.deepStrictEqual(spaced.entries, ["run@0", "run@660", "run@2760"])
        })
      )
    )

    it.live("cron, for a year", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const fired: Array<string> = []
          const cron = Cron.unsafeParse("0 9 1 * *", "UTC")
          yield* Effect.fork(
            Effect.repeat(
              Effect.map(DateTime.now, (now) => void fired.push(DateTime.formatIso(now))),
              Schedule.cron(cron)
            )
          )
          yield* VirtualClock.advanceTo("2027-01-01T00:00:00.000Z")
          assert.strictEqual(fired.length, 13)
          assert.strictEqual(fired[1], "2026-01-01T09:00:00.000Z")
          assert.strictEqual(fired[12], "2026-12-01T09:00:00.000Z")
        })
      )
    )

    it.live("streams", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const fiber = yield* Stream.tick("1 minute").pipe(
            Stream.mapEffect(() => seconds),
            Stream.take(3),
            Stream.runCollect,
            Effect.fork
          )
          yield* VirtualClock.advance("1 hour")
          assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Fiber.join(fiber)), [0, 60, 120])
        })
      )
    )
  })

  describe("setting the wall clock", () => {
    it.live("back or forward wakes nothing and delays nothing", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const woken = yield* Effect.fork(Effect.zipRight(Effect.sleep("1 hour"), Clock.currentTimeMillis))
          yield* VirtualClock.setTime("2030-01-01T00:00:00.000Z")
          yield* VirtualClock.settle
          assert.isNull(woken.unsafePoll())
          assert.deepStrictEqual(yield* VirtualClock.pending, [Date.parse("2030-01-01T01:00:00.000Z")])
          yield* VirtualClock.advance("30 minutes")
          yield* VirtualClock.setTime("2020-01-01T00:00:00.000Z")
          assert.strictEqual(yield* Clock.currentTimeMillis, Date.parse("2020-01-01T00:00:00.000Z"))
          yield* VirtualClock.advance("29 minutes")
          assert.isNull(woken.unsafePoll())
          yield* VirtualClock.advanceTo("2020-01-01T00:30:00.000Z")
          assert.strictEqual(yield* Fiber.join(woken), Date.parse("2020-01-01T00:30:00.000Z"))
        })
      )
    )
  })

  describe("rest", () => {
    it.live("returns at once when nothing waits for time", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          yield* Effect.fork(Effect.never)
          yield* VirtualClock.advance("36500 days")
          assert.deepStrictEqual(yield* VirtualClock.pending, [])
        })
      )
    )

    it.live("includes the file system", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          const read = Effect.promise(() => readFile(new URL(import.meta.url)))
          const reading = Effect.forEach([1, 2, 3], () => read)
          yield* Effect.fork(Effect.sleep(1000).pipe(Effect.zipRight(reading), Effect.zipRight(write("read"))))
          yield* Effect.fork(Effect.zipRight(Effect.sleep(2000), write("next")))
          yield* VirtualClock.advance("10 seconds")
          assert.deepStrictEqual(entries, ["read@1", "next@2"])
        })
      )
    )

    it.live("asks the caller's probe about what it can't see", () => {
      let open = 0
      // Stands for a socket: a real wait that no scheduler shows.
      const exchange = Effect.promise(() => {
        open++
        return new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => void open--)
      })
      return VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          yield* Effect.fork(Effect.sleep(1000).pipe(Effect.zipRight(exchange), Effect.zipRight(write("answered"))))
          yield* VirtualClock.advance("10 seconds")
          assert.deepStrictEqual(entries, ["answered@1"])
        }),
        { busy: Effect.sync(() => open > 0) }
      )
    })

    it.live("that never comes is a defect which says why", () =>
      Effect.gen(function* () {
        const spinning = VirtualClock.run(
          Effect.zipRight(Effect.fork(Effect.forever(Effect.yieldNow())), VirtualClock.settle),
          { patience: 50 }
        )
        assert.include(defectOf(yield* Effect.exit(spinning)), "some fiber goes on without waiting for time")
        const busy = VirtualClock.run(VirtualClock.settle, { patience: 20, busy: Effect.succeed(true) })
        assert.include(defectOf(yield* Effect.exit(busy)), "the busy probe says")
      })
    )

    it.live("is waited for by several fibers in turn", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          const leap = (name: string) => Effect.zipRight(VirtualClock.advance("1 hour"), write(name))
          yield* Effect.all([leap("a"), leap("b"), leap("c")], { concurrency: "unbounded" })
          assert.deepStrictEqual(entries, ["a@3600", "b@7200", "c@10800"])
        })
      )
    )

    it.live("is not waited for once the waiting is interrupted", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          yield* Effect.fork(Effect.forever(Effect.sleep(1)))
          const long = yield* Effect.fork(VirtualClock.advance("3650 days"))
          yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
          yield* Fiber.interrupt(long)
          const before = yield* seconds
          yield* VirtualClock.advance("1 second")
          assert.strictEqual(yield* seconds, before + 1)
        })
      )
    )
  })

  describe("drive", () => {
    it.live("lets time pass as long as the effect runs, and no longer", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const { entries, write } = log()
          yield* Effect.fork(Effect.zipRight(Effect.sleep("2 days"), write("too late")))
          const result = yield* VirtualClock.drive(
            Effect.sleep("1 day").pipe(Effect.repeatN(0), Effect.zipRight(write("done")), Effect.as(5))
          )
          assert.strictEqual(result, 5)
          yield* VirtualClock.settle
          assert.deepStrictEqual(entries, ["done@86400"])
        })
      )
    )

    it.live("passes failures on", () =>
      Effect.gen(function* () {
        const failing = VirtualClock.drive(Effect.zipRight(Effect.sleep("1 day"), Effect.fail("no")))
        assert.deepStrictEqual(yield* Effect.exit(VirtualClock.run(failing)), Exit.fail("no"))
      })
    )

    it.live("tells a deadlock from waiting, and interrupts what waits", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          let interrupted = false
          const waits = Deferred.make<void>().pipe(
            Effect.flatMap(Deferred.await),
            Effect.onInterrupt(() => Effect.sync(() => (interrupted = true)))
          )
          const exit = yield* Effect.exit(VirtualClock.drive(Effect.zipRight(Effect.sleep("1 hour"), waits)))
          assert.include(defectOf(exit), "deadlock at 2026-01-01T01:00:00.000Z")
          assert.isTrue(interrupted)
        })
      )
    )

    it.live("interrupts the effect when it is interrupted", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          let interrupted = false
          const endless = Effect.onInterrupt(Effect.forever(Effect.sleep("1 hour")), () =>
            Effect.sync(() => (interrupted = true))
          )
          const fiber = yield* Effect.fork(VirtualClock.drive(endless))
          yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
          yield* Fiber.interrupt(fiber)
          assert.isTrue(interrupted)
          assert.deepStrictEqual(yield* VirtualClock.pending, [])
        })
      )
    )

    it.live("drives what itself moves the clock", () =>
      VirtualClock.run(
        Effect.gen(function* () {
          const result = yield* VirtualClock.drive(
            Effect.gen(function* () {
              yield* VirtualClock.advance("1 day")
              yield* Effect.sleep("1 day")
              return yield* seconds
            })
          )
          assert.strictEqual(result, 2 * 24 * 60 * 60)
        })
      )
    )
  })

  describe("layer", () => {
    class Heart extends Context.Tag("Heart")<Heart, { beats: number }>() {}

    const heart = Layer.scoped(
      Heart,
      Effect.gen(function* () {
        const service = { beats: 0 }
        const work = Effect.forEach(Array.from({ length: 5000 }), () => Effect.yieldNow(), { discard: true })
        const beat = Effect.sleep("1 hour").pipe(
          Effect.zipRight(work),
          Effect.zipRight(Effect.sync(() => service.beats++))
        )
        yield* Effect.forkScoped(Effect.forever(beat))
        return service
      })
    )

    it.live("gives the clock to what is built on it", () =>
      Effect.gen(function* () {
        yield* VirtualClock.advance("1 day")
        const { beats } = yield* Heart
        assert.strictEqual(beats, 24)
      }).pipe(Effect.provide(Layer.provideMerge(heart, VirtualClock.layer())))
    )

    it.effect("works inside a test clock's test", () =>
      Effect.gen(function* () {
        yield* VirtualClock.advance("2 hours")
        assert.strictEqual((yield* Heart).beats, 2)
        assert.strictEqual(yield* seconds, 7200)
      }).pipe(Effect.provide(heart), VirtualClock.run)
    )

    it("works without a test runner's help", async () => {
      const program = Effect.zipRight(VirtualClock.advance("1 hour"), seconds)
      assert.strictEqual(await Effect.runPromise(program.pipe(Effect.provide(VirtualClock.layer({ start })))), 3600)
    })
  })
})
