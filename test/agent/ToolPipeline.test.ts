import { CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type * as Prompt from "@effect/ai/Prompt"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

class NotAllowed extends Schema.TaggedError<NotAllowed>("test/NotAllowed")("NotAllowed", {
  code: Schema.Literal("not_allowed"),
  message: Schema.String
}) {}

const addends = { a: Schema.Int, b: Schema.optionalWith(Schema.Int, { exact: true }) }

const toolkit = Toolkit.make(
  Tool.make("add", {
    description: "adds two integers",
    parameters: addends,
    success: Schema.Struct({ sum: Schema.Int })
  }).annotate(ToolRegistry.ToolText, (value: { readonly sum: number }) => `the sum is ${value.sum}`),
  Tool.make("whoami", { description: "names the agent", success: Schema.String }),
  Tool.make("refuse", { description: "always refuses", failure: NotAllowed }),
  Tool.make("crash", { description: "dies" }),
  Tool.make("suicide", { description: "interrupts itself" }),
  Tool.make("flood", { description: "answers at length", success: Schema.String }),
  Tool.make("slow", { description: "ends after fast", success: Schema.String }),
  Tool.make("fast", { description: "ends before slow", success: Schema.String })
)

const tools = Layer.unwrapEffect(
  Effect.map(Deferred.make<void>(), (fastIsDone) =>
    ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
      Layer.provide(
        toolkit.toLayer({
          add: ({ a, b }) => Effect.succeed({ sum: a + (b ?? 0) }),
          whoami: () =>
            Effect.map(
              Effect.serviceOption(CurrentAgent),
              Option.match({ onNone: () => "nobody", onSome: ({ id }) => id })
            ),
          refuse: () => new NotAllowed({ code: "not_allowed", message: "not today" }),
          crash: () => Effect.die(new Error("secret detail")),
          suicide: () => Effect.interrupt,
          flood: () => Effect.succeed(`${"ä".repeat(400)}end`),
          slow: () => Effect.as(Deferred.await(fastIsDone), "slow"),
          fast: () => Effect.as(Deferred.succeed(fastIsDone, undefined), "fast")
        })
      )
    )
  )
)

type Call = { readonly name: string; readonly input: unknown }

/** One turn in which the model makes these calls: their results in the log, and the prompt of the request that follows. */
const answersTo = (...calls: ReadonlyArray<Call>) => {
  const model = FakeModel.replies({ calls }, { text: "ok" })
  return Effect.gen(function* () {
    const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
    yield* agent.followup(AgentMessage.user("go"))
    yield* agent.whenIdle
    return {
      results: yield* Support.dataOf(id, AgentEvents.ToolResult),
      called: yield* Support.dataOf(id, AgentEvents.ToolCall),
      ends: yield* Support.turnEnds(id),
      answers: (model.prompts[1] ?? []).flatMap(
        (message): ReadonlyArray<Prompt.ToolResultPart> => (message.role === "tool" ? message.content : [])
      )
    }
  }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools, Support.layer(model.layer, { maxResultBytes: 300 }))))
}

