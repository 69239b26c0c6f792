import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Support from "./support/jobs.js"

const { s1, s2 } = Support

/** What every call answers to an id. */
const answers = (id: string, caller: typeof s1 | undefined) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const calls: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>> = [
      jobs.get(id, caller),
      jobs.read(id, caller),
      Stream.runDrain(jobs.output(id, caller)),
      jobs.kill(id, caller),
      jobs.wait(id, "1 hour", caller)
    ]
    return yield* Effect.forEach(calls, (call) =>
      Effect.map(Effect.flip(call), (error) => `${error._tag}: ${error.message}`)
    )
  })

const notFound = (id: string) =>
  Array.from(
    { length: 5 },
    () => `JobNotFound: there is no job ${JSON.stringify(id)}; job_list shows those that there are`
  )

describe("who may see a job", () => {
  it.scoped("is its owner: a foreign id and one that never was get the same answer from every call", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive(s1)
      yield* Support.alive(s2)
      const work = Support.held(s1, { kind: "bash" })
      const mine = yield* jobs.start(work.spec)
      yield* jobs.start(Support.held(s1, { kind: "bash" }).spec)
      assert.deepStrictEqual(yield* answers(mine.id, s2), notFound("bash-1"))
      assert.deepStrictEqual(yield* answers(mine.id, undefined), notFound("bash-1"))
      for (const id of ["bash-99", "nothing", "", "bash-0", "bash-01", "constructor-1", "host-bash-1", "__proto__"]) {
        assert.deepStrictEqual(yield* answers(id, s2), notFound(id))
        assert.deepStrictEqual(yield* answers(id, s1), notFound(id))
      }
      assert.deepStrictEqual(yield* jobs.list(s2), [])
      assert.strictEqual((yield* jobs.get(mine.id, s1)).status, "running")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("is everybody, when nobody owns it", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive(s1)
      yield* Support.alive(s2)
      const nobody = Job.make({ kind: "work", label: "nobody's" }, ({ write }) =>
        Effect.zipRight(write("hi"), Effect.never)
      )
      const { id } = yield* jobs.start(nobody)
      yield* Support.turns
      for (const caller of [s1, s2, undefined]) {
        assert.strictEqual((yield* jobs.get(id, caller)).owner, undefined)
        assert.deepStrictEqual(
          (yield* jobs.list(caller)).map((job) => job.id),
          [id]
        )
      }
      assert.strictEqual((yield* jobs.read(id, s2)).output, "hi")
      assert.strictEqual((yield* jobs.kill(id, s1)).answer, "cancellation-requested")
      assert.strictEqual((yield* jobs.wait(id, "1 minute", undefined)).status, "killed")
      assert.deepStrictEqual(yield* Support.jobEvents(s1), [])
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("list", () => {
  it.scoped("shows the caller's jobs and nobody's in start order, whatever their kinds and ends", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const works = [
        Support.held(s1, { kind: "zeta" }),
        Support.held(null),
        Support.held(s1, { kind: "alpha" }),
        Support.held(s1, { kind: "zeta" })
      ]
      for (const { spec } of works) {
        yield* jobs.start(spec)
        yield* TestClock.adjust("1 second")
      }
      yield* works[3]!.release()
      yield* works[0]!.release()
      yield* Support.turns
      assert.deepStrictEqual(
        (yield* jobs.list(s1)).map(({ id, status }) => `${id} ${status}`),
        ["zeta-1 completed", "host-work-1 running", "alpha-1 running", "zeta-2 completed"]
      )
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("the disposal of an owner", () => {
  it.scoped("stops its jobs, waits for their finalizers, and stores why, before the session is let go", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const { close } = yield* Support.disposable()
      const ends = yield* Support.completions
      const works = [Support.held(), Support.held()]
      for (const { began, spec } of works) yield* Effect.zipRight(jobs.start(spec), began)
      yield* close
      assert.deepStrictEqual(yield* Effect.forEach(works, ({ finalized }) => finalized), [true, true])
      const events = yield* Support.jobEvents()
      assert.deepStrictEqual(
        events
          .slice(2)
          .map(({ data, type }) => [type, data])
          .slice(0, 2),
        ["work-1", "work-2"].map((id) => ["job/kill-requested", { id, reason: "session ended", by: "host" }])
      )
      const settled = events.slice(4).map(({ data }) => data as { readonly status: string; readonly reason: string })
      assert.deepStrictEqual(
        settled.map(({ reason, status }) => [status, reason]),
        [
          ["killed", "session ended"],
          ["killed", "session ended"]
        ]
      )
      yield* Support.turns
      assert.strictEqual(ends.length, 2)
      assert.strictEqual((yield* Effect.flip(jobs.start(works[0]!.spec)))._tag, "JobUncontrolled")
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("does not hang on a job that ignores it, and leaves nothing for the next agent to trip over", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const { close } = yield* Support.disposable()
      const rogue = Support.stubborn()
      const polite = Support.held()
      yield* jobs.start(rogue.spec)
      yield* Effect.zipRight(jobs.start(polite.spec), polite.began)
      const closing = yield* Effect.fork(close)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      const settled = (yield* Support.jobEvents()).filter(({ type }) => type === "job/settle")
      assert.deepStrictEqual(
        settled.map(({ data }) => {
          const { detail, id, status } = data as {
            readonly id: string
            readonly status: string
            readonly detail?: string
          }
          return [id, status, detail]
        }),
        [
          ["work-1", "killed", undefined],
          ["rogue-1", "failed", "did not stop"]
        ]
      )
      const again = yield* Support.disposable()
      const next = Support.held(s1, { kind: "rogue" })
      const { id } = yield* jobs.start(next.spec)
      assert.strictEqual(id, "rogue-2")
      yield* rogue.release
      yield* Support.turns
      assert.strictEqual((yield* jobs.get(id, s1)).status, "running")
      assert.strictEqual((yield* jobs.get("rogue-1", s1)).detail, "did not stop")
      yield* again.close
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("cannot hit the jobs of an agent that replaced it", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const first = yield* Support.disposable()
      const rogue = Support.stubborn()
      yield* jobs.start(rogue.spec)
      const closing = yield* Effect.fork(first.close)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(closing)
      const second = yield* Support.disposable()
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      yield* first.close
      yield* rogue.release
      yield* Support.turns
      assert.strictEqual((yield* jobs.get(id, s1)).status, "running")
      assert.strictEqual((yield* jobs.start(Support.held().spec)).id, "work-2")
      yield* second.close
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("is bounded when the store takes nothing, and wakes who waits; the next agent finds the jobs open", () => {
    const { below, mood } = Support.moody()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const first = yield* Support.disposable()
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      const waiter = yield* Effect.fork(jobs.wait(id, "1 day", s1))
      yield* work.began
      mood.error = Support.full
      const closing = yield* Effect.fork(first.close)
      yield* TestClock.adjust("11 seconds")
      yield* Fiber.join(closing)
      assert.strictEqual((yield* Fiber.join(waiter)).status, "killed")
      mood.error = undefined
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [`job/start ${id}`])
      const second = yield* Support.disposable()
      assert.strictEqual((yield* jobs.get(id, s1)).detail, "lost: the host stopped")
      yield* second.close
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [`job/start ${id}`, `job/settle ${id}`])
    }).pipe(Effect.provide(Support.layer(undefined, below)))
  })

  it.scoped("waits for a start that is under way, which then starts nothing", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const { close } = yield* Support.disposable()
      const began = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const starting = yield* Effect.fork(
        jobs.start({
          kind: "work",
          label: "slow to start",
          owner: s1,
          prepare: () =>
            Deferred.succeed(began, undefined).pipe(
              Effect.zipRight(Deferred.await(gate)),
              Effect.as({ held: undefined })
            ),
          run: () => Effect.void
        })
      )
      yield* Deferred.await(began)
      const closing = yield* Effect.fork(close)
      yield* Support.turns
      assert.strictEqual((yield* Fiber.poll(closing))._tag, "None")
      yield* Deferred.succeed(gate, undefined)
      assert.strictEqual((yield* Effect.flip(Fiber.join(starting)))._tag, "JobUncontrolled")
      yield* Fiber.join(closing)
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("reaches a job whose start was being stored", () => {
    const storing = Deferred.unsafeMake<void>(0 as never)
    const gate = Deferred.unsafeMake<void>(0 as never)
    const log = Support.interceptAppends((events) =>
      events.some(({ type }) => type === "job/start")
        ? Effect.zipRight(Deferred.succeed(storing, undefined), Deferred.await(gate))
        : Effect.void
    )
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const { close } = yield* Support.disposable()
      const work = Support.held()
      const starting = yield* Effect.fork(jobs.start(work.spec))
      yield* Deferred.await(storing)
      const closing = yield* Effect.fork(close)
      yield* Support.turns
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      const { id } = yield* Fiber.join(starting)
      assert.strictEqual((yield* jobs.get(id, s1)).status, "killed")
      assert.deepStrictEqual(yield* Support.jobEventTypes(), [
        `job/start ${id}`,
        `job/kill-requested ${id}`,
        `job/settle ${id}`
      ])
    }).pipe(Effect.provide(Support.layer(undefined, { log })))
  })

  it.scoped("does not hang on a child that a job left behind when it ended", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const { close } = yield* Support.disposable()
      const forked = yield* Deferred.make<void>()
      const spec = Job.make({ kind: "work", label: "leaves a child", owner: s1 }, () =>
        Effect.zipRight(
          Effect.fork(Effect.uninterruptible(Effect.zipRight(Deferred.succeed(forked, undefined), Effect.never))),
          Deferred.await(forked)
        )
      )
      const { id } = yield* jobs.start(spec)
      assert.strictEqual((yield* jobs.wait(id, "1 minute", s1)).status, "completed")
      const closing = yield* Effect.fork(close)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closing)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("may be asked for by a job of that owner", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      const { close } = yield* Support.disposable()
      const closed = yield* Deferred.make<void>()
      const spec = Job.make({ kind: "work", label: "ends its session", owner: s1 }, () =>
        Effect.ensuring(close, Deferred.succeed(closed, undefined))
      )
      yield* jobs.start(spec)
      yield* TestClock.adjust("11 seconds")
      yield* Deferred.await(closed)
      assert.strictEqual((yield* Support.jobEventTypes()).at(-1), "job/settle work-1")
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("the end of the service", () => {
  it.effect("stops all jobs at once, those without an owner as well, ends its streams, and does not hang", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(Layer.build(Support.layer()), scope)
      const { works, closing } = yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const agents = yield* Agents
        yield* Scope.extend(jobs.attachController("test"), scope)
        const outer = yield* Scope.make()
        for (const id of [s1, s2]) yield* Scope.extend(agents.create({ id }), outer)
        const works = [Support.held(s1), Support.held(s2), Support.held(null)]
        for (const { began, spec } of works) yield* Effect.zipRight(jobs.start(spec), began)
        yield* jobs.start(Support.stubborn(null).spec)
        yield* jobs.start(Support.stubborn(s2).spec)
        const completions = yield* Effect.fork(Stream.runCollect(jobs.completions))
        yield* Support.turns
        const closing = yield* Effect.fork(Effect.zipRight(Scope.close(scope, Exit.void), Fiber.join(completions)))
        return { works, closing }
      }).pipe(Effect.provide(context))
      yield* TestClock.adjust("10 seconds")
      const ends = yield* Fiber.join(closing)
      assert.strictEqual(ends.length, 5)
      assert.deepStrictEqual(yield* Effect.forEach(works, ({ finalized }) => finalized), [true, true, true])
    })
  )
})
