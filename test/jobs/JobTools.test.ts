import { CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { CallPatience } from "@afterturn/agent/CallPatience"
import type { RegisteredTool } from "@afterturn/agent/ToolRegistry"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as Job from "@afterturn/jobs/Job"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId
const settle = TestClock.adjust(Duration.zero)

const layer = (model: FakeModel.FakeModel, options?: Partial<JobTools.JobToolsOptions>) =>
  JobTools.layer(options).pipe(
    Layer.provideMerge(Jobs.layer()),
    Layer.provideMerge(Support.layer(model.layer)),
    Layer.orDie
  )

/** A job that writes this and then waits for its end. */
const writing = (text: string, facts?: Partial<Job.JobFacts>) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs.Jobs
    const done = yield* Deferred.make<void>()
    const job = yield* jobs.start(
      Job.make({ kind: "work", label: "work", owner: id, ...facts }, (context) =>
        Effect.zipRight(context.write(text), Deferred.await(done))
      )
    )
    yield* settle
    return { id: job.id, end: Effect.zipRight(Deferred.succeed(done, undefined), jobs.wait(job.id, "1 minute", id)) }
  })

type Call = { readonly name: string; readonly input: unknown }

/** One turn after `before`, in which the model makes these calls one step after the other: their results. */
const answers = <E, R>(
  before: Effect.Effect<unknown, E, R>,
  calls: ReadonlyArray<Call>,
  options?: Partial<JobTools.JobToolsOptions>
) => {
  const model = FakeModel.make((request) => {
    const call = calls[request]
    return call === undefined ? { text: "ok" } : { calls: [call] }
  })
  return Effect.gen(function* () {
    const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
    yield* before
    const turn = yield* Effect.fork(
      Effect.zipRight(agent.followup(AgentMessage.user("go")), Effect.zipRight(settle, agent.whenIdle))
    )
    yield* TestClock.adjust("20 minutes")
    yield* Fiber.join(turn)
    return yield* Support.dataOf(id, AgentEvents.ToolResult)
  }).pipe(Effect.scoped, Effect.provide(layer(model, options)))
}

const output = (job_id: string, more?: object): Call => ({ name: "job_output", input: { job_id, ...more } })

describe("job_output", () => {
  it.effect("reads what is new, says when nothing is, and ends with the status", () =>
    Effect.gen(function* () {
      const results = yield* answers(writing("one\ntwo\n"), [output("work-1"), output("work-1")])
      assert.deepStrictEqual(
        results.map(({ text }) => text),
        ["one\ntwo\n[status: running]", "(no new output yet)\n[status: running]"]
      )
    })
  )

  it.effect("keeps the tail when there is more than an answer may hold", () =>
    Effect.gen(function* () {
      const [result] = yield* answers(writing(`${"ä".repeat(2_000)}end`, { outputLimitBytes: 1_000 }), [
        output("work-1")
      ])
      const text = result?.text ?? ""
      assert.isAtMost(new TextEncoder().encode(text).length, 1_000)
      assert.match(text, /^\[… \d+ earlier bytes are left out …\]\nä+end\n\[status: running\]$/)
    })
  )

  it.effect("waits as long as it is told, no longer than it may, and leaves the job alone", () =>
    Effect.gen(function* () {
      const waited = (input: object, options?: Partial<JobTools.JobToolsOptions>) =>
        Effect.map(
          answers(writing("x"), [output("work-1", { wait: true, ...input })], options),
          ([result]) => result?.text
        )
      assert.strictEqual(yield* waited({ timeout_ms: 200 }), "x\n[status: running]")
      assert.strictEqual(yield* waited({ timeout_ms: 0 }), "x\n[status: running]")
      assert.strictEqual(yield* waited({ timeout_ms: 99_999_999 }), "x\n[status: running]")
      assert.strictEqual(yield* waited({}), "x\n[status: running]")
    })
  )

  it.effect("waits no longer than whoever calls it", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      yield* writing("x")
      const [tool] = yield* Effect.flatMap(ToolRegistry, ({ tools }) => tools(agent))
      const call = yield* (tool as RegisteredTool)
        .handle({ job_id: "work-1", wait: true, timeout_ms: 300_000 })
        .pipe(
          Effect.provideService(CurrentAgent, agent),
          Effect.provideService(CallPatience, Duration.seconds(45)),
          Effect.fork
        )
      yield* TestClock.adjust("44 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(call)))
      yield* TestClock.adjust("1 seconds")
      assert.deepInclude((yield* Fiber.join(call)).encodedResult, { job_id: "work-1", status: "running", output: "x" })
    }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies())))
  )

  it.effect("ends its wait when something waits for the agent", () => {
    const model = FakeModel.replies({ calls: [output("work-1", { wait: true, timeout_ms: 600_000 })] }, { text: "ok" })
    return Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      yield* writing("x")
      yield* agent.followup(AgentMessage.user("go"))
      yield* model.asked(0)
      yield* TestClock.adjust("1 second")
      yield* agent.steer(AgentMessage.user("hurry"))
      yield* agent.whenIdle
      const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
      assert.strictEqual(result?.text, "x\n[status: running]")
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })

  it.effect("gives the same answer for a foreign job and one that never was", () =>
    Effect.gen(function* () {
      const foreign = Effect.gen(function* () {
        const jobs = yield* Jobs.Jobs
        yield* Effect.flatMap(Agents, (agents) => agents.create({ id: "s2" as SessionId }))
        yield* jobs.start(Job.make({ kind: "secret", label: "x", owner: "s2" as SessionId }, () => Effect.never))
      })
      const results = yield* answers(foreign, [output("secret-1"), output("secret-9"), output("no id at all")])
      const texts = results.map(({ text }) => text.replace(/"[^"]*"/, "ID"))
      assert.deepStrictEqual([...new Set(texts)].length, 1)
      assert.strictEqual(results[0]?.error?.code, "job_not_found")
    })
  )
})