describe("a call", () => {
  it.effect("runs with its decoded input and is answered with value and text", () =>
    Effect.gen(function* () {
      const { answers, called, ends, results } = yield* answersTo({ name: "add", input: { a: 2, b: 3 } })
      assert.deepStrictEqual(called[0], { callId: "call-0-0", turn: 1, step: 1, name: "add", input: { a: 2, b: 3 } })
      assert.deepStrictEqual(results[0], {
        callId: "call-0-0",
        name: "add",
        ok: true,
        value: { sum: 5 },
        text: "the sum is 5"
      })
      assert.strictEqual(answers[0]?.result, "the sum is 5")
      assert.deepStrictEqual(ends, [{ kind: "completed" }])
    })
  )

  it.effect("knows the agent that makes it", () =>
    Effect.gen(function* () {
      const { results } = yield* answersTo({ name: "whoami", input: {} })
      assert.strictEqual(results[0]?.value, "s1")
    })
  )

  it.effect("reads harmless forms, says so, and logs what the handler got", () =>
    Effect.gen(function* () {
      const { called, results } = yield* answersTo(
        { name: "add", input: { a: "2", b: null } },
        { name: "add", input: '{"a":40,"b":2}' },
        { name: "whoami", input: undefined }
      )
      assert.deepStrictEqual(
        called.map((call) => call.input),
        [{ a: 2 }, { a: 40, b: 2 }, {}]
      )
      assert.deepStrictEqual(
        results.map((result) => result.ok),
        [true, true, true]
      )
      assert.match(results[1]?.text ?? "", /^the sum is 42\n\(.*JSON/)
    })
  )

  it.effect("that is wrong is answered with the path and what was expected, and logged as received", () =>
    Effect.gen(function* () {
      const { called, results } = yield* answersTo(
        { name: "add", input: { a: "two" } },
        { name: "add", input: { a: 1, c: 1 } },
        { name: "add", input: "{a: 1}" }
      )
      assert.deepStrictEqual(
        results.map((result) => result.error?.code),
        ["invalid_arguments", "invalid_arguments", "invalid_arguments"]
      )
      assert.include(results[0]?.text, "a")
      assert.include(results[1]?.text, "c")
      assert.deepStrictEqual(
        called.map((call) => call.input),
        [{ a: "two" }, { a: 1, c: 1 }, "{a: 1}"]
      )
    })
  )

  it.effect("of a tool that does not exist is answered with those that do", () =>
    Effect.gen(function* () {
      const { answers, ends, results } = yield* answersTo({ name: "rm", input: { path: "/" } })
      assert.strictEqual(results[0]?.error?.code, "unknown_tool")
      assert.include(results[0]?.text, "add, whoami")
      assert.strictEqual(answers.length, 1)
      assert.deepStrictEqual(ends, [{ kind: "completed" }])
    })
  )

  it.effect("that is refused by its handler gives the handler's code and message", () =>
    Effect.gen(function* () {
      const { answers, results } = yield* answersTo({ name: "refuse", input: {} })
      assert.deepStrictEqual(results[0]?.error, { code: "not_allowed", message: "not today" })
      assert.strictEqual(answers[0]?.isFailure, true)
    })
  )

  it.effect("whose handler dies or interrupts itself is answered without the details, and the turn goes on", () =>
    Effect.gen(function* () {
      const { ends, results } = yield* answersTo({ name: "crash", input: {} }, { name: "suicide", input: {} })
      assert.deepStrictEqual(
        results.map((result) => result.error?.code),
        ["internal_error", "internal_error"]
      )
      assert.include(results[0]?.text, "call-0-0")
      assert.notInclude(JSON.stringify(results), "secret detail")
      assert.deepStrictEqual(ends, [{ kind: "completed" }])
    })
  )

  it.effect("that answers at length is cut for the model and kept whole in the log", () =>
    Effect.gen(function* () {
      const { answers, results } = yield* answersTo({ name: "flood", input: {} })
      const text = results[0]?.text ?? ""
      assert.strictEqual(results[0]?.truncated, true)
      assert.isAtMost(new TextEncoder().encode(text).length, 300)
      assert.match(text, /^ä+\n\[… \d+ bytes left out.*…\]\nä*end$/s)
      assert.strictEqual(answers[0]?.result, text)
      assert.strictEqual(results[0]?.value, `${"ä".repeat(400)}end`)
    })
  )
})

describe("the calls of one step", () => {
  it.effect("run at the same time, are stored as they end, and are answered in the order of the calls", () =>
    Effect.gen(function* () {
      const { answers, results } = yield* answersTo({ name: "slow", input: {} }, { name: "fast", input: {} })
      assert.deepStrictEqual(
        results.map((result) => result.name),
        ["fast", "slow"]
      )
      assert.deepStrictEqual(
        answers.map((answer) => answer.name),
        ["slow", "fast"]
      )
    })
  )
})

describe("what a provider streams", () => {
  const streamed = (...parts: ReadonlyArray<Parameters<typeof Array.of>[0]>) =>
    Effect.gen(function* () {
      const model = FakeModel.replies({ parts: parts as never }, { text: "ok" })
      return yield* Effect.gen(function* () {
        const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
        yield* agent.followup(AgentMessage.user("go"))
        yield* agent.whenIdle
        return {
          results: yield* Support.dataOf(id, AgentEvents.ToolResult),
          answers: yield* Support.dataOf(id, AgentEvents.AssistantMessage),
          ends: yield* Support.turnEnds(id)
        }
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools, Support.layer(model.layer))))
    })

  const call = (callId: string, name: string, params: unknown) => ({ type: "tool-call", id: callId, name, params })

  it.effect("may use one call id twice: each call gets an id and an answer of its own", () =>
    Effect.gen(function* () {
      const { results } = yield* streamed(
        call("x", "add", { a: 1 }),
        call("x", "add", { a: 2 }),
        FakeModel.finish("tool-calls")
      )
      assert.deepStrictEqual(
        results.map((result) => [result.callId, result.text]),
        [
          ["x", "the sum is 1"],
          ["x-2", "the sum is 2"]
        ]
      )
    })
  )

  it.effect("keeps an unknown tool's call with its arguments", () =>
    Effect.gen(function* () {
      const { answers, results } = yield* streamed(
        { type: "tool-params-start", id: "u", name: "rm", providerExecuted: false },
        { type: "tool-params-delta", id: "u", delta: '{"path":"/"}' },
        { type: "tool-params-end", id: "u" },
        call("u", "rm", { path: "/" }),
        FakeModel.finish("tool-calls")
      )
      assert.strictEqual(results[0]?.error?.code, "unknown_tool")
      assert.deepInclude(answers[0]?.content[0], { type: "tool-call", name: "rm", input: { path: "/" } })
    })
  )

  it.effect("keeps reasoning with what the provider wants to see again", () =>
    Effect.gen(function* () {
      const { answers } = yield* streamed(
        { type: "reasoning-start", id: "r" },
        { type: "reasoning-delta", id: "r", delta: "think" },
        { type: "reasoning-end", id: "r", metadata: { anthropic: { signature: "s" } } },
        { type: "text-start", id: "r" },
        { type: "text-delta", id: "r", delta: "say" },
        { type: "text-end", id: "r" },
        FakeModel.finish("stop")
      )
      assert.deepStrictEqual(answers[0]?.content, [
        { type: "reasoning", text: "think", options: { anthropic: { signature: "s" } } },
        { type: "text", text: "say" }
      ])
    })
  )
})
