import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { Agents } from "@afterturn/agent/Agents"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { Subagents } from "@afterturn/subagent/Subagents"
import { flatten } from "@afterturn/subagent/SubagentTree"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as Sub from "./support/subagents.js"

const { root } = Sub

const script = {
  rules: [
    Sub.task("dig", Sub.works(10), { text: "I dug." }),
    Sub.task("deeper", Sub.works(10), { text: "I dug deeper." }),
    Sub.task("park", { calls: [{ tool: "work_in_background", input: { minutes: 60 } }] }, Sub.works(10), {
      text: "Parked."
    }),
    Sub.task("nest", { calls: [Sub.delegates("hold on")] }, { text: "Nested." }),
    { on: "agent" as const, match: "hold on", repeat: true, steps: [Sub.works(60), { text: "I held on." }] }
  ],
  otherwise: [{ text: "I see." }]
}

const layer = Sub.layer({ script })

const send = (agent: Parameters<typeof Sub.delegate>[0], to: string, message: string) =>
  Effect.flatMap(Subagents, (subagents) => subagents.send(agent, to, message))

const interrupt = (agent: Parameters<typeof Sub.delegate>[0], id: string) =>
  Effect.flatMap(Subagents, (subagents) => Effect.map(subagents.interrupt(agent, id), ({ answer }) => answer))

describe("a message to a child", () => {
  it.scoped("that works reaches its next step, and its job goes on", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "dig")
      yield* TestClock.adjust("5 minutes")
      const sent = yield* send(agent, child.agentId, "go deeper")
      assert.deepStrictEqual(sent, { delivery: "steered", agentId: child.agentId, jobId: child.jobId })
      yield* TestClock.adjust("30 minutes")
      assert.deepStrictEqual(yield* Sub.heard(child.agentId), ["dig", "Your parent agent says:\n\ngo deeper"])
      assert.deepStrictEqual(yield* Sub.turns(child.agentId), ["agent"])
      assert.strictEqual(yield* Sub.output(child.jobId), "I dug.")
      assert.deepStrictEqual(yield* Sub.told(), [["subagent-1"]])
    }).pipe(Effect.provide(layer))
  )

  it.scoped("that has ended continues it as a new job, with all that it knows", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "dig")
      yield* TestClock.adjust("15 minutes")
      assert.isFalse(yield* Sub.isAlive(child.agentId))
      const sent = yield* send(agent, child.agentId, "go deeper")
      assert.deepStrictEqual(sent.delivery === "continued" ? String(sent.jobId) : "", "subagent-2")
      yield* TestClock.adjust("15 minutes")
      assert.deepStrictEqual(yield* Sub.turns(child.agentId), ["agent", "agent"])
      assert.strictEqual(yield* Sub.output("subagent-2"), "I dug deeper.")
      assert.strictEqual(yield* Sub.output("subagent-1"), "I dug.")
      const [row] = yield* Effect.flatMap(Subagents, ({ below }) => below(root))
      assert.deepStrictEqual([row?.status, row?.runs, row?.turns, row?.job.id], ["inactive", 2, 2, "subagent-2"])
      assert.deepStrictEqual(yield* Sub.told(), [["subagent-1"], ["subagent-2"]])
    }).pipe(Effect.provide(layer))
  )

  it.scoped("sent by many at once finds it at work once", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "dig")
      yield* TestClock.adjust("15 minutes")
      const sent = yield* Effect.forEach(["hold on", "a", "b"], (text) => send(agent, child.agentId, text), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(sent.map(({ delivery }) => delivery).sort(), ["continued", "steered", "steered"])
      yield* TestClock.adjust("2 hours")
      assert.strictEqual((yield* Sub.heard(child.agentId)).length, 4)
      assert.deepStrictEqual((yield* Sub.told()).flat(), ["subagent-1", "subagent-2"])
    }).pipe(Effect.provide(layer))
  )
})

describe("a message at any instant of a child's end", () => {
  it.scoped("is read by the child, within the job that runs or a new one", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const deliveries = new Set<string>()
      for (let instant = 0; instant < 320; instant += 40) {
        const { agentId } = yield* Sub.delegate(agent, "be quick")
        yield* Effect.repeatN(Effect.yieldNow(), instant)
        const sent = yield* send(agent, agentId, "hello")
        deliveries.add(sent.delivery)
        yield* Sub.settle
        assert.include((yield* Sub.heard(agentId)).join(), "hello")
        assert.isFalse(yield* Sub.isAlive(agentId))
      }
      assert.deepStrictEqual([...deliveries].sort(), ["continued", "steered"])
      const left = yield* Effect.flatMap(Jobs, (jobs) => jobs.list(root))
      assert.deepStrictEqual([...new Set(left.map(({ status }) => status))], ["completed"])
    }).pipe(Effect.provide(layer))
  )
})

