import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Support from "./support/jobs.js"

const { s1, s2 } = Support

/** A spool that outlives hosts, as files do. */
const sharedSpool = Effect.map(Layer.build(JobSpool.layerMemory()), (context) =>
  Layer.succeed(JobSpool.JobSpool, Context.get(context, JobSpool.JobSpool))
)

const createOrResume = (id: SessionId) =>
  Effect.flatMap(Agents, (agents) => Effect.catchTag(agents.create({ id }), "SessionExists", () => agents.resume(id)))

/** A host on which `s1` is alive and served. */
const hostWith = (...options: Parameters<typeof Support.makeHost>) =>
  Effect.tap(Support.makeHost(...options), (host) =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.attachController("test")
      yield* createOrResume(s1)
    }).pipe(Effect.provide(host))
  )

const process = { pid: 4711, group: 4711, startedAt: "99", bootId: "boot" }

const withProcess = (facts?: Partial<Job.JobFacts>): Job.JobSpec<void, never, never> => ({
  kind: "bash",
  label: "make",
  owner: s1,
  ...facts,
  prepare: () => Effect.succeed({ held: undefined, process }),
  run: () => Effect.never
})

describe("after a crash", () => {
  it.scoped("open jobs are settled as lost, once, their output is there, and ids go on", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const spool = yield* sharedSpool
      const first = yield* hostWith(store, 1, { spool })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const done = yield* jobs.start(
          Job.make({ kind: "bash", label: "done", owner: s1 }, () => Effect.succeed("report"))
        )
        yield* jobs.wait(done.id, "1 minute", s1)
        const writer = Support.writer(s1, { kind: "bash" })
        const open = yield* jobs.start(writer.spec)
        yield* writer.write("so far")
        assert.strictEqual(open.id, "bash-2")
      }).pipe(Effect.provide(first))
      const second = yield* hostWith(store, 2, { spool, dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const lost = yield* jobs.get("bash-2", s1)
        assert.deepStrictEqual(
          [lost.status, lost.detail, lost.outputBytes, lost.unreadBytes],
          ["failed", "lost: the host stopped", 6, 6]
        )
        assert.deepStrictEqual(yield* jobs.kill("bash-2", s1), { answer: "already-finished", snapshot: lost })
        assert.strictEqual((yield* jobs.read("bash-2", s1)).output, "so far")
        assert.strictEqual((yield* jobs.read("bash-2", s1)).output, "")
        for (let index = 0; index < 2; index++) {
          assert.strictEqual((yield* jobs.read("bash-1", s1)).output, "report")
        }
        const next = yield* jobs.start(withProcess())
        assert.strictEqual(next.id, "bash-3")
        assert.deepStrictEqual(
          (yield* jobs.list(s1)).map(({ id, status }) => `${id} ${status}`),
          ["bash-1 completed", "bash-2 failed", "bash-3 running"]
        )
      }).pipe(Effect.provide(second))
      const third = yield* hostWith(store, 3, { spool, dead: new Set([1, 2]) })
      const ends = yield* Effect.provide(Support.jobEventTypes(), third)
      assert.deepStrictEqual(ends, [
        "job/start bash-1",
        "job/settle bash-1",
        "job/start bash-2",
        "job/settle bash-2",
        "job/start bash-3",
        "job/settle bash-3"
      ])
    })
  )

  it.scoped("what is recorded of a process is ended by its kind's reaper first, whose words are the detail's", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        yield* jobs.start(withProcess())
        yield* jobs.start(withProcess({ kind: "terminal" }))
        yield* jobs.start(withProcess({ kind: "other" }))
      }).pipe(Effect.provide(first))
      const seen: Array<string> = []
      const second = yield* Support.makeHost(store, 2, { dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const events = Effect.provide(Support.jobEventTypes(), second)
        yield* jobs.registerReaper("bash", (found) =>
          Effect.map(events, (before) => {
            seen.push(`pid ${found.pid}, ${before.filter((event) => event.startsWith("job/settle")).length} settled`)
            return "its processes\nwere ended"
          })
        )
        yield* jobs.registerReaper("terminal", () => Effect.die("cannot read /proc"))
        yield* createOrResume(s1)
        const details = yield* Effect.forEach(["bash-1", "terminal-1", "other-1"], (id) =>
          Effect.map(jobs.get(id, s1), ({ detail }) => detail)
        )
        assert.deepStrictEqual(details, [
          "lost: the host stopped; its processes\\nwere ended",
          "lost: the host stopped; its processes may still run",
          "lost: the host stopped"
        ])
        assert.deepStrictEqual(seen, ["pid 4711, 0 settled"])
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("a reaper that hangs does not keep the agent from coming alive", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(withProcess())),
        first
      )
      const second = yield* Support.makeHost(store, 2, { dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        yield* jobs.registerReaper("bash", () => Effect.uninterruptible(Effect.never))
        const coming = yield* Effect.fork(createOrResume(s1))
        yield* TestClock.adjust("10 seconds")
        yield* Fiber.join(coming)
        assert.strictEqual(
          (yield* jobs.get("bash-1", s1)).detail,
          "lost: the host stopped; its processes may still run"
        )
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("that came again between reaping and storing, it is all done again, and stored once", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(withProcess())),
        first
      )
      let reaped = 0
      const reapThen = (after: Effect.Effect<void>) =>
        Effect.gen(function* () {
          const jobs = yield* Jobs
          yield* jobs.registerReaper("bash", () =>
            Effect.as(
              Effect.zipRight(
                Effect.sync(() => reaped++),
                after
              ),
              "ended"
            )
          )
          yield* createOrResume(s1)
        })
      const crashing = yield* Support.makeHost(store, 2, { dead: new Set([1]) })
      const stuck = yield* Deferred.make<void>()
      const here = yield* Deferred.make<void>()
      yield* Effect.forkScoped(
        Effect.provide(reapThen(Effect.zipRight(Deferred.succeed(here, undefined), Deferred.await(stuck))), crashing)
      )
      yield* Deferred.await(here)
      const third = yield* Support.makeHost(store, 3, { dead: new Set([1, 2]) })
      yield* Effect.provide(reapThen(Effect.void), third)
      yield* Deferred.succeed(stuck, undefined)
      yield* Support.turns
      assert.strictEqual(reaped, 2)
      assert.deepStrictEqual(yield* Effect.provide(Support.jobEventTypes(), third), [
        "job/start bash-1",
        "job/settle bash-1"
      ])
    })
  )

  it.scoped("a store that is full for now does not keep the agent from coming alive, and gets the ends later", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(withProcess())),
        first
      )
      const full = { is: true }
      const refusing = {
        ...store,
        commit: (requests: Parameters<typeof store.commit>[0]) =>
          full.is && requests.some(({ events }) => events.some(({ type }) => type === "job/settle"))
            ? Effect.fail(Support.full)
            : store.commit(requests)
      }
      const second = yield* hostWith(refusing, 2, { dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const ends = yield* Support.completions
        assert.strictEqual((yield* jobs.get("bash-1", s1)).status, "running")
        const waiter = yield* Effect.fork(jobs.wait("bash-1", "1 day", s1))
        full.is = false
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(waiter)).status, "failed")
        yield* Support.turns
        assert.deepStrictEqual(
          ends.map(({ detail, id }) => [id, detail]),
          [["bash-1", "lost: the host stopped"]]
        )
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("a store that kept the ends and said that it had not has them once", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(withProcess())),
        first
      )
      let lies = 1
      const lying = {
        ...store,
        commit: (requests: Parameters<typeof store.commit>[0]) =>
          Effect.flatMap(store.commit(requests), (results) =>
            lies > 0 && requests.some(({ events }) => events.some(({ type }) => type === "job/settle"))
              ? Effect.zipRight(
                  Effect.sync(() => lies--),
                  Effect.fail(Support.full)
                )
              : Effect.succeed(results)
          )
      }
      const second = yield* hostWith(lying, 2, { dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(
          (yield* jobs.list(s1)).map(({ id, status }) => `${id} ${status}`),
          ["bash-1 failed"]
        )
        assert.deepStrictEqual(yield* Support.jobEventTypes(), ["job/start bash-1", "job/settle bash-1"])
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("output that went with the host is said to be gone", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const writer = Support.writer(s1)
        yield* jobs.start(writer.spec)
        yield* writer.write("gone")
      }).pipe(Effect.provide(first))
      const second = yield* hostWith(store, 2, { dead: new Set([1]) })
      const read = yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.read("work-1", s1)),
        second
      )
      assert.deepStrictEqual([read.output, read.expired, read.snapshot.unreadBytes], ["", true, 0])
    })
  )

  it.scoped("the old host, still there, can neither end the jobs of the new one nor write of its own", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const firstScope = yield* Scope.make()
      const first = yield* Scope.extend(hostWith(store, 1), firstScope)
      const work = Support.held(s1, { kind: "bash" })
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(work.spec)),
        first
      )
      const second = yield* hostWith(store, 2, { dead: new Set([1]) })
      yield* work.release()
      yield* Support.turns
      assert.strictEqual(
        (yield* Effect.provide(
          Effect.flatMap(Jobs, (jobs) => jobs.wait("bash-1", "1 hour", s1)),
          first
        )).status,
        "completed"
      )
      const next = Support.held(s1, { kind: "bash" })
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(next.spec)),
        second
      )
      yield* Scope.close(firstScope, Exit.void)
      assert.deepStrictEqual(yield* Effect.provide(Support.jobEventTypes(), second), [
        "job/start bash-1",
        "job/settle bash-1",
        "job/start bash-2"
      ])
    })
  )
})

