import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { CaptureContent } from "@afterturn/agent/Telemetry"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as AiError from "@effect/ai/AiError"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Tracer from "effect/Tracer"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

const toolkit = Toolkit.make(
  Tool.make("greet", { description: "greets", parameters: { who: Schema.String }, success: Schema.String }),
  Tool.make("refuse", {
    description: "refuses",
    failure: Schema.Struct({ code: Schema.String, message: Schema.String })
  })
)

const tools = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
  Layer.provide(
    toolkit.toLayer({
      greet: ({ who }) => Effect.succeed(`hello ${who}`),
      refuse: () => Effect.fail({ code: "not_today", message: "no" })
    })
  )
)

interface Ended {
  readonly name: string
  readonly parent: string | undefined
  readonly attributes: Record<string, unknown>
}

/** A tracer that keeps what ended, innermost first. */
const recorder = () => {
  const ended: Array<Ended> = []
  const tracer = Tracer.make({
    context: (f) => f(),
    span: (name, parent, context, links, startTime, kind) => {
      const attributes = new Map<string, unknown>()
      return {
        _tag: "Span",
        name,
        spanId: `${name}-${Math.random()}`,
        traceId: "t",
        parent,
        context,
        links,
        kind,
        sampled: true,
        status: { _tag: "Started", startTime },
        attributes,
        attribute: (key, value) => void attributes.set(key, value),
        event: () => {},
        addLinks: () => {},
        end: () => {
          const above = Option.getOrUndefined(parent)
          ended.push({
            name,
            parent: above?._tag === "Span" ? above.name : undefined,
            attributes: Object.fromEntries(attributes)
          })
        }
      }
    }
  })
  return { ended, tracer }
}

/** The spans of a turn in which the model gives these answers. */
const spansOf = (replies: ReadonlyArray<FakeModel.Reply>, captures = false) =>
  Effect.gen(function* () {
    const { ended, tracer } = recorder()
    const runtime = tools.pipe(
      Layer.provideMerge(Support.layer(FakeModel.replies(...replies).layer)),
      Layer.provideMerge(Layer.merge(Layer.setTracer(tracer), Layer.succeed(CaptureContent, captures)))
    )
    yield* Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      yield* agent.followup(AgentMessage.user("greet Ada"))
      yield* agent.whenIdle
    }).pipe(Effect.scoped, Effect.provide(runtime), Effect.exit, Effect.map(Exit.getOrElse(() => assert.fail())))
    return ended
  })

const calls: FakeModel.Reply = {
  text: "One moment.",
  calls: [
    { id: "c1", name: "greet", input: { who: "Ada" } },
    { id: "c2", name: "refuse", input: {} }
  ]
}

const chat = {
  "gen_ai.operation.name": "chat",
  "gen_ai.provider.name": "fake",
  "gen_ai.request.model": "model",
  "gen_ai.usage.input_tokens": 10,
  "gen_ai.usage.output_tokens": 5
}

const tool = (name: string, callId: string) => ({
  "gen_ai.operation.name": "execute_tool",
  "gen_ai.tool.name": name,
  "gen_ai.tool.call.id": callId,
  "gen_ai.tool.type": "function"
})

describe("the spans of a turn", () => {
  it.effect(
    "are its requests and calls, under it, with what they cost and how they failed, and no word that was said",
    () =>
      Effect.gen(function* () {
        const spans = yield* spansOf([calls])
        const of = (name: string) => spans.filter((span) => span.name === name)
        const parent = "invoke_agent afterturn"
        assert.deepStrictEqual(of("chat model"), [
          { name: "chat model", parent, attributes: { ...chat, "gen_ai.response.finish_reasons": ["tool-calls"] } },
          { name: "chat model", parent, attributes: { ...chat, "gen_ai.response.finish_reasons": ["stop"] } }
        ])
        assert.deepStrictEqual(of("execute_tool greet"), [
          { name: "execute_tool greet", parent, attributes: tool("greet", "c1") }
        ])
        assert.deepStrictEqual(of("execute_tool refuse"), [
          { name: "execute_tool refuse", parent, attributes: { ...tool("refuse", "c2"), "error.type": "not_today" } }
        ])
        assert.deepInclude(of(parent)[0]?.attributes, { "gen_ai.conversation.id": "s1", "afterturn.turn": 1 })
        assert.notInclude(JSON.stringify(spans), "Ada")
      })
  )

  it.effect("hold what was said where that is asked for", () =>
    Effect.gen(function* () {
      const spans = yield* spansOf([calls], true)
      const greeting = spans.find(({ name }) => name === "execute_tool greet")?.attributes
      assert.deepInclude(greeting, {
        "gen_ai.tool.call.arguments": '{"who":"Ada"}',
        "gen_ai.tool.call.result": "hello Ada"
      })
      assert.include(JSON.stringify(spans.filter(({ name }) => name === "chat model")), "One moment.")
    })
  )

  it.effect("name the code of a request that failed", () =>
    Effect.gen(function* () {
      const fail = new AiError.MalformedInput({ module: "fake", method: "streamText", description: "too odd" })
      const spans = yield* spansOf([{ fail }])
      const [request] = spans.filter(({ name }) => name === "chat model")
      assert.match(String(request?.attributes["error.type"]), /^provider_/)
      assert.notProperty(request?.attributes, "gen_ai.usage.input_tokens")
    })
  )
})
