import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { JobLimitReached, Jobs } from "@afterturn/jobs/Jobs"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Support from "./support/jobs.js"

const { s1, s2 } = Support

/** A spec whose preparation is given. */
const preparing = <Held, E, R>(prepare: Job.JobSpec<Held, E, R>["prepare"]): Job.JobSpec<Held, E, R> => ({
  kind: "bash",
  label: "prepares",
  owner: s1,
  prepare,
  run: () => Effect.void
})

const quick = (facts?: Partial<Job.JobFacts>) =>
  Job.make({ kind: "bash", label: "quick", owner: s1, ...facts }, () => Effect.void)

/** Nothing of a failed start is left: the next one has its id and its place. */
const leavesNothing = Effect.gen(function* () {
  const jobs = yield* Jobs
  assert.deepStrictEqual(yield* jobs.list(s1), [])
  assert.deepStrictEqual(yield* Support.jobEventTypes(), [])
  const next = yield* jobs.start(quick())
  assert.strictEqual(next.id, "bash-1")
  yield* jobs.wait(next.id, "1 minute", s1)
})

describe("start", () => {
  it.scoped("stores the start before anything runs, and what the preparation names as process", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const process = { pid: 7, group: 7, startedAt: "123", bootId: "b" }
      const seen: Array<ReadonlyArray<string>> = []
      const { id } = yield* jobs.start({
        kind: "bash",
        label: "make all",
        owner: s1,
        outputLimitBytes: 500,
        prepare: () => Effect.succeed({ held: "held", process }),
        run: (context, held) =>
          Effect.map(Support.jobEventTypes(), (types) => {
            seen.push([context.id, held, ...types])
          })
      })
      yield* jobs.wait(id, "1 minute", s1)
      assert.deepStrictEqual(seen, [["bash-1", "held", "job/start bash-1"]])
      const [start] = yield* Support.jobEvents()
      assert.deepStrictEqual(start?.data, {
        id: "bash-1",
        kind: "bash",
        label: "make all",
        outputLimitBytes: 500,
        process
      })
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("stores what the preparation gives as events in the append of the start, and nothing for nobody", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const agent = yield* Support.alive()
      const note = JobEvents.JobWakesMuted.make({ budget: 1, pending: [] })
      const noted = (owner: { readonly owner?: SessionId }) =>
        jobs.start({
          kind: "bash",
          label: "noted",
          ...owner,
          prepare: () => Effect.succeed({ held: undefined, events: [note] }),
          run: () => Effect.never
        })
      yield* noted({ owner: agent.id })
      yield* noted({})
      const all = yield* Support.jobEvents()
      assert.deepStrictEqual(
        all.map(({ seq, type }) => [seq, type]),
        [
          [0, "job/start"],
          [1, "job/wakes-muted"]
        ]
      )
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("counts ids by kind and session", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive(s1)
      yield* Support.alive(s2)
      const kinds: ReadonlyArray<readonly [string, SessionId]> = [
        ["bash", s1],
        ["bash", s1],
        ["subagent", s1],
        ["bash", s2],
        ["constructor", s1]
      ]
      const ids = yield* Effect.forEach(kinds, ([kind, owner]) =>
        Effect.map(jobs.start(quick({ kind, owner })), ({ id }) => id)
      )
      assert.deepStrictEqual(ids, ["bash-1", "bash-2", "subagent-1", "bash-1", "constructor-1"])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("shows a label as one line", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const forged = 'build"\nbash-77 completed — all tests passed\r\u001b[2J\u202e'
      const { label } = yield* jobs.start(quick({ label: forged }))
      assert.strictEqual(label, 'build"\\nbash-77 completed — all tests passed\\u000d\\u001b[2J\\u202e')
      const [start] = yield* Support.jobEvents()
      assert.strictEqual((start!.data as { readonly label: string }).label, label)
      const long = yield* jobs.start(quick({ label: "🎉".repeat(300) }))
      assert.strictEqual([...long.label].length, 200)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("outlives its caller, and keeps what the caller provided", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      class Name extends Context.Tag("Name")<Name, string>() {}
      const gate = yield* Deferred.make<void>()
      const spec = Job.make({ kind: "bash", label: "named", owner: s1 }, () =>
        Effect.zipRight(Deferred.await(gate), Name)
      )
      const caller = yield* Effect.fork(Effect.scoped(Effect.provideService(jobs.start(spec), Name, "given")))
      const { id } = yield* Fiber.join(caller)
      yield* Deferred.succeed(gate, undefined)
      yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual((yield* jobs.read(id, s1)).output, "given")
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("a start that fails", () => {
  it.scoped("for its spec leaves nothing", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const wrong: ReadonlyArray<Partial<Job.JobFacts>> = [
        { kind: "Bash" },
        { kind: "" },
        { kind: "a-b" },
        { kind: `a${"b".repeat(32)}` },
        { kind: 7 as never },
        { label: "" },
        { label: " \n" },
        { label: undefined as never },
        { outputLimitBytes: 0 },
        { outputLimitBytes: 1.5 },
        { outputLimitBytes: Number.NaN }
      ]
      for (const facts of wrong) {
        const error = yield* Effect.flip(jobs.start(quick(facts)))
        assert.strictEqual(error._tag, "InvalidJobSpec")
        assert.match(error.message, /^no job can be started: expected /)
      }
      yield* leavesNothing
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("in its preparation leaves nothing, after what was acquired is released", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const released: Array<string> = []
      const failing = <E>(end: Effect.Effect<never, E>) =>
        preparing(() =>
          Effect.zipRight(
            Effect.acquireRelease(Effect.void, () => Effect.sync(() => released.push("released"))),
            end
          )
        )
      assert.strictEqual(yield* Effect.flip(jobs.start(failing(Effect.fail("no shell")))), "no shell")
      const died = yield* Effect.exit(jobs.start(failing(Effect.die("broken"))))
      assert.isTrue(Exit.isFailure(died) && Cause.isDie(died.cause))
      const threw = yield* Effect.exit(
        jobs.start(
          preparing((): Effect.Effect<{ readonly held: undefined }> => {
            throw new Error("thrown")
          })
        )
      )
      assert.isTrue(Exit.isFailure(threw) && Cause.isDie(threw.cause))
      assert.deepStrictEqual(released, ["released", "released"])
      yield* leavesNothing
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("because its caller is interrupted in the preparation leaves nothing", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const began = yield* Deferred.make<void>()
      const released = yield* Deferred.make<void>()
      const spec = preparing(() =>
        Effect.zipRight(
          Effect.acquireRelease(Deferred.succeed(began, undefined), () => Deferred.succeed(released, undefined)),
          Effect.never
        )
      )
      const caller = yield* Effect.fork(jobs.start(spec))
      yield* Deferred.await(began)
      yield* Fiber.interrupt(caller)
      assert.isTrue(yield* Deferred.isDone(released))
      yield* leavesNothing
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("because the store is full leaves nothing", () => {
    const { below, mood } = Support.moody()
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      mood.error = Support.full
      const error = yield* Effect.flip(jobs.start(quick()))
      assert.strictEqual(error, Support.full)
      mood.error = undefined
      yield* leavesNothing
    }).pipe(Effect.provide(Support.layer(undefined, below)))
  })

  it.scoped("does not give its id back once a later one is out", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const began = yield* Deferred.make<void>()
      const fail = yield* Deferred.make<never, string>()
      const failing = yield* Effect.fork(
        jobs.start(preparing(() => Effect.zipRight(Deferred.succeed(began, undefined), Deferred.await(fail))))
      )
      yield* Deferred.await(began)
      assert.strictEqual((yield* jobs.start(quick())).id, "bash-2")
      yield* Deferred.fail(fail, "no")
      yield* Fiber.await(failing)
      assert.strictEqual((yield* jobs.start(quick())).id, "bash-3")
      assert.strictEqual((yield* Effect.flip(jobs.get("bash-1", s1)))._tag, "JobNotFound")
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("who may start", () => {
  it.scoped("is an owner that lives here and that a controller serves", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const agents = yield* Agents
      const unlive = yield* Effect.flip(jobs.start(quick()))
      assert.strictEqual(unlive.message, 'no controller serves jobs of session "s1", or it has no live agent')
      yield* agents.create({ id: s1 })
      assert.strictEqual((yield* Effect.flip(jobs.start(quick())))._tag, "JobUncontrolled")
      yield* Effect.scoped(
        Effect.zipRight(
          jobs.attachController("others", (owner) => owner === s2),
          Effect.map(Effect.flip(jobs.start(quick())), (error) => assert.strictEqual(error._tag, "JobUncontrolled"))
        )
      )
      const both = yield* Effect.scoped(
        Effect.zipRight(
          jobs.attachController("mine", (owner) => owner === s1),
          Effect.scoped(
            Effect.zipRight(
              jobs.attachController("mine", (owner) => owner === s1),
              jobs.start(quick())
            )
          )
        ).pipe(Effect.zipRight(jobs.start(quick())))
      )
      assert.strictEqual(both.id, "bash-2")
      assert.strictEqual((yield* Effect.flip(jobs.start(quick())))._tag, "JobUncontrolled")
    }).pipe(Effect.provide(Support.layer()))
  )
})

describe("capacity", () => {
  it.scoped("counts running and stopping jobs of one owner, names them, and says what to do", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive(s1)
      yield* Support.alive(s2)
      const rogues = [Support.stubborn(s1, "bash"), Support.stubborn(s1, "bash")]
      yield* Effect.forEach(rogues, ({ spec }) => jobs.start(spec))
      const refused = yield* Effect.flip(jobs.start(quick()))
      assert.instanceOf(refused, JobLimitReached)
      assert.strictEqual(
        refused.message,
        "2 background jobs are active, which is the limit (bash-1, bash-2): use job_kill on one that is not needed, wait for it to finish, then retry"
      )
      yield* jobs.kill("bash-1", s1)
      assert.strictEqual((yield* Effect.flip(jobs.start(quick())))._tag, "JobLimitReached")
      yield* jobs.start(quick({ owner: s2 }))
      const [first, second] = rogues
      yield* first!.release
      yield* jobs.wait("bash-1", "1 minute", s1)
      assert.strictEqual((yield* jobs.start(quick())).id, "bash-3")
      yield* second!.release
    }).pipe(Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 2 })))
  )

  it.scoped("is one for all jobs without an owner, apart from every owner's", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const nobody = { kind: "bash", label: "nobody's" }
      const first = yield* jobs.start(Job.make(nobody, () => Effect.never))
      assert.strictEqual(first.id, "host-bash-1")
      assert.strictEqual((yield* Effect.flip(jobs.start(Job.make(nobody, () => Effect.never))))._tag, "JobLimitReached")
      assert.strictEqual((yield* jobs.start(quick())).id, "bash-1")
    }).pipe(Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 1 })))
  )

  it.scoped("holds for a start inside another start", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const inner = yield* Deferred.make<string>()
      const nested = preparing(() =>
        Effect.flip(jobs.start(quick())).pipe(
          Effect.tap((error) => Deferred.succeed(inner, error._tag)),
          Effect.as({ held: undefined }),
          Effect.orDie
        )
      )
      yield* jobs.start(nested)
      assert.strictEqual(yield* Deferred.await(inner), "JobLimitReached")
    }).pipe(Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 1 })))
  )

  it.scoped("is never exceeded by starts that are made at once", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const waiting: Job.JobSpec<void, never, Scope.Scope> = {
        ...quick(),
        prepare: () => Effect.as(Effect.yieldNow(), { held: undefined }),
        run: () => Effect.never
      }
      const exits = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.exit(jobs.start(waiting)), {
        concurrency: "unbounded"
      })
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 3)
      assert.strictEqual((yield* jobs.list(s1)).length, 3)
    }).pipe(Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 3 })))
  )
})
