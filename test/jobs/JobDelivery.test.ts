import type { Agent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as JobNotice from "@afterturn/jobs/JobNotice"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as AiError from "@effect/ai/AiError"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

const layer = (
  model: FakeModel.FakeModel,
  options?: Partial<JobDelivery.DeliveryOptions>,
  log?: Layer.Layer<SessionLog, never, SessionLog>
) =>
  Layer.mergeAll(JobDelivery.layer(options), JobTools.layer()).pipe(
    Layer.provideMerge(Jobs.layer()),
    Layer.provideMerge(Support.layer(model.layer, undefined, log)),
    Layer.orDie
  )

const create = Effect.flatMap(Agents, (agents) => agents.create({ id }))

/** A job that ends when it is told to. */
const held = (label = "work", owner: SessionId = id) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs.Jobs
    const done = yield* Deferred.make<void>()
    const job = yield* jobs.start(Job.make({ kind: "work", label, owner }, () => Deferred.await(done)))
    const end = Effect.zipRight(Deferred.succeed(done, undefined), jobs.wait(job.id, "1 minute", owner))
    return { ...job, end }
  })

/** Lets all fibers run that need no time. */
const settle = TestClock.adjust(Duration.zero)

/** The notices that turns have claimed: the jobs of each. */
const told = (sessionId: SessionId = id) =>
  Effect.map(Support.dataOf(sessionId, AgentEvents.UserMessage), (messages) =>
    messages.flatMap(({ source }) => (source.kind === "job-notice" ? [source.jobs] : []))
  )

const turns = Effect.map(Support.dataOf(id, AgentEvents.TurnStart), (starts) => starts.map(({ source }) => source.kind))

const say = (agent: Agent, text: string) => Effect.zipRight(agent.followup(AgentMessage.user(text)), agent.whenIdle)

const work = Job.JobId.make("work-1")
const started = JobEvents.JobStart.make({ id: work, kind: "work", label: "build" })
const asked = (by: string) => JobEvents.JobKillRequested.make({ id: work, reason: "the turn was cancelled", by })
const killed = JobEvents.JobSettle.make({
  id: work,
  status: "killed",
  startedAt: "1970-01-01T00:00:00.000Z",
  finishedAt: "1970-01-01T00:00:00.000Z"
})

/** A session as a host that died left it, resumed; what it comes to in an hour. */
const resumed = (...left: ReadonlyArray<EventInput>) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    yield* log.create({ id })
    yield* log.append(id, left)
    const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(id))
    yield* TestClock.adjust("1 hour")
    yield* agent.whenIdle
    return agent
  })

const run = <A, E>(
  test: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof layer>> | Scope.Scope>,
  options?: Partial<JobDelivery.DeliveryOptions>
) => test.pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(), options)))

