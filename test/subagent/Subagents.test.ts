import { isRoot } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import type { JobId } from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { Task } from "@afterturn/subagent/Subagents"
import { Subagents } from "@afterturn/subagent/Subagents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as Sub from "./support/subagents.js"

const { root } = Sub

const all = ["subagent-1", "subagent-2", "subagent-3"]

/** A parent that delegates three tasks of ten minutes and works for some itself; it takes a minute over each notice. */
const three = (minutes: number) => ({
  rules: [
    {
      on: "user" as const,
      steps: [
        { calls: ["task A", "task B", "task C"].map(Sub.delegates) },
        Sub.works(minutes),
        { text: "They are at it." }
      ]
    },
    { on: "job-notice" as const, repeat: true, steps: [Sub.works(1), { text: "I see." }] },
    ...["A", "B", "C"].map((name) => Sub.task(`task ${name}`, Sub.works(10), { text: `${name} is done` }))
  ],
  otherwise: [{ text: "I see." }]
})

const tokensOf = (id: typeof root) =>
  Effect.map(Support.dataOf(id, AgentEvents.AssistantMessage), (all) =>
    all.reduce((sum, { usage }) => sum + (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0), 0)
  )

describe("a parent with three children", () => {
  it.scoped("works on while they do, and is told of all that ended in one message", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      yield* Sub.say(agent, "delegate")
      const ids = yield* Sub.childIds()
      assert.strictEqual(ids.length, 3)
      yield* TestClock.adjust("11 minutes")
      assert.strictEqual(yield* agent.status, "running")
      assert.deepStrictEqual(yield* Effect.forEach(all, (id) => Effect.map(Sub.get(id), ({ status }) => status)), [
        "completed",
        "completed",
        "completed"
      ])
      yield* TestClock.adjust("9 minutes")
      assert.deepStrictEqual(yield* Sub.turns(), ["user"])
      assert.deepStrictEqual(
        (yield* Sub.told()).map((jobs) => [...jobs].sort()),
        [all]
      )
      assert.deepStrictEqual(yield* Effect.forEach(all, (id) => Sub.output(id)), [
        "A is done",
        "B is done",
        "C is done"
      ])
      const ended = yield* Sub.get("subagent-1")
      assert.deepStrictEqual([ended.label, ended.kind], ["task A", "subagent"])
      assert.strictEqual(ended.detail, `agent ${ids[0]}, ${yield* tokensOf(ids[0]!)} tokens in all`)
      for (const id of ids) assert.isFalse(yield* Sub.isAlive(id))
    }).pipe(Effect.provide(Sub.layer({ script: three(15) })))
  )

  it.scoped("is woken once when its turn is long over", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      yield* Sub.say(agent, "delegate")
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* agent.status, "idle")
      assert.deepStrictEqual((yield* Sub.get("subagent-2")).status, "running")
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* Sub.turns(), ["user", "job-notice"])
      assert.deepStrictEqual(
        (yield* Sub.told()).map((jobs) => [...jobs].sort()),
        [all]
      )
    }).pipe(Effect.provide(Sub.layer({ script: three(1) })))
  )
})