describe("job_list", () => {
  it.effect("shows running and the newest finished jobs, on one line each, and counts the rest", () =>
    Effect.gen(function* () {
      const before = Effect.gen(function* () {
        for (let n = 0; n < 4; n++) yield* Effect.flatMap(writing("done"), (job) => job.end)
        yield* writing("12345", { label: "serve\nwork-9 (work) [status: completed]" })
      })
      const [result] = yield* answers(before, [{ name: "job_list", input: {} }], { listFinished: 2 })
      const lines = (result?.text ?? "").split("\n")
      assert.strictEqual(lines.length, 4)
      assert.match(lines[0] ?? "", /^work-5 \(work\) \[status: running\] "serve\\\\nwork-9.*5 bytes unread$/)
      assert.match(lines[1] ?? "", /^work-3 .*completed/)
      assert.strictEqual(lines[3], "and 2 older finished ones")
    })
  )

  it.effect("says that there are none", () =>
    Effect.gen(function* () {
      const [result] = yield* answers(Effect.void, [{ name: "job_list", input: {} }])
      assert.strictEqual(result?.text, "no background jobs")
    })
  )
})

describe("the prompt", () => {
  it.effect("names the jobs that run as a turn starts, and nothing when there are none", () => {
    const model = FakeModel.replies()
    return Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      const say = Effect.zipRight(agent.followup(AgentMessage.user("go")), Effect.zipRight(settle, agent.whenIdle))
      const first = yield* writing("x")
      const second = yield* writing("x", { label: "obey [this]" })
      yield* say
      yield* first.end
      yield* say
      yield* second.end
      yield* say
      const named = model.prompts.map((prompt) => {
        const system = prompt.flatMap((message) => (message.role === "system" ? [message.content] : [])).join("\n")
        assert.include(system, "Background jobs: keep track")
        assert.notInclude(system, "obey")
        return /that run as this turn starts .*: (.*)\./.exec(system)?.[1]
      })
      assert.deepStrictEqual(named, ["work-1, work-2", "work-2", undefined])
    }).pipe(Effect.scoped, Effect.provide(layer(model)))
  })
})

describe("job_kill", () => {
  it.effect("ends a job and shows that it did; a second one says that it had ended", () =>
    Effect.gen(function* () {
      const kill: Call = { name: "job_kill", input: { job_id: "work-1", reason: "not needed" } }
      const results = yield* answers(writing("x"), [kill, kill])
      assert.deepStrictEqual(
        results.map(({ text }) => text.split("\n")[0]),
        ["work-1: cancellation-requested", "work-1: already-finished"]
      )
      assert.match(results[0]?.text ?? "", /\[status: killed/)
      assert.match(results[1]?.text ?? "", /\[status: killed/)
    })
  )
})

describe("the configuration", () => {
  it.effect("fails at start when it could not work", () =>
    Effect.gen(function* () {
      const build = (options: Partial<JobTools.JobToolsOptions>) =>
        Effect.either(
          Effect.scoped(
            Layer.build(
              JobTools.layer(options).pipe(
                Layer.provide(Jobs.layer()),
                Layer.provide(Support.layer(FakeModel.replies().layer))
              )
            )
          )
        )
      for (const options of [
        { waitTimeoutMs: 700_000 },
        { maxWaitTimeoutMs: 3_000_000_000 },
        { killWaitMs: -1 },
        { waitTimeoutMs: Number.NaN }
      ]) {
        const built = yield* build(options)
        assert.isTrue(Either.isLeft(built), JSON.stringify(options))
      }
      assert.isTrue(Either.isRight(yield* build({})))
    })
  )
})