describe("an idle owner", () => {
  it.effect("is woken by a notice that names the job, its status and how to read it", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held("pnpm build\nbash-77 (bash) [status: completed]")
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* told(), [["work-1"]])
      assert.deepStrictEqual(yield* turns, ["job-notice"])
      const [message] = yield* Support.dataOf(id, AgentEvents.UserMessage)
      const text = AgentMessage.toText(message?.content ?? [])
      assert.strictEqual(text.split("\n").length, 2)
      assert.include(text, "job_output")
      assert.include(text, 'work-1 (work: "pnpm build\\\\nbash-77 (bash) [status: completed]") [status: completed]')
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect(
    "is woken once by jobs that end within a moment of one another, and at once by the last one that runs",
    () =>
      Effect.gen(function* () {
        const agent = yield* create
        const [one, two, three] = yield* Effect.all([held(), held(), held()])
        yield* one.end
        yield* TestClock.adjust("99 millis")
        assert.deepStrictEqual(yield* turns, [])
        yield* two.end
        yield* TestClock.adjust("1 millis")
        yield* agent.whenIdle
        assert.deepStrictEqual(yield* told(), [["work-1", "work-2"]])
        yield* three.end
        yield* settle
        yield* agent.whenIdle
        assert.deepStrictEqual(yield* told(), [["work-1", "work-2"], ["work-3"]])
      }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("is woken by each end at once where ends are not gathered", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const [one, two] = yield* Effect.all([held(), held(), held()])
      for (const job of [one, two]) {
        yield* job.end
        yield* settle
        yield* agent.whenIdle
      }
      assert.deepStrictEqual(yield* told(), [["work-1"], ["work-2"]])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(), { gatherFor: Duration.zero })))
  )

  it.effect("loses no end that is being gathered when the user opens a turn", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const [one, two] = yield* Effect.all([held(), held(), held()])
      yield* one.end
      yield* settle
      yield* say(agent, "what is new?")
      assert.deepStrictEqual(yield* turns, ["user"])
      yield* TestClock.adjust("1 second")
      yield* agent.whenIdle
      yield* two.end
      yield* TestClock.adjust("1 second")
      yield* agent.whenIdle
      assert.deepStrictEqual((yield* told()).flat(), ["work-1", "work-2"])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(), { gatherFor: Duration.seconds(1) })))
  )

  it.effect("is woken as often as its budget allows, then told with its next turn, and the log says so once", () =>
    Effect.gen(function* () {
      const agent = yield* create
      for (let n = 1; n <= 5; n++) {
        const job = yield* held()
        yield* job.end
        yield* settle
        yield* agent.whenIdle
      }
      assert.deepStrictEqual(yield* turns, ["job-notice", "job-notice", "job-notice"])
      assert.deepStrictEqual(yield* told(), [["work-1"], ["work-2"], ["work-3"]])
      const muted = yield* Support.dataOf(id, JobEvents.JobWakesMuted)
      assert.deepStrictEqual(
        muted.map(({ budget, pending }) => [budget, pending.length]),
        [[3, 1]]
      )
      yield* say(agent, "what happened?")
      assert.deepStrictEqual(yield* told(), [["work-1"], ["work-2"], ["work-3"], ["work-4", "work-5"]])
      const job = yield* held()
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual((yield* turns).slice(3), ["user", "job-notice"])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("gets a wake back for each refill period", () =>
    Effect.gen(function* () {
      const agent = yield* create
      for (let n = 1; n <= 2; n++) {
        const job = yield* held()
        yield* job.end
        yield* settle
        yield* agent.whenIdle
      }
      assert.deepStrictEqual(yield* turns, ["job-notice"])
      yield* TestClock.adjust("1 hour")
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* turns, ["job-notice", "job-notice"])
      assert.deepStrictEqual(yield* told(), [["work-1"], ["work-2"]])
    }).pipe(
      Effect.scoped,
      Effect.provide(layer(FakeModel.replies(), { maxConsecutiveWakes: 1, wakeBudgetRefill: Duration.hours(1) }))
    )
  )

  it.effect("is not woken in quiet mode and told with its next turn", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* job.end
      yield* settle
      assert.deepStrictEqual(yield* turns, [])
      yield* say(agent, "hi")
      assert.deepStrictEqual(yield* told(), [["work-1"]])
      assert.deepStrictEqual(yield* Support.dataOf(id, JobEvents.JobWakesMuted), [])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(), { completionDelivery: "quiet" })))
  )
})

