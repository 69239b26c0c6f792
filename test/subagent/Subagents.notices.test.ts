/** Children that wait for notices of their own jobs, and for room. */
import { Jobs } from "@afterturn/jobs/Jobs"
import { Subagents } from "@afterturn/subagent/Subagents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Sub from "./support/subagents.js"

const { root } = Sub

const inBackground = (minutes: number) => ({ calls: [{ tool: "work_in_background", input: { minutes } }] })

const running = Effect.flatMap(Jobs, (jobs) =>
  Effect.map(jobs.list(root), (list) => list.filter(({ status }) => status === "running").map(({ id }) => String(id)))
)

describe("a child that its own notice wakes", () => {
  const script = {
    rules: [
      Sub.task("park", inBackground(60), Sub.works(10), { text: "Parked." }),
      Sub.task("hold on", Sub.works(60), { text: "I held on." }),
      { on: "job-notice" as const, match: "work: ", steps: [Sub.works(30), { text: "Woken." }] }
    ],
    otherwise: [{ text: "I see." }]
  }

  it.scoped("works without a job while its parent has no room for one, and gets one once there is", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "park")
      yield* TestClock.adjust("5 minutes")
      yield* Effect.flatMap(Subagents, (subagents) => subagents.interrupt(agent, child.agentId))
      yield* Sub.settle
      yield* Sub.delegate(agent, "hold on")
      yield* TestClock.adjust("57 minutes")
      assert.strictEqual(yield* child.agent.status, "running")
      assert.deepStrictEqual(yield* running, ["subagent-2"])
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual(yield* running, ["subagent-3"])
      yield* TestClock.adjust("30 minutes")
      assert.strictEqual(yield* Sub.output("subagent-3"), "Woken.")
      assert.isFalse(yield* Sub.isAlive(child.agentId))
    }).pipe(Effect.provide(Sub.layer({ script, jobs: { maxConcurrentJobsPerOwner: 1 } })))
  )
})

describe("a child whose wake budget is spent", () => {
  const script = {
    rules: [
      Sub.task("chain", inBackground(10), { text: "Begun." }),
      { on: "job-notice" as const, match: "work: ", repeat: true, steps: [inBackground(10), { text: "Again." }] }
    ],
    otherwise: [{ text: "I see." }]
  }

  it.scoped("ends its job, which says what it was not told, and is told with the next word of its parent", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "chain")
      yield* TestClock.adjust("2 hours")
      const ended = yield* Sub.get(child.jobId)
      assert.strictEqual(ended.status, "completed")
      assert.include(ended.detail ?? "", "it has not been told that work-4 ended")
      assert.deepStrictEqual(yield* Sub.told(child.agentId), [["work-1"], ["work-2"], ["work-3"]])
      assert.isFalse(yield* Sub.isAlive(child.agentId))
      yield* Effect.flatMap(Subagents, (subagents) => subagents.send(agent, child.agentId, "and?"))
      yield* Sub.settle
      assert.deepStrictEqual((yield* Sub.told(child.agentId)).at(3), ["work-4"])
    }).pipe(Effect.provide(Sub.layer({ script })))
  )
})

describe("a composition that delivers no notices", () => {
  const script = {
    rules: [Sub.task("build it", inBackground(30), { text: "It builds." })],
    otherwise: [{ text: "I see." }]
  }

  it.scoped("keeps no child waiting for one, and its job says so", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "build it")
      yield* TestClock.adjust("30 minutes")
      assert.strictEqual((yield* Sub.get(child.jobId)).status, "running")
      yield* TestClock.adjust("10 seconds")
      const ended = yield* Sub.get(child.jobId)
      assert.strictEqual(ended.status, "completed")
      assert.include(ended.detail ?? "", "it has not been told that work-1 ended")
      assert.strictEqual(yield* Sub.output(child.jobId), "It builds.")
      assert.isFalse(yield* Sub.isAlive(child.agentId))
      assert.deepStrictEqual(yield* Sub.turns(), [])
    }).pipe(Effect.provide(Sub.layer({ script, delivery: false })))
  )
})