describe("the ledger of a session", () => {
  it.scoped("answers for finished jobs that are not in memory any more, in any session of any host", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const spool = yield* sharedSpool
      const host = yield* hostWith(store, 1, { spool, jobs: { keepFinished: 3 } })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        for (let index = 1; index <= 250; index++) {
          const kind = index % 5 === 0 ? "subagent" : "bash"
          const { id } = yield* jobs.start(
            Job.make({ kind, label: `job ${index}`, owner: s1 }, ({ setDetail, write }) =>
              Effect.zipRight(write(`output ${index}`), setDetail(`exit code: ${index}`))
            )
          )
          yield* jobs.wait(id, "1 minute", s1)
        }
        assert.strictEqual((yield* jobs.list(s1)).length, 3)
        const check = (id: string, index: number) =>
          Effect.gen(function* () {
            const { detail, label, status } = yield* jobs.get(id, s1)
            assert.deepStrictEqual([label, status, detail], [`job ${index}`, "completed", `exit code: ${index}`])
            assert.strictEqual((yield* jobs.read(id, s1)).output, `output ${index}`)
            assert.strictEqual((yield* jobs.wait(id, "1 minute", s1)).status, "completed")
            assert.strictEqual((yield* jobs.kill(id, s1)).answer, "already-finished")
          })
        yield* check("bash-1", 1)
        yield* check("bash-2", 2)
        yield* check("bash-77", 96)
        yield* check("bash-200", 249)
        yield* check("subagent-1", 5)
        yield* check("subagent-33", 165)
        yield* check("subagent-50", 250)
        for (const id of ["bash-201", "subagent-51", "terminal-1"]) {
          assert.strictEqual((yield* Effect.flip(jobs.get(id, s1)))._tag, "JobNotFound")
        }
      }).pipe(Effect.provide(host))
      const other = yield* Support.makeHost(store, 2, { spool })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        assert.strictEqual((yield* jobs.list(s1)).length, 100)
        assert.strictEqual((yield* jobs.get("bash-10", s1)).label, "job 12")
        assert.strictEqual((yield* jobs.read("subagent-50", s1)).output, "output 250")
        assert.strictEqual((yield* Effect.flip(jobs.get("bash-999", s1)))._tag, "JobNotFound")
      }).pipe(Effect.provide(other))
    })
  )

  it.scoped("finds a job whose start was overtaken by later ones", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const began = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      const slow = yield* Effect.fork(
        jobs.start({
          kind: "bash",
          label: "slow",
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
      const quick = Job.make({ kind: "bash", label: "quick", owner: s1 }, () => Effect.void)
      const one = Effect.flatMap(jobs.start(quick), ({ id }) => jobs.wait(id, "1 minute", s1))
      yield* Effect.repeatN(one, 120)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.flatMap(Fiber.join(slow), ({ id }) => jobs.wait(id, "1 minute", s1))
      yield* Effect.repeatN(one, 120)
      assert.strictEqual((yield* jobs.get("bash-1", s1)).label, "slow")
      assert.strictEqual((yield* jobs.get("bash-2", s1)).label, "quick")
    }).pipe(Effect.provide(Support.layer({ keepFinished: 2 })))
  )

  it.scoped("keeps what the model has read across a restart", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const spool = yield* sharedSpool
      const first = yield* hostWith(store, 1, { spool })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const log = yield* SessionLog
        const writer = Support.writer(s1)
        yield* jobs.start(writer.spec)
        yield* writer.write("read ")
        const { cursor, snapshot } = yield* jobs.read("work-1", s1)
        yield* log.append(s1, [
          {
            type: "tool/result",
            data: {
              callId: "c1",
              name: "job_output",
              ok: true,
              text: "read",
              value: { job_id: "work-1", status: snapshot.status, cursor }
            }
          }
        ])
        yield* writer.write("not read")
      }).pipe(Effect.provide(first))
      const second = yield* hostWith(store, 2, { spool, dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        assert.strictEqual((yield* jobs.get("work-1", s1)).unreadBytes, 8)
        assert.strictEqual((yield* jobs.read("work-1", s1)).output, "not read")
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("lists jobs of earlier runs in start order, whichever ended first", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        const works = [
          Support.held(s1, { kind: "b" }),
          Support.held(s1, { kind: "a" }),
          Support.held(s1, { kind: "b" })
        ]
        for (const { spec } of works) {
          yield* jobs.start(spec)
          yield* TestClock.adjust("1 second")
        }
        yield* works[2]!.release()
        yield* Support.turns
        yield* works[0]!.release()
        yield* Support.turns
      }).pipe(Effect.provide(first))
      const listed = Effect.flatMap(Jobs, (jobs) => Effect.map(jobs.list(s1), (all) => all.map(({ id }) => id)))
      const reader = yield* Support.makeHost(store, 9)
      assert.deepStrictEqual(yield* Effect.provide(listed, reader), ["b-1", "a-1", "b-2"])
      const second = yield* hostWith(store, 2, { dead: new Set([1]) })
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        yield* jobs.start(Support.held(s1, { kind: "c" }).spec)
        assert.deepStrictEqual(yield* listed, ["b-1", "a-1", "b-2", "c-1"])
      }).pipe(Effect.provide(second))
    })
  )

  it.scoped("goes to a fork as numbers that are used up, not as jobs", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const log = yield* SessionLog
      const agents = yield* Agents
      yield* Support.alive()
      const work = Support.held(s1, { kind: "bash" })
      yield* jobs.start(work.spec)
      yield* jobs.start(Job.make({ kind: "bash", label: "done", owner: s1 }, () => Effect.void))
      yield* Support.turns
      yield* log.fork(s1, { id: s2 })
      yield* agents.resume(s2)
      assert.deepStrictEqual(yield* jobs.list(s2), [])
      for (const id of ["bash-1", "bash-2"]) {
        assert.strictEqual((yield* Effect.flip(jobs.get(id, s2)))._tag, "JobNotFound")
      }
      const own = yield* jobs.start(Job.make({ kind: "bash", label: "own", owner: s2 }, () => Effect.void))
      assert.strictEqual(own.id, "bash-3")
      assert.strictEqual((yield* jobs.get("bash-1", s1)).status, "running")
      yield* work.release()
    }).pipe(Effect.provide(Support.layer({ keepFinished: 1 })))
  )

  it.scoped("keeps to the newest in memory", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const nobody = Job.make({ kind: "bash", label: "nobody's" }, () => Effect.void)
      for (let index = 0; index < 5; index++) yield* Effect.zipRight(jobs.start(nobody), Support.turns)
      assert.deepStrictEqual(
        (yield* jobs.list(s1)).map(({ id }) => id),
        ["host-bash-4", "host-bash-5"]
      )
      assert.strictEqual((yield* Effect.flip(jobs.get("host-bash-1", s1)))._tag, "JobNotFound")
    }).pipe(Effect.provide(Support.layer({ keepFinished: 2 })))
  )
})

