import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as Sub from "./support/subagents.js"

const { root } = Sub

const script = {
  rules: [
    Sub.task("dig", Sub.works(10), { text: "I dug." }),
    Sub.task("nest", { calls: [Sub.delegates("dig")] }, { text: "Nested." })
  ],
  otherwise: [{ text: "I see." }]
}

const layer = Sub.layer({ script })

const field = (value: unknown, name: string) => String((value as Readonly<Record<string, unknown>>)[name])

describe("the tools", () => {
  it.scoped("answer with ids, list who is at work, and end it", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      assert.strictEqual((yield* Sub.call(agent, "list_agents", {})).text, "no subagents")
      const started = yield* Sub.call(agent, "subagent", { description: "Dig", prompt: "dig" })
      const id = field(started.value, "agent_id")
      assert.deepStrictEqual(started.value, { agent_id: id, job_id: "subagent-1", status: "running" })
      assert.include(started.text, `agent ${id} works as job subagent-1`)
      yield* TestClock.adjust("1 minute")
      const listed = yield* Sub.call(agent, "list_agents", {})
      assert.match(listed.text, new RegExp(`^${id} "Dig" running, job subagent-1 \\[status: running\\], \\d+ tokens$`))
      const sent = yield* Sub.call(agent, "send_message", { agent_id: id, message: "faster" })
      assert.deepStrictEqual(sent.value, { agent_id: id, delivery: "steered", job_id: "subagent-1" })
      const stopped = yield* Sub.call(agent, "interrupt_agent", { agent_id: id })
      assert.deepStrictEqual(stopped.value, { agent_id: id, answer: "interrupt-requested" })
      yield* Sub.settle
      assert.include((yield* Sub.call(agent, "interrupt_agent", { agent_id: id })).text, "there was nothing to stop")
      assert.include((yield* Sub.call(agent, "list_agents", {})).text, '"Dig" inactive, job subagent-1 [status: killed')
    }).pipe(Effect.provide(layer))
  )

  it.scoped("list the whole tree when asked to", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      yield* Sub.call(agent, "subagent", { description: "Nest", prompt: "nest" })
      yield* TestClock.adjust("1 minute")
      const [child] = yield* Sub.childIds()
      const list = yield* Sub.call(agent, "list_agents", { scope: "descendants" })
      assert.strictEqual(list.text.split("\n").length, 2)
      assert.include(list.text, `depth 2, started by ${child}`)
      assert.strictEqual((yield* Sub.call(agent, "list_agents", { scope: "children" })).text.split("\n").length, 1)
      assert.strictEqual((yield* Sub.call(agent, "list_agents", { scope: "all" })).error?.code, "invalid_arguments")
    }).pipe(Effect.provide(layer))
  )

  it.scoped("refuse what nobody owns and what says nothing, with a code", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const refuse = (name: string, input: unknown, who: typeof agent | undefined = agent) =>
        Effect.map(Sub.call(who, name, input), ({ error }) => error?.code)
      for (const [name, input] of [
        ["subagent", { description: "d", prompt: "p" }],
        ["list_agents", {}],
        ["send_message", { agent_id: "a", message: "m" }],
        ["interrupt_agent", { agent_id: "a" }]
      ] as const) {
        const outcome = yield* Sub.call(undefined, name, input)
        assert.strictEqual(outcome.error?.code, "no_owning_session")
      }
      assert.strictEqual(yield* refuse("subagent", { description: "d", prompt: " " }), "invalid_task")
      assert.strictEqual(yield* refuse("send_message", { agent_id: "x", message: "" }), "invalid_task")
      assert.strictEqual(yield* refuse("send_message", { agent_id: "x", message: "m" }), "agent_not_found")
      assert.deepStrictEqual(yield* Support.types(root), [])
    }).pipe(Effect.provide(layer))
  )

  it.scoped("tell a child what it is, and who its parent is", () =>
    Effect.gen(function* () {
      const agent = yield* Sub.create()
      const child = yield* Sub.delegate(agent, "dig")
      const prompt = yield* SystemPrompt
      assert.notInclude(yield* prompt.render(agent), "You are a subagent")
      assert.include(yield* prompt.render(child.agent), `You are a subagent: agent ${root}, your parent`)
    }).pipe(Effect.provide(layer))
  )
})
