import type * as AiError from "@effect/ai/AiError"
import type * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import * as Tool from "@effect/ai/Tool"
import type * as Toolkit from "@effect/ai/Toolkit"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as EffectSchedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { AgentOptions } from "../AgentConfig.js"
import type { AssistantBlock, Usage } from "../AgentEvents.js"
import { fromAiError, fromStreamError, ModelError } from "../ModelError.js"
import { parametersOf } from "../ToolCatalog.js"
import type { RegisteredTool } from "../ToolRegistry.js"
import { toJson } from "./json.js"

/**
 * A model's whole answer.
 */
export interface ModelAnswer {
  readonly content: ReadonlyArray<AssistantBlock>
  readonly finishReason: string
  readonly usage: Usage
}

/**
 * What a request tells while it runs.
 */
export interface Spectator {
  readonly delta: (kind: "Text" | "Reasoning", delta: string) => Effect.Effect<void>
  readonly retry: (error: ModelError) => Effect.Effect<void>
}

/**
 * One model request, made again after transient failures.
 */
export const requestAnswer = (
  model: LanguageModel.Service,
  request: { readonly prompt: Prompt.Prompt; readonly tools: ReadonlyArray<RegisteredTool> },
  config: AgentOptions,
  spectator: Spectator
): Effect.Effect<ModelAnswer, ModelError> =>
  requestOnce(model, { prompt: request.prompt, toolkit: wireToolkit(request.tools) }, config, spectator).pipe(
    Effect.tapError((error) => (error.transient ? spectator.retry(error) : Effect.void)),
    Effect.retry(retryPolicy(config))
  )

/** No provider may hold a turn for longer than this by asking for a wait. */
const longestRetryAfter = Duration.hours(1)

const retryPolicy = (config: AgentOptions) =>
  EffectSchedule.exponential(config.retryDelay).pipe(
    EffectSchedule.jittered,
    EffectSchedule.intersect(EffectSchedule.recurs(config.maxRetries)),
    EffectSchedule.intersect(EffectSchedule.identity<ModelError>()),
    EffectSchedule.whileInput(isWorthRetrying),
    EffectSchedule.modifyDelay(([, error], delay) =>
      Duration.max(Duration.min(delay, config.maxRetryDelay), error.retryAfter ?? Duration.zero)
    )
  )

const isWorthRetrying = (error: ModelError): boolean =>
  error.transient && (error.retryAfter === undefined || Duration.lessThanOrEqualTo(error.retryAfter, longestRetryAfter))

const requestOnce = (
  model: LanguageModel.Service,
  options: { readonly prompt: Prompt.Prompt; readonly toolkit: WireToolkit },
  config: AgentOptions,
  spectator: Spectator
): Effect.Effect<ModelAnswer, ModelError> =>
  Effect.suspend(() => {
    const answer = new AnswerBuilder()
    const parts = model.streamText({ ...options, disableToolCallResolution: true })
    return unlessSilent(config.modelSilence, (heard) =>
      Stream.runForEach(parts, (part) => {
        heard()
        return answer.add(part, spectator)
      })
    ).pipe(
      Effect.matchEffect({
        onSuccess: () => answer.finish(),
        onFailure: (error) => {
          if (error instanceof ModelError) return Effect.fail(error)
          const salvaged = error._tag === "MalformedOutput" ? answer.salvage(error) : undefined
          return salvaged === undefined ? Effect.fail(fromAiError(error)) : Effect.succeed(salvaged)
        }
      })
    )
  })

/**
 * Ends work that has heard nothing for so long. One fiber watches over all of it, by the time that passes: a clock that is set makes
 * nobody silent.
 */
const unlessSilent = <A, E>(
  silence: Duration.Duration,
  work: (heard: () => void) => Effect.Effect<A, E>
): Effect.Effect<A, E | ModelError> =>
  Effect.clockWith((clock) => {
    const passed = () => Number(clock.unsafeCurrentTimeNanos()) / 1e6
    let last = passed()
    const watch: Effect.Effect<never, ModelError> = Effect.suspend(() => {
      const left = last + Duration.toMillis(silence) - passed()
      return left <= 0 ? Effect.fail(silentFor(silence)) : Effect.zipRight(Effect.sleep(left), watch)
    })
    return Effect.raceFirst(
      work(() => {
        last = passed()
      }),
      watch
    )
  })