describe("a session that lives on another host", () => {
  it.scoped("shows its jobs as the log has them; its host's are not stopped from here", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const first = yield* hostWith(store, 1)
      const other = yield* Support.makeHost(store, 2)
      const work = Support.held(s1, { kind: "bash" })
      yield* Effect.provide(
        Effect.flatMap(Jobs, (jobs) => jobs.start(work.spec)),
        first
      )
      yield* Effect.gen(function* () {
        const jobs = yield* Jobs
        assert.deepStrictEqual(
          (yield* jobs.list(s1)).map(({ id, status }) => `${id} ${status}`),
          ["bash-1 running"]
        )
        assert.strictEqual((yield* Effect.flip(jobs.kill("bash-1", s1)))._tag, "SessionLeased")
        assert.strictEqual((yield* jobs.wait("bash-1", 0, s1)).status, "running")
      }).pipe(Effect.provide(other))
      assert.deepStrictEqual(yield* Effect.provide(Support.jobEventTypes(), first), ["job/start bash-1"])
      yield* work.release()
    })
  )

  it.scoped("that stopped keeps a wish to stop for its next agent", () =>
    Effect.gen(function* () {
      const store = yield* Support.sharedStore
      const host = yield* Support.makeHost(store, 1)
      yield* Effect.gen(function* () {
        const log = yield* SessionLog
        const jobs = yield* Jobs
        yield* log.create({ id: s1 })
        yield* log.append(s1, [
          JobEvents.JobStart.make({ id: Job.JobId.make("bash-1"), kind: "bash", label: "left open" })
        ])
        assert.strictEqual((yield* jobs.kill("bash-1", s1, { reason: "no use" })).answer, "cancellation-requested")
        assert.strictEqual((yield* jobs.get("bash-1", s1)).status, "stopping")
        const waiter = yield* Effect.fork(jobs.wait("bash-1", "1 day", s1))
        yield* createOrResume(s1)
        const ended = yield* Fiber.join(waiter)
        assert.deepStrictEqual([ended.status, ended.reason], ["failed", "no use"])
      }).pipe(Effect.provide(host))
    })
  )
})
