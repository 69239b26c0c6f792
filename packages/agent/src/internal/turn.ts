import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import * as Prompt from "@effect/ai/Prompt"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import type { Agent } from "../Agent.js"
import { CurrentAgent } from "../Agent.js"
import * as AgentEvents from "../AgentEvents.js"
import type { AgentModel } from "../AgentModel.js"
import type { Compaction } from "../Compaction.js"
import type { History } from "../History.js"
import type { ModelError } from "../ModelError.js"
import type { SystemPrompt } from "../SystemPrompt.js"
import * as Telemetry from "../Telemetry.js"
import * as ToolPipeline from "../ToolPipeline.js"
import type { RegisteredTool } from "../ToolRegistry.js"
import { toJson } from "./json.js"
import type { Live, Runtime } from "./live.js"
import { closeStep, commit } from "./live.js"
import { compactIfLong, compactNow, loadHistory } from "./longHistory.js"
import type { ModelAnswer, Spectator } from "./modelRequest.js"
import { requestAnswer } from "./modelRequest.js"

/**
 * Why a turn did not end by itself.
 */
export type TurnFailure = ModelError | AppendError | ReadError

/**
 * What a turn of a model needs beside what every agent does.
 */
export interface LoopRuntime extends Runtime {
  readonly systemPrompt: Context.Tag.Service<SystemPrompt>
  readonly model: Context.Tag.Service<AgentModel>
  /** Tells of a request to this model. */
  readonly chat: ReturnType<typeof Telemetry.chatSpan>
  readonly compaction: Context.Tag.Service<Compaction> | undefined
}

type LoopLive = Live<LoopRuntime>

interface TurnContext {
  readonly live: LoopLive
  readonly turn: number
  readonly agent: Agent
  readonly history: History
  /** Rendered at the turn's start, and again once the history was cut. */
  system: string
  readonly tools: ReadonlyArray<RegisteredTool>
  readonly toolsByName: ReadonlyMap<string, RegisteredTool>
}

/**
 * The steps of an opened turn, to its end.
 */
export const runTurn = (live: LoopLive, agent: Agent, turn: number): Effect.Effect<void, TurnFailure> =>
  Effect.flatMap(beginTurn(live, agent, turn), (context) =>
    Effect.provideService(runSteps(context), CurrentAgent, agent)
  ).pipe(Telemetry.turnSpan(agent.id, turn))

const runSteps = Effect.fnUntraced(function* (context: TurnContext) {
  let step = 1
  while ((yield* runStep(context, step)) === "continue") step++
})

/** A history that is too long is shortened before the prompt is rendered: what was known of it is stated there again. */
const beginTurn = Effect.fnUntraced(function* (live: LoopLive, agent: Agent, turn: number) {
  const { registry, systemPrompt } = live.runtime
  const history = live.history ?? (yield* loadHistory(live))
  yield* compactIfLong(live, agent, history)
  const tools = yield* registry.tools(agent)
  const context: TurnContext = {
    live,
    turn,
    agent,
    history,
    tools,
    toolsByName: new Map(tools.map((registered) => [registered.tool.name, registered])),
    system: yield* systemPrompt.render(agent)
  }
  return context
})

const runStep = Effect.fnUntraced(function* (context: TurnContext, step: number) {
  const { live, turn } = context
  yield* commit(live, [AgentEvents.StepStart.make({ turn, step })])
  const answer = yield* ask(context, step)
  yield* commit(live, [assistantMessage(context, step, answer)])
  const calls = answer.content.filter((block) => block.type === "tool-call")
  yield* Effect.forEach(calls, (call) => resolveCall(context, step, call), {
    concurrency: live.runtime.config.toolConcurrency,
    discard: true
  })
  return yield* closeStep(live, turn, step, calls.length > 0)
})

/** A conversation that the provider finds too long is cut, and asked about once more. */
const ask = (context: TurnContext, step: number): Effect.Effect<ModelAnswer, TurnFailure> =>
  Effect.catchIf(
    askOnce(context, step),
    (error) => error.code === "provider_context_overflow",
    (error) =>
      Effect.gen(function* () {
        const { agent, history, live, turn } = context
        const message = "the conversation is too long for the model; its older part is summarized"
        yield* PubSub.publish(live.output, { _tag: "Retry", turn, step, message })
        if (!(yield* compactNow(live, agent, history))) return yield* error
        context.system = yield* live.runtime.systemPrompt.render(agent)
        return yield* askOnce(context, step)
      })
  )

const askOnce = (
  { history, live, system, tools, turn }: TurnContext,
  step: number
): Effect.Effect<ModelAnswer, ModelError> => {
  const messages = history.toMessages()
  const prompt = Prompt.fromMessages(
    system === "" ? messages : [Prompt.systemMessage({ content: system }), ...messages]
  )
  const spectator: Spectator = {
    delta: (kind, delta) => PubSub.publish(live.output, { _tag: kind, turn, step, delta }),
    retry: (error) => PubSub.publish(live.output, { _tag: "Retry", turn, step, message: error.message })
  }
  const { chat, config, model } = live.runtime
  return chat(requestAnswer(model.model, { prompt, tools }, config, spectator))
}

const assistantMessage = ({ live, turn }: TurnContext, step: number, answer: ModelAnswer) =>
  AgentEvents.AssistantMessage.make({
    id: `answer-${turn}-${step}`,
    turn,
    step,
    route: live.runtime.model.route,
    content: answer.content,
    finishReason: answer.finishReason,
    usage: answer.usage
  })

/**
 * Runs one call between its two events. Once the handler has answered, the result is stored whatever comes: answered means stored.
 */
const resolveCall = (
  { live, toolsByName, turn }: TurnContext,
  step: number,
  call: ToolPipeline.Call
): Effect.Effect<void, AppendError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const prepared = ToolPipeline.prepare(toolsByName, call, live.runtime.config)
      const { callId, name } = call
      yield* commit(live, [AgentEvents.ToolCall.make({ callId, turn, step, name, input: toJson(prepared.input) })])
      const outcome = yield* restore(prepared.run)
      const value = "value" in outcome ? { value: toJson(outcome.value) } : {}
      yield* commit(live, [AgentEvents.ToolResult.make({ ...outcome, ...value })])
    })
  )