const silentFor = (silence: Duration.Duration): ModelError =>
  new ModelError({
    code: "provider_timeout",
    transient: true,
    message: `the provider sent nothing for ${Duration.format(silence)}`
  })

type WireToolkit = Toolkit.WithHandler<Record<string, Tool.Any>>
type AnyStreamPart = Response.StreamPart<Record<string, Tool.Any>>

/**
 * The tools as the provider gets them. Their parameters accept anything here, under the JSON Schema of the real ones: what a model
 * gets wrong is answered by the tool pipeline, where `@effect/ai` would fail the whole answer.
 */
const wireToolkit = (tools: ReadonlyArray<RegisteredTool>): WireToolkit => ({
  tools: Object.fromEntries(tools.map(({ tool }) => [tool.name, wireTool(tool)])),
  handle: () => Effect.dieMessage("the wire toolkit only describes tools; calls are resolved by the tool pipeline")
})

const wireTools = new WeakMap<Tool.Any, Tool.Any>()

const wireTool = (tool: Tool.Any): Tool.Any => {
  const known = wireTools.get(tool)
  if (known !== undefined) return known
  const made = Tool.isProviderDefined(tool) ? tool : looseTool(tool)
  wireTools.set(tool, made)
  return made
}

const looseTool = (tool: Tool.Any): Tool.Any =>
  Tool.make(tool.name, tool.description === undefined ? {} : { description: tool.description })
    .setParameters(
      // A provider reads nothing of a parameters schema but its AST, so a schema that is no struct serves.
      Schema.Unknown.annotations({ jsonSchema: parametersOf(tool) }) as never
    )
    .annotateContext(tool.annotations)

/**
 * Puts an answer together from the parts of a stream.
 */
class AnswerBuilder {
  private readonly blocks: Array<AssistantBlock> = []
  private readonly texts = new Map<string, { readonly at: number; text: string; options: Record<string, unknown> }>()
  private readonly rawCalls = new Map<string, { readonly name: string; text: string }>()
  private finished: { readonly reason: string; readonly usage: Usage } | undefined