describe("a message to the parent", () => {
  it.scoped("wakes it, and says from whom it is", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "dig")
      const sent = yield* send(child.agent, root, "which hole?")
      assert.deepStrictEqual(sent, { delivery: "to-parent", agentId: root })
      yield* Sub.settle
      const [message] = yield* Support.dataOf(root, AgentEvents.UserMessage)
      assert.deepStrictEqual(message?.source, { kind: "agent", sessionId: child.agentId })
      assert.deepStrictEqual(yield* Sub.heard(root), [`Your subagent ${child.agentId} ("dig") says:\n\nwhich hole?`])
      assert.deepStrictEqual(yield* Sub.turns(), ["agent"])
    }).pipe(Effect.provide(layer))
  )

  it.scoped("is refused when the parent is not alive here", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const agent = yield* Scope.extend(Sub.create(), scope)
      const child = yield* Sub.delegate(agent, "dig")
      yield* Scope.close(scope, Exit.void)
      const orphan = yield* Effect.flatMap(Agents, (agents) => agents.resume(child.agentId))
      const error = yield* Effect.flip(send(orphan, root, "hello"))
      assert.strictEqual(error._tag, "AgentUnavailable")
    }).pipe(Effect.provide(layer))
  )
})

describe("two agents that answer each other", () => {
  it.scoped("wake the parent as often in a row as they may, lose nothing, and begin anew once a person speaks", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const { agentId } = yield* Sub.delegate(agent, "ping 0")
      yield* Sub.settle
      for (let n = 1; n <= 5; n++) {
        yield* send(agent, agentId, `ping ${n}`)
        yield* Sub.settle
      }
      const opened = yield* Sub.turns()
      assert.deepStrictEqual(
        opened.filter((kind) => kind === "agent"),
        ["agent", "agent", "agent"]
      )
      const answers = yield* Support.dataOf(agentId, AgentEvents.ToolResult)
      assert.deepStrictEqual(
        answers.map(({ value }) => (value as { readonly delivery: string }).delivery),
        ["to-parent", "to-parent", "to-parent", "held", "held", "held"]
      )
      yield* Sub.say(agent, "what is going on?")
      assert.strictEqual((yield* Sub.heard(root)).filter((text) => text.includes("pong")).length, 6)
      yield* send(agent, agentId, "ping again")
      yield* Sub.settle
      assert.deepStrictEqual((yield* Sub.turns()).slice(opened.length), ["user", "agent"])
    }).pipe(
      Effect.provide(
        Sub.layer({
          script: pingPong,
          subagents: { maxMessageWakes: 3 },
          delivery: { completionDelivery: "quiet" }
        })
      )
    )
  )
})

const pingPong = {
  rules: [
    {
      on: "agent" as const,
      match: "ping",
      repeat: true,
      steps: [{ calls: [{ tool: "send_message", input: { agent_id: root, message: "pong" } }] }, { text: "Answered." }]
    }
  ],
  otherwise: [{ text: "I see." }]
}