describe("a busy owner", () => {
  it.effect("gets one message for all jobs that ended meanwhile, with its next step", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((request) =>
      request === 0 ? { first: Deferred.await(gate), text: "ok" } : { text: "ok" }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      const jobs = yield* Effect.all(Array.from({ length: 9 }, () => held()))
      yield* agent.followup(AgentMessage.user("work"))
      yield* model.asked(0)
      for (const job of jobs) {
        yield* job.end
        yield* settle
      }
      yield* Deferred.succeed(gate, undefined)
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* turns, ["user"])
      assert.deepStrictEqual(yield* told(), [jobs.map((job) => job.id as string)])
      assert.strictEqual(model.requests.length, 2)
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("is not told of what its own wait has shown", () => {
    const model = FakeModel.replies(
      { calls: [{ name: "job_output", input: { job_id: "work-1", wait: true } }] },
      { text: "ok" }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* agent.followup(AgentMessage.user("wait for it"))
      yield* model.asked(0)
      yield* settle
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* turns, ["user"])
      assert.deepStrictEqual(yield* told(), [])
      const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
      assert.match(result?.text ?? "", /\[status: completed\]$/)
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("is told after all when the wait that had claimed the end was cut off", () => {
    const model = FakeModel.replies(
      { calls: [{ name: "job_output", input: { job_id: "work-1", wait: true } }] },
      { text: "ok" },
      { text: "ok" }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* agent.followup(AgentMessage.user("wait for it"))
      yield* model.asked(0)
      yield* settle
      yield* agent.cancel("user")
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* told(), [["work-1"]])
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })
})

describe("a notice", () => {
  it.effect("survives the cancel of the turn that it waits in", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* agent.followup(AgentMessage.user("work"))
      yield* model.asked(0)
      yield* job.end
      yield* settle
      yield* agent.cancel("user")
      yield* settle
      assert.deepStrictEqual(yield* told(), [])
      yield* say(agent, "go on")
      assert.deepStrictEqual(yield* told(), [["work-1"]])
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("that a failing turn had claimed wakes again after a while, within the budget", () => {
    const refused = new AiError.MalformedInput({ module: "Test", method: "streamText", description: "no" })
    const model = FakeModel.make((request) => (request === 0 ? { fail: refused } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual(
        (yield* Support.turnEnds(id)).map(({ kind }) => kind),
        ["error"]
      )
      yield* TestClock.adjust("29 seconds")
      assert.strictEqual(model.requests.length, 1)
      yield* TestClock.adjust("1 second")
      yield* agent.whenIdle
      assert.deepStrictEqual(
        (yield* Support.turnEnds(id)).map(({ kind }) => kind),
        ["error", "completed"]
      )
      assert.deepStrictEqual(yield* told(), [["work-1"], ["work-1"]])
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("that was owed when the owner was disposed is delivered by the resume, once", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const scope = yield* Scope.make()
      yield* Scope.extend(agents.create({ id }), scope)
      yield* held()
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* told(), [])
      const agent = yield* agents.resume(id)
      yield* settle
      yield* agent.whenIdle
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* told(), [["work-1"]])
      const [settled] = yield* Support.dataOf(id, JobEvents.JobSettle)
      assert.strictEqual(settled?.status, "killed")
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("reaches its own session and no other", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* create
      const other = yield* agents.create({ id: "s2" as SessionId })
      const job = yield* held()
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      yield* other.whenIdle
      assert.deepStrictEqual(yield* told(), [["work-1"]])
      assert.deepStrictEqual(yield* Support.events(other.id), [])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("is not repeated by the turns and restarts that follow", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const scope = yield* Scope.make()
      const agent = yield* Scope.extend(agents.create({ id }), scope)
      const job = yield* held()
      yield* job.end
      yield* settle
      yield* agent.whenIdle
      for (let n = 0; n < 5; n++) yield* say(agent, "and?")
      yield* Scope.close(scope, Exit.void)
      const again = yield* agents.resume(id)
      for (let n = 0; n < 3; n++) yield* say(again, "and?")
      assert.deepStrictEqual(yield* told(), [["work-1"]])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("names twenty jobs of many and counts the rest", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const jobs = yield* Jobs.Jobs
      for (let n = 0; n < 50; n++) {
        const job = yield* jobs.start(Job.make({ kind: "work", label: `job ${n}`, owner: id }, () => Effect.void))
        yield* jobs.wait(job.id, "1 minute", id)
      }
      yield* settle
      yield* say(agent, "hi")
      const messages = yield* Support.dataOf(id, AgentEvents.UserMessage)
      const all = messages.flatMap(({ source }) => (source.kind === "job-notice" ? source.jobs : []))
      assert.strictEqual(new Set(all).size, 50)
      assert.strictEqual(all.length, 50)
      for (const { content } of messages) assert.isAtMost(AgentMessage.toText(content).split("\n").length, 22)
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(), { completionDelivery: "quiet" })))
  )
})

describe("a host that died", () => {
  it.effect("between an end and its notice owes the notice, once", () =>
    run(
      Effect.gen(function* () {
        const agent = yield* resumed(started, killed)
        assert.deepStrictEqual(yield* turns, ["job-notice"])
        yield* say(agent, "and?")
        assert.deepStrictEqual(yield* told(), [["work-1"]])
      })
    )
  )

  it.effect("between a notice and the turn that it opens has delivered it, once", () =>
    run(
      Effect.gen(function* () {
        const notice = { id: "msg-1", ...JobNotice.compose([{ id: "work-1", facts: undefined }]) }
        const agent = yield* resumed(
          started,
          killed,
          AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "insert", messages: [notice] })
        )
        assert.deepStrictEqual(yield* turns, ["job-notice"])
        yield* say(agent, "and?")
        assert.deepStrictEqual(yield* told(), [["work-1"]])
      })
    )
  )

  it.effect("while a job ran owes the notice of its loss, once", () =>
    run(
      Effect.gen(function* () {
        const agent = yield* resumed(started)
        assert.deepStrictEqual(yield* turns, ["job-notice"])
        const [message] = yield* Support.dataOf(id, AgentEvents.UserMessage)
        assert.include(AgentMessage.toText(message?.content ?? []), "[status: failed, lost: the host stopped]")
        yield* say(agent, "and?")
        assert.deepStrictEqual(yield* told(), [["work-1"]])
      })
    )
  )
})

describe("a store that does not take a notice", () => {
  it.effect("is asked again until it does, and the owner is told once", () => {
    let refusals = 0
    const refusing = Layer.effect(
      SessionLog,
      Effect.map(SessionLog, (log) => ({
        ...log,
        append: (session, events, options) =>
          Effect.suspend(() => {
            if (refusals >= 2 || !JSON.stringify(events).includes("job-notice"))
              return log.append(session, events, options)
            refusals++
            return Effect.fail(new SessionStoreError({ reason: "busy", message: "not now" }))
          })
      }))
    )
    return Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* job.end
      yield* TestClock.adjust("1 second")
      yield* agent.whenIdle
      assert.strictEqual(refusals, 2)
      assert.deepStrictEqual(yield* turns, ["job-notice"])
      assert.deepStrictEqual(yield* told(), [["work-1"]])
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies(), undefined, refusing)))
  })
})

describe("the latency of notices", () => {
  it.effect("is measured from the end of the job to the message", () =>
    Effect.gen(function* () {
      const before = yield* Metric.value(JobDelivery.noticeLatency)
      yield* resumed(started, killed)
      const after = yield* Metric.value(JobDelivery.noticeLatency)
      assert.strictEqual(after.count - before.count, 1)
      // It ended at the beginning of time, and so did the host come back.
      assert.strictEqual(after.sum - before.sum, 0)
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )
})

describe("a job whose waiting call was cancelled", () => {
  it.effect("is told by nothing more when the host died after its end", () =>
    run(
      Effect.gen(function* () {
        const agent = yield* resumed(started, asked(JobEvents.byCancelledCall), killed)
        assert.deepStrictEqual(yield* turns, [])
        yield* say(agent, "go on")
        assert.deepStrictEqual(yield* told(), [])
      })
    )
  )

  it.effect("is told without a wake when the host died before its end", () =>
    run(
      Effect.gen(function* () {
        const agent = yield* resumed(started, asked(JobEvents.byCancelledCall))
        assert.deepStrictEqual(yield* turns, [])
        assert.deepStrictEqual(yield* Support.dataOf(id, JobEvents.JobWakesMuted), [])
        const [lost, ...others] = yield* Support.dataOf(id, JobEvents.JobSettle)
        assert.deepStrictEqual([lost?.status, others], ["failed", []])
        yield* say(agent, "go on")
        yield* say(agent, "and on")
        assert.deepStrictEqual(yield* turns, ["user", "user"])
        assert.deepStrictEqual(yield* told(), [["work-1"]])
      }),
      { wakeBudgetRefill: Duration.minutes(10) }
    )
  )

  it.effect("is told together with what wakes the owner", () =>
    run(
      Effect.gen(function* () {
        const agent = yield* resumed(started, asked(JobEvents.byCancelledCall))
        const job = yield* held()
        yield* job.end
        yield* settle
        yield* agent.whenIdle
        assert.deepStrictEqual(yield* turns, ["job-notice"])
        assert.deepStrictEqual(yield* told(), [["work-1", "work-2"]])
      })
    )
  )

  it.effect("wakes the owner when somebody else had asked it to end", () =>
    run(
      Effect.gen(function* () {
        yield* resumed(started, asked("host"))
        assert.deepStrictEqual(yield* turns, ["job-notice"])
        assert.deepStrictEqual(yield* told(), [["work-1"]])
      })
    )
  )
})

describe("the retirement of a turn", () => {
  it.effect("strands no notice of a job that ends between the last look at the inbox and the turn's end", () => {
    const ending = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((request) =>
      request === 0 ? { first: Deferred.await(ending), text: "bye" } : { text: "ok" }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      const job = yield* held()
      yield* agent.followup(AgentMessage.user("work"))
      yield* model.asked(0)
      // The answer and the job's end come at the same moment, in every order that the scheduler may choose.
      yield* Effect.all([Deferred.succeed(ending, undefined), job.end], { concurrency: "unbounded" })
      yield* settle
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* told(), [["work-1"]])
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })
})