  add(part: AnyStreamPart, spectator: Spectator): Effect.Effect<void, ModelError> {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.begin(part)
        return Effect.void
      case "text-delta":
        this.extend(part, part.delta)
        return spectator.delta("Text", part.delta)
      case "reasoning-delta":
        this.extend(part, part.delta)
        return spectator.delta("Reasoning", part.delta)
      case "text-end":
      case "reasoning-end":
        this.extend(part, "")
        return Effect.void
      case "tool-params-start":
        this.rawCalls.set(part.id, { name: part.name, text: "" })
        return Effect.void
      case "tool-params-delta": {
        const raw = this.rawCalls.get(part.id)
        if (raw !== undefined) raw.text += part.delta
        return Effect.void
      }
      case "tool-call":
        this.rawCalls.delete(part.id)
        if (!part.providerExecuted) this.call(part.id, part.name, part.params, part.metadata)
        return Effect.void
      case "finish":
        this.finished = { reason: part.reason, usage: usageOf(part.usage) }
        return Effect.void
      case "error":
        return Effect.fail(fromStreamError(part.error))
      default:
        return Effect.void
    }
  }

  /** The answer, when the stream ended as it should. */
  finish(): Effect.Effect<ModelAnswer, ModelError> {
    return this.finished === undefined
      ? Effect.fail(
          new ModelError({
            code: "provider_stream_cut",
            transient: true,
            message: "the provider's stream ended before the answer was complete"
          })
        )
      : Effect.succeed(this.answer(this.finished.reason, this.finished.usage))
  }

  /**
   * The answer of a stream that `@effect/ai` refused for a call that the model got wrong: a tool that does not exist, or arguments
   * that are no JSON. The call is kept as it was received, to be answered by the tool pipeline. `undefined`: it was something else.
   */
  salvage(error: AiError.MalformedOutput): ModelAnswer | undefined {
    for (const call of refusedCalls(error)) {
      this.rawCalls.delete(call.id)
      this.call(call.id, call.name, call.params, {})
    }
    for (const [id, raw] of this.rawCalls) this.call(id, raw.name, raw.text, {})
    const hasCalls = this.blocks.some((block) => block.type === "tool-call")
    return hasCalls
      ? this.answer("tool-calls", this.finished?.usage ?? { inputTokens: null, outputTokens: null })
      : undefined
  }

  private begin(part: { readonly type: string; readonly id: string; readonly metadata: object }): void {
    const kind = part.type === "text-start" ? "text" : "reasoning"
    this.texts.set(`${kind}:${part.id}`, { at: this.blocks.length, text: "", options: { ...part.metadata } })
    this.blocks.push(kind === "text" ? { type: "text", text: "" } : { type: "reasoning", text: "" })
  }

  private extend(part: { readonly type: string; readonly id: string; readonly metadata: object }, delta: string): void {
    const kind = part.type.startsWith("text") ? "text" : "reasoning"
    if (!this.texts.has(`${kind}:${part.id}`)) this.begin({ ...part, type: `${kind}-start` })
    const open = this.texts.get(`${kind}:${part.id}`)
    if (open === undefined) return
    open.text += delta
    Object.assign(open.options, part.metadata)
    this.blocks[open.at] =
      kind === "text"
        ? { type: "text", text: open.text }
        : { type: "reasoning", text: open.text, ...optionsOf(open.options) }
  }

  private call(id: string, name: string, params: unknown, metadata: object): void {
    const taken = new Set(this.blocks.flatMap((block) => (block.type === "tool-call" ? [block.callId] : [])))
    this.blocks.push({
      type: "tool-call",
      callId: freeId(id === "" ? "call" : id, taken),
      name,
      input: toJson(params ?? {}),
      ...optionsOf({ ...metadata })
    })
  }

  private answer(finishReason: string, usage: Usage): ModelAnswer {
    const content = this.blocks.filter((block) => block.type === "tool-call" || block.text !== "" || "options" in block)
    return { content, finishReason, usage }
  }
}

const freeId = (id: string, taken: ReadonlySet<string>): string => {
  let free = id
  for (let n = 2; taken.has(free); n++) free = `${id}-${n}`
  return free
}

const optionsOf = (metadata: Record<string, unknown>): { readonly options?: Record<string, unknown> } =>
  Object.keys(metadata).length === 0 ? {} : { options: toJson(metadata) as Record<string, unknown> }

const usageOf = (usage: typeof Response.Usage.Type): Usage => ({
  inputTokens: usage.inputTokens ?? null,
  outputTokens: usage.outputTokens ?? null,
  ...(usage.totalTokens === undefined ? {} : { totalTokens: usage.totalTokens }),
  ...(usage.reasoningTokens === undefined ? {} : { reasoningTokens: usage.reasoningTokens }),
  ...(usage.cachedInputTokens === undefined ? {} : { cachedInputTokens: usage.cachedInputTokens })
})

interface RefusedCall {
  readonly type: "tool-call"
  readonly id: string
  readonly name: string
  readonly params: unknown
}

/** The call parts among what a response schema could not decode: the error carries the parts as the provider sent them. */
const refusedCalls = (error: AiError.MalformedOutput): ReadonlyArray<RefusedCall> => {
  if (!ParseResult.isParseError(error.cause)) return []
  const actual = error.cause.issue.actual
  const parts: ReadonlyArray<unknown> = Predicate.isIterable(actual) ? [...actual] : [actual]
  return parts.filter(isCallPart)
}

const isCallPart = (part: unknown): part is RefusedCall =>
  Predicate.hasProperty(part, "type") &&
  part.type === "tool-call" &&
  Predicate.hasProperty(part, "id") &&
  typeof part.id === "string" &&
  Predicate.hasProperty(part, "name") &&
  typeof part.name === "string" &&
  Predicate.hasProperty(part, "params")