describe("an interrupt", () => {
  it.scoped("ends the job and keeps the child, and what it has not read is taken back", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "dig")
      yield* TestClock.adjust("5 minutes")
      yield* send(agent, child.agentId, "hold on")
      assert.strictEqual(yield* interrupt(agent, child.agentId), "interrupt-requested")
      yield* Sub.settle
      const ended = yield* Sub.get(child.jobId)
      assert.deepStrictEqual([ended.status, ended.reason], ["killed", "interrupted by its parent"])
      assert.deepStrictEqual(yield* Support.turnEnds(child.agentId), [
        { kind: "aborted", cause: "interrupted by its parent" }
      ])
      assert.deepStrictEqual(yield* Sub.told(), [["subagent-1"]])
      assert.strictEqual(yield* interrupt(agent, child.agentId), "not-running")
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(yield* Sub.turns(child.agentId), ["agent"])
      yield* send(agent, child.agentId, "go deeper")
      yield* TestClock.adjust("15 minutes")
      assert.strictEqual(yield* Sub.output("subagent-2"), "I dug deeper.")
    }).pipe(Effect.provide(layer))
  )

  it.scoped("right after the start leaves no turn behind", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const subagents = yield* Subagents
      const { agentId, jobId } = yield* subagents.delegate(agent, { description: "d", prompt: "dig" })
      yield* interrupt(agent, agentId)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* Sub.get(jobId)).status, "killed")
      const [row] = yield* subagents.below(root)
      assert.strictEqual(row?.status, "inactive")
      assert.isFalse(yield* Sub.isAlive(agentId))
    }).pipe(Effect.provide(layer))
  )

  it.scoped("leaves running what the child has started, whose end gives the child a job again", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "park")
      yield* TestClock.adjust("5 minutes")
      yield* interrupt(agent, child.agentId)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual((yield* Sub.get(child.jobId)).status, "killed")
      assert.strictEqual((yield* Sub.get("work-1", child.agentId)).status, "running")
      yield* TestClock.adjust("60 minutes")
      assert.strictEqual((yield* Sub.get("work-1", child.agentId)).status, "completed")
      assert.deepStrictEqual(yield* Sub.turns(child.agentId), ["agent", "job-notice"])
      assert.strictEqual((yield* Sub.get("subagent-2")).status, "completed")
      assert.strictEqual(yield* Sub.output("subagent-2"), "I see.")
      assert.isFalse(yield* Sub.isAlive(child.agentId))
    }).pipe(Effect.provide(layer))
  )

  it.scoped("reaches an agent deeper down, whose parent is told", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "nest")
      yield* TestClock.adjust("5 minutes")
      const [grandchild] = yield* Sub.childIds(child.agentId)
      assert.strictEqual(yield* interrupt(agent, grandchild!), "interrupt-requested")
      yield* TestClock.adjust("5 minutes")
      const ended = yield* Sub.get("subagent-1", child.agentId)
      assert.deepStrictEqual([ended.status, ended.reason], ["killed", `interrupted by agent ${root}`])
      assert.deepStrictEqual(yield* Sub.told(child.agentId), [["subagent-1"]])
      assert.strictEqual((yield* Sub.get(child.jobId)).status, "completed")
    }).pipe(Effect.provide(layer))
  )
})

describe("agents that are not one's own", () => {
  it.scoped("are told from ids that never were by nothing", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const subagents = yield* Subagents
      const one = yield* Sub.delegate(agent, "hold on")
      const other = yield* Sub.delegate(agent, "nest")
      yield* TestClock.adjust("1 minute")
      const [nephew] = yield* Sub.childIds(other.agentId)
      const stranger = yield* Effect.flatMap(Agents, (agents) => agents.create({ id: "stranger" as SessionId }))
      const fork = yield* Effect.flatMap(SessionLog, (log) => log.fork(root))
      const answers = (agent: typeof one.agent, id: string) =>
        Effect.forEach(["send_message", "interrupt_agent"], (name) =>
          Effect.map(
            Sub.call(agent, name, { agent_id: id, ...(name === "send_message" ? { message: "hi" } : {}) }),
            ({ error }) => [error?.code, error?.message.replaceAll(id, "ID")]
          )
        )
      const unknown = yield* answers(one.agent, "nobody")
      assert.deepStrictEqual(
        unknown.map(([code]) => code),
        ["agent_not_found", "agent_not_found"]
      )
      for (const id of [other.agentId, nephew!, stranger.id, fork.id, one.agentId, "../x", "constructor"]) {
        assert.deepStrictEqual(yield* answers(one.agent, id), unknown)
      }
      assert.deepStrictEqual(yield* answers(stranger, one.agentId), unknown)
      // A parent can be spoken to, and not be interrupted; who is deeper than a child only the other way round.
      assert.deepStrictEqual((yield* answers(one.agent, root))[1], unknown[1])
      assert.deepStrictEqual((yield* answers(agent, nephew!))[0], unknown[0])
      assert.deepStrictEqual(yield* subagents.below(one.agentId), [])
      assert.deepStrictEqual(yield* subagents.below(fork.id), [])
      assert.deepStrictEqual(
        flatten(yield* subagents.below(root)).map(({ depth, id }) => [id, depth]),
        [
          [one.agentId, 1],
          [other.agentId, 1],
          [nephew!, 2]
        ]
      )
      const jobs = yield* Jobs
      assert.strictEqual((yield* Effect.flip(jobs.get("subagent-1", one.agentId)))._tag, "JobNotFound")
    }).pipe(Effect.provide(layer))
  )
})
