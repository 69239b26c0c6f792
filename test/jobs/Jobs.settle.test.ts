import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { LeaseLost, SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricLabel from "effect/MetricLabel"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as Support from "./support/jobs.js"
import { racesForTheEnd } from "./support/races.js"

const { s1, s2 } = Support

const run = <R>(work: (context: Job.JobContext) => Effect.Effect<Job.JobResult, unknown, R>, owner = s1) =>
  Job.make({ kind: "bash", label: "work", owner }, work)

/** Starts work and waits for its end. */
const endOf = <R>(work: (context: Job.JobContext) => Effect.Effect<Job.JobResult, unknown, R>) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const { id } = yield* jobs.start(run(work))
    return yield* jobs.wait(id, "1 minute", s1)
  })

class Broken extends Data.TaggedError("Broken")<{ readonly message: string }> {}

describe("the end of a job", () => {
  it.scoped("is completed, killed or failed, by the exit of its fiber", () =>
    Effect.gen(function* () {
      yield* Support.alive()
      const shown = (work: Effect.Effect<Job.JobResult, unknown>) =>
        Effect.map(
          endOf(() => work),
          ({ detail, status }) => (detail === undefined ? status : `${status}: ${detail}`)
        )
      assert.strictEqual(yield* shown(Effect.void), "completed")
      assert.strictEqual(yield* shown(Effect.interrupt), "killed")
      assert.strictEqual(yield* shown(Effect.fail("no route\nto host")), "failed: no route\\nto host")
      assert.strictEqual(yield* shown(new Broken({ message: "pipe" })), "failed: pipe")
      assert.strictEqual(yield* shown(Effect.fail({ _tag: "Plain" })), "failed: Plain")
      assert.strictEqual(yield* shown(Effect.fail(undefined)), "failed: undefined")
      assert.strictEqual(yield* shown(Effect.fail("")), "failed: unknown error")
      assert.strictEqual(yield* shown(Effect.die(new Error("at index.ts:1"))), "failed: internal error: at index.ts:1")
      assert.strictEqual(
        yield* shown(
          Effect.sync(() => {
            throw new TypeError("x is not a function")
          })
        ),
        "failed: internal error: x is not a function"
      )
      const hostile = new Proxy(
        {},
        {
          get() {
            throw new Error("no")
          }
        }
      )
      assert.strictEqual(yield* shown(Effect.fail(hostile)), "failed: unknown error")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("comes after its finalizers, and fails with them", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const gate = yield* Deferred.make<void>()
      const { id } = yield* jobs.start({
        kind: "bash",
        label: "held open",
        owner: s1,
        prepare: () =>
          Effect.as(
            Effect.addFinalizer(() => Deferred.await(gate)),
            { held: undefined }
          ),
        run: () => Effect.void
      })
      yield* Support.turns
      assert.strictEqual((yield* jobs.wait(id, 0, s1)).status, "running")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* jobs.wait(id, "1 minute", s1)).status, "completed")
      const failed = yield* endOf(() => Effect.addFinalizer(() => Effect.die("unlock failed")))
      assert.strictEqual(failed.status, "failed")
      assert.strictEqual(failed.detail, "internal error: unlock failed")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("carries what the producer said, and the reason of a kill", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const ended = yield* endOf(({ setDetail }) => Effect.zipRight(setDetail("one"), setDetail("exit code:\n3")))
      assert.strictEqual(ended.detail, "exit code:\\n3")
      const failed = yield* endOf(({ setDetail }) => Effect.zipRight(setDetail("exit code: 3"), Effect.fail("gone")))
      assert.strictEqual(failed.detail, "exit code: 3; gone")
      const told = yield* Deferred.make<string | undefined>()
      const { id } = yield* jobs.start(
        run(({ killReason }) =>
          Effect.onInterrupt(Effect.never, () => Effect.flatMap(killReason, (reason) => Deferred.succeed(told, reason)))
        )
      )
      yield* Support.turns
      yield* jobs.kill(id, s1, { reason: "too\nslow", by: "model" })
      const killed = yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual(killed.reason, "too\\nslow")
      assert.strictEqual(yield* Deferred.await(told), "too\\nslow")
      const events = yield* Support.jobEvents()
      assert.deepStrictEqual(events.at(-2)?.data, { id, reason: "too\\nslow", by: "model" })
      assert.deepStrictEqual(events.at(-1)?.data, {
        id,
        status: "killed",
        reason: "too\\nslow",
        startedAt: killed.startedAt,
        finishedAt: killed.finishedAt
      })
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("is stored and known before the change is published, and announced last", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const log = yield* SessionLog
      yield* Support.alive()
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      const order: Array<string> = []
      const note = (what: string) =>
        Effect.zipWith(log.lastSeq(s1), jobs.wait(id, 0, s1), (seq, { status }) =>
          order.push(`${what} after event ${seq}, ${status}`)
        )
      const fibers = yield* Effect.forEach(
        [
          Stream.runForEach(Stream.take(jobs.completions, 1), () => note("completion")),
          Stream.runForEach(Stream.take(jobs.changes, 1), () => note("change"))
        ],
        Effect.fork
      )
      yield* work.began
      yield* Support.turns
      yield* work.release()
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(order, ["change after event 1, completed", "completion after event 1, completed"])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("is announced once, whatever listeners do", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      yield* Effect.forkScoped(Stream.runForEach(jobs.completions, () => Effect.die("a bad listener")))
      yield* Effect.forkScoped(Stream.runForEach(jobs.completions, () => Effect.never))
      const ends = yield* Support.completions
      for (let index = 0; index < 3; index++) yield* endOf(() => Effect.void)
      yield* Support.turns
      assert.deepStrictEqual(
        ends.map(({ id, status }) => [id, status]),
        [
          ["bash-1", "completed"],
          ["bash-2", "completed"],
          ["bash-3", "completed"]
        ]
      )
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("stays what it was, whoever kills afterwards", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const ended = yield* endOf(({ setDetail }) => setDetail("exit code: 0"))
      const before = yield* Support.jobEventTypes()
      assert.deepStrictEqual(yield* jobs.kill(ended.id, s1, { reason: "sweep" }), {
        answer: "already-finished",
        snapshot: ended
      })
      assert.deepStrictEqual(yield* Support.jobEventTypes(), before)
      assert.deepStrictEqual(yield* jobs.get(ended.id, s1), ended)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("counts in the metrics", () =>
    Effect.gen(function* () {
      yield* Support.alive()
      const settled = (status: string) =>
        Metric.value(
          Metric.taggedWithLabels(
            Metric.counter("afterturn_jobs_settled", { incremental: true, description: "jobs settled" }),
            [MetricLabel.make("status", status)]
          )
        )
      const running = Metric.value(
        Metric.gauge("afterturn_jobs_running", { description: "jobs that are running or stopping" })
      )
      const started = Metric.value(
        Metric.counter("afterturn_jobs_started", { incremental: true, description: "jobs started" })
      )
      const before = { settled: yield* settled("failed"), started: yield* started }
      const level = yield* running
      const work = Support.held(s2)
      yield* Effect.flatMap(Agents, (agents) => agents.create({ id: s2 }))
      const jobs = yield* Jobs
      const { id } = yield* jobs.start(work.spec)
      assert.strictEqual((yield* running).value, level.value + 1)
      yield* work.release()
      yield* jobs.wait(id, "1 minute", s2)
      yield* endOf(() => Effect.fail("x"))
      assert.strictEqual((yield* settled("failed")).count, before.settled.count + 1)
      assert.strictEqual((yield* started).count, before.started.count + 2)
      assert.strictEqual((yield* running).value, level.value)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("ends its span, which stands under that of who started it", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const plain = yield* Effect.tracer
      const noting = Tracer.make({
        ...plain,
        span: (...args) => {
          const span = plain.span(...args)
          spans.push(span)
          return span
        }
      })
      yield* Support.alive()
      const ended = yield* endOf(() => Effect.withSpan(Effect.fail("x"), "inner")).pipe(
        Effect.withSpan("outer"),
        Effect.withTracer(noting)
      )
      const [outer, run, inner] = ["outer", "Jobs.run", "inner"].map((name) => spans.find((span) => span.name === name))
      assert.deepStrictEqual(Object.fromEntries(run?.attributes ?? []), {
        "job.id": ended.id,
        "job.kind": "bash",
        "session.id": s1
      })
      assert.strictEqual(run?.status._tag, "Ended")
      const parentOf = (span: Tracer.Span | undefined) => Option.getOrUndefined(span?.parent ?? Option.none())?.spanId
      assert.strictEqual(parentOf(run), outer?.spanId)
      assert.strictEqual(parentOf(inner), run?.spanId)
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("a kill", () => {
  it.scoped("is stored, then the job is stopping, then its fiber is interrupted; asking again changes nothing", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const rogue = Support.stubborn()
      const { id } = yield* jobs.start(rogue.spec)
      const first = yield* jobs.kill(id, s1, { reason: "first" })
      assert.strictEqual(first.answer, "cancellation-requested")
      assert.strictEqual(first.snapshot.status, "stopping")
      const second = yield* jobs.kill(id, s1, { reason: "second" })
      assert.deepStrictEqual(second, first)
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [`job/start ${id}`, `job/kill-requested ${id}`])
      yield* rogue.release
      assert.strictEqual((yield* jobs.wait(id, "1 minute", s1)).status, "killed")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("that is ignored ends in did not stop after the grace, frees the place, and drops what comes later", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const release = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const { id } = yield* jobs.start(
        run(({ setDetail, write }) =>
          Effect.uninterruptible(
            write("before ").pipe(
              Effect.zipRight(Deferred.await(release)),
              Effect.zipRight(write("after")),
              Effect.zipRight(setDetail("too late")),
              Effect.ensuring(Deferred.succeed(done, undefined)),
              Effect.as("a result")
            )
          )
        )
      )
      yield* jobs.kill(id, s1)
      yield* TestClock.adjust("9999 millis")
      assert.strictEqual((yield* jobs.get(id, s1)).status, "stopping")
      assert.strictEqual((yield* Effect.flip(jobs.start(run(() => Effect.void))))._tag, "JobLimitReached")
      yield* TestClock.adjust("1 millis")
      const ended = yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual(ended.status, "failed")
      assert.strictEqual(ended.detail, "did not stop")
      assert.strictEqual((yield* endOf(() => Effect.void)).status, "completed")
      yield* Deferred.succeed(release, undefined)
      yield* Deferred.await(done)
      yield* Support.turns
      assert.strictEqual((yield* jobs.get(id, s1)).detail, "did not stop")
      assert.strictEqual((yield* jobs.read(id, s1)).output, "before ")
      const ends = (yield* Support.jobEventTypes()).filter((event) => event === `job/settle ${id}`)
      assert.strictEqual(ends.length, 1)
    }).pipe(Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 1 })))
  )

  it.scoped("stops a job that no request can be stored for", () => {
    const { below, mood } = Support.moody()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      yield* work.began
      mood.error = Support.full
      yield* jobs.kill(id, s1, { reason: "fills the disk" })
      yield* Support.turns
      assert.isTrue(yield* work.finalized)
      mood.error = undefined
      yield* TestClock.adjust("1 minute")
      const ended = yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual(ended.status, "killed")
      assert.strictEqual(ended.reason, "fills the disk")
    }).pipe(Effect.provide(Support.layer(undefined, below)))
  })
})

describe("a store that fails at the end of a job", () => {
  it.scoped("is tried again on the clock; until then the job holds its place and nobody is told", () => {
    const { below, mood } = Support.moody()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const ends = yield* Support.completions
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      const waiter = yield* Effect.fork(jobs.wait(id, "1 hour", s1))
      yield* work.began
      mood.error = Support.full
      yield* work.release()
      yield* TestClock.adjust("5 minutes")
      assert.isAbove(mood.refused, 5)
      assert.strictEqual((yield* jobs.get(id, s1)).status, "running")
      assert.deepStrictEqual(ends, [])
      assert.strictEqual((yield* Effect.flip(jobs.start(work.spec)))._tag, "JobLimitReached")
      mood.error = undefined
      yield* TestClock.adjust("1 minute")
      const ended = yield* Fiber.join(waiter)
      assert.strictEqual(ended.status, "completed")
      yield* Support.turns
      assert.deepStrictEqual(ends, [ended])
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [`job/start ${id}`, `job/settle ${id}`])
    }).pipe(Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 1 }, below)))
  })

  it.scoped("after it kept the end all the same, has it once", () => {
    let isLying = false
    const log = Layer.effect(
      SessionLog,
      Effect.map(SessionLog, (inner) => ({
        ...inner,
        append: (id, events, options) =>
          Effect.tap(inner.append(id, events, options), () =>
            Effect.suspend(() => {
              if (!isLying || events[0]?.type !== "job/settle") return Effect.void
              isLying = false
              return Effect.fail(new SessionStoreError({ reason: "unavailable", message: "connection lost" }))
            })
          )
      }))
    )
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const ends = yield* Support.completions
      isLying = true
      const { id } = yield* jobs.start(run(() => Effect.void))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* jobs.wait(id, "1 hour", s1)).status, "completed")
      yield* Support.turns
      assert.strictEqual(ends.length, 1)
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [`job/start ${id}`, `job/settle ${id}`])
    }).pipe(Effect.provide(Support.layer(undefined, { log })))
  })

  it.scoped("for good, because another host has the session, ends the job in memory, unannounced", () => {
    const { below, mood } = Support.moody()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const ends = yield* Support.completions
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      mood.error = new LeaseLost({ sessionId: s1 })
      yield* work.release()
      assert.strictEqual((yield* jobs.wait(id, "1 hour", s1)).status, "completed")
      yield* Support.turns
      assert.deepStrictEqual(ends, [])
      mood.error = undefined
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [`job/start ${id}`])
    }).pipe(Effect.provide(Support.layer(undefined, below)))
  })
})

racesForTheEnd(20)