describe("a child", () => {
  it.scoped("is an agent with a session of its own, below its parent, and hears the task from an agent", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "look around", { description: "Look\naround", cwd: "src/../docs" })
      const { header } = child.agent
      assert.deepStrictEqual(
        [header.parent, header.delegationDepth, header.cwd, header.title],
        [root, 1, "/srv/docs", "Look\\naround"]
      )
      assert.isFalse(isRoot(child.agent))
      yield* Sub.settle
      const [message] = yield* Support.dataOf(child.agentId, AgentEvents.UserMessage)
      assert.deepStrictEqual(message?.source, { kind: "agent", sessionId: root })
      assert.deepStrictEqual(yield* Sub.heard(child.agentId), ["look around"])
      assert.deepStrictEqual(yield* Sub.turns(child.agentId), ["agent"])
    }).pipe(Effect.provide(Sub.layer()))
  )

  it.scoped("that waits for a job of its own is at work until it has been told of that one's end", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "build it")
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* child.agent.status, "idle")
      assert.strictEqual((yield* Sub.get(child.jobId)).status, "running")
      const jobs = yield* Jobs
      assert.deepStrictEqual(
        (yield* jobs.list(root)).map(({ id }) => String(id)),
        ["subagent-1"]
      )
      yield* TestClock.adjust("25 minutes")
      assert.deepStrictEqual(yield* Sub.turns(child.agentId), ["agent", "job-notice"])
      assert.strictEqual((yield* Sub.get(child.jobId)).status, "completed")
      assert.strictEqual(yield* Sub.output(child.jobId), "It is built.")
    }).pipe(Effect.provide(Sub.layer({ script: builder })))
  )

  it.scoped("whose turn fails fails its job, with what it said last, and can be continued", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "try it")
      yield* Sub.settle
      const failed = yield* Sub.get(child.jobId)
      assert.strictEqual(failed.status, "failed")
      assert.include(failed.detail ?? "", "its turn ended in an error")
      assert.strictEqual(yield* Sub.output(child.jobId), "I try.")
      const subagents = yield* Subagents
      const sent = yield* subagents.send(agent, child.agentId, "once more")
      yield* Sub.settle
      assert.deepStrictEqual(sent, { delivery: "continued", agentId: child.agentId, jobId: "subagent-2" as JobId })
      assert.strictEqual(yield* Sub.output("subagent-2"), "Now it works.")
    }).pipe(Effect.provide(Sub.layer({ script: clumsy })))
  )

  it.scoped("that a task cannot be given to does not come to be", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create({})
      const subagents = yield* Subagents
      const refuse = (task: Partial<Task>) =>
        Effect.map(Effect.flip(subagents.delegate(agent, { description: "d", prompt: "p", ...task })), (error) => [
          error._tag,
          error.message
        ])
      assert.deepStrictEqual(yield* refuse({ prompt: " \n" }), [
        "InvalidTask",
        "nothing was given to an agent: the prompt is empty"
      ])
      assert.deepStrictEqual((yield* refuse({ description: "" }))[0], "InvalidTask")
      assert.include((yield* refuse({ cwd: "src" }))[1], "must be an absolute path")
      const log = yield* SessionLog
      assert.strictEqual((yield* log.list({ parent: root })).sessions.length, 0)
      assert.deepStrictEqual(yield* Support.types(root), [])
    }).pipe(Effect.provide(Sub.layer()))
  )
})

const builder = {
  rules: [
    Sub.task("build it", { calls: [{ tool: "work_in_background", input: { minutes: 30 } }] }, { text: "It builds." }),
    { on: "job-notice" as const, match: "work-1", steps: [{ text: "It is built." }] }
  ],
  otherwise: [{ text: "I see." }]
}

const clumsy = {
  rules: [
    Sub.task("try it", { text: "I try.", ...Sub.works(0) }, { fail: { status: 400, message: "no" } }),
    Sub.task("once more", { text: "Now it works." })
  ],
  otherwise: [{ text: "I see." }]
}

describe("limits", () => {
  it.scoped("no agent below the deepest level is started", () =>
    Effect.gen(function* () {
      const subagents = yield* Subagents
      let agent = yield* Sub.create()
      for (let depth = 1; depth <= 3; depth++) {
        const child = yield* Sub.delegate(agent, "hold on")
        assert.strictEqual(child.agent.header.delegationDepth, depth)
        agent = child.agent
      }
      const error = yield* Effect.flip(subagents.delegate(agent, { description: "d", prompt: "p" }))
      assert.strictEqual(error._tag, "DepthLimitReached")
      assert.include(error.message, "3 levels")
      const tools = yield* Effect.flatMap(ToolRegistry, (registry) => registry.tools(agent))
      const names = tools.map(({ tool }) => tool.name)
      assert.include(names, "send_message")
      assert.notInclude(names, "subagent")
      assert.deepStrictEqual((yield* Sub.call(agent, "subagent", { description: "d", prompt: "p" })).ok, false)
    }).pipe(Effect.provide(Sub.layer({ script: patient })))
  )

  it.scoped("a parent has as many children at work as it may have jobs, and one that is refused leaves nothing", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      yield* Sub.delegate(agent, "hold on")
      yield* Sub.delegate(agent, "hold on")
      const refused = yield* Sub.call(agent, "subagent", { description: "third", prompt: "hold on" })
      assert.strictEqual(refused.error?.code, "job_limit_reached")
      assert.include(refused.text, "subagent-1, subagent-2")
      const log = yield* SessionLog
      assert.strictEqual((yield* log.list({ parent: root })).sessions.length, 2)
      assert.strictEqual((yield* Sub.childIds()).length, 2)
      yield* TestClock.adjust("2 hours")
      assert.isTrue((yield* Sub.call(agent, "subagent", { description: "third", prompt: "hold on" })).ok)
    }).pipe(Effect.provide(Sub.layer({ script: patient, jobs: { maxConcurrentJobsPerOwner: 2 } })))
  )
})

const patient = {
  rules: [{ on: "agent" as const, match: "hold on", repeat: true, steps: [Sub.works(60), { text: "I held on." }] }],
  otherwise: [{ text: "I see." }]
}
