/**
 * What an agent tells a tracer and a meter: turns, requests to models and calls of tools, in the names of OpenTelemetry's conventions for
 * generative AI. Whoever composes an exporter sees them; without one they cost next to nothing.
 *
 * | Span | Of | Attributes beside `gen_ai.operation.name` |
 * |---|---|---|
 * | `invoke_agent afterturn` | a turn | `gen_ai.agent.name`, `gen_ai.conversation.id`, `afterturn.turn` |
 * | `chat MODEL` | a request with its retries | `gen_ai.provider.name`, `gen_ai.request.model`, `gen_ai.usage.input_tokens`, `gen_ai.usage.output_tokens`, `gen_ai.response.finish_reasons` |
 * | `execute_tool NAME` | a call | `gen_ai.tool.name`, `gen_ai.tool.call.id`, `gen_ai.tool.type` |
 *
 * What failed has `error.type`: the code of the error. Words of people and models are in none of them, unless `CaptureContent` says so.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import type * as Tracer from "effect/Tracer"
import type { ModelAnswer } from "./internal/modelRequest.js"
import type { ModelError } from "./ModelError.js"
import type { Call, Outcome } from "./ToolPipeline.js"

/**
 * Whether spans hold what was said: arguments and results of tools, and answers of the model. Default: no.
 *
 * @since 0.1.0
 * @category references
 */
export class CaptureContent extends Context.Reference<CaptureContent>()("@afterturn/agent/CaptureContent", {
  defaultValue: () => false
}) {}

/**
 * Tokens of a request, by `gen_ai.token.type`.
 *
 * @since 0.1.0
 * @category metrics
 */
export const tokenUsage = Metric.histogram(
  "gen_ai.client.token.usage",
  MetricBoundaries.exponential({ start: 1, factor: 4, count: 14 }),
  "tokens of a request"
)

/**
 * How long a request took with its retries, in seconds.
 *
 * @since 0.1.0
 * @category metrics
 */
export const operationDuration = Metric.histogram(
  "gen_ai.client.operation.duration",
  MetricBoundaries.exponential({ start: 0.01, factor: 2, count: 14 }),
  "seconds that a request took"
)

/** No stack is captured: a span is made for each call of a tool. */
const cheap = { captureStackTrace: false } as const

const agentName = "afterturn"

/**
 * A turn as a span.
 *
 * @since 0.1.0
 * @category spans
 */
export const turnSpan = (sessionId: string, turn: number) =>
  Effect.withSpan(`invoke_agent ${agentName}`, {
    ...cheap,
    attributes: {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": agentName,
      "gen_ai.conversation.id": sessionId,
      "afterturn.turn": turn
    }
  })

/**
 * Requests to the model of a route as spans, and in the metrics.
 *
 * @since 0.1.0
 * @category spans
 */
export const chatSpan = (
  route: string
): ((request: Effect.Effect<ModelAnswer, ModelError>) => Effect.Effect<ModelAnswer, ModelError>) => {
  const at = route.indexOf(":")
  const names = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": route.slice(0, Math.max(at, 0)),
    "gen_ai.request.model": route.slice(at + 1)
  }
  const duration = labelled(operationDuration, names)
  const tokens = {
    input: labelled(tokenUsage, { ...names, "gen_ai.token.type": "input" }),
    output: labelled(tokenUsage, { ...names, "gen_ai.token.type": "output" })
  }
  const span = Effect.withSpan(`chat ${names["gen_ai.request.model"]}`, { ...cheap, kind: "client", attributes: names })
  return (request) =>
    Effect.gen(function* () {
      const began = yield* Clock.currentTimeMillis
      const answer = yield* Effect.tapError(request, failed)
      yield* Metric.update(duration, ((yield* Clock.currentTimeMillis) - began) / 1000)
      yield* measure(tokens, answer)
      return answer
    }).pipe(span)
}

const measure = (
  tokens: Readonly<Record<"input" | "output", typeof tokenUsage>>,
  { content, finishReason, usage }: ModelAnswer
) =>
  Effect.gen(function* () {
    yield* Effect.annotateCurrentSpan("gen_ai.response.finish_reasons", [finishReason])
    for (const [type, count] of [
      ["input", usage.inputTokens],
      ["output", usage.outputTokens]
    ] as const) {
      if (count === null) continue
      yield* Effect.annotateCurrentSpan(`gen_ai.usage.${type}_tokens`, count)
      yield* Metric.update(tokens[type], count)
    }
    yield* said("gen_ai.output.messages", [{ role: "assistant", parts: content }])
  })

const labelled = (metric: typeof tokenUsage, names: Readonly<Record<string, string>>) =>
  Metric.taggedWithLabels(
    metric,
    Object.entries(names).map(([key, value]) => MetricLabel.make(key, value))
  )

const failed = ({ code }: { readonly code: string }) => Effect.annotateCurrentSpan("error.type", code)

/**
 * A call of a tool as a span.
 *
 * @since 0.1.0
 * @category spans
 */
export const toolSpan = ({ callId, name }: Call, input: unknown, run: Effect.Effect<Outcome>): Effect.Effect<Outcome> =>
  said("gen_ai.tool.call.arguments", input).pipe(
    Effect.zipRight(discreetly(run)),
    Effect.tap((outcome) => (outcome.error === undefined ? Effect.void : failed(outcome.error))),
    Effect.tap(({ text }) => said("gen_ai.tool.call.result", text)),
    Effect.withSpan(`execute_tool ${name}`, {
      ...cheap,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": callId,
        "gen_ai.tool.type": "function"
      }
    })
  )

const said = (attribute: string, value: unknown): Effect.Effect<void> =>
  Effect.flatMap(CaptureContent, (captures) =>
    captures
      ? Effect.annotateCurrentSpan(attribute, typeof value === "string" ? value : JSON.stringify(value))
      : Effect.void
  )

/** The library's own span of a call holds the arguments, whether or not they may be shown. */
const discreetly = <A>(run: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.flatMap(CaptureContent, (captures) =>
    captures ? run : Effect.tracerWith((tracer) => Effect.withTracer(run, discreet(tracer)))
  )

const discreetTracers = new WeakMap<Tracer.Tracer, Tracer.Tracer>()

const discreet = (tracer: Tracer.Tracer): Tracer.Tracer => {
  const known = discreetTracers.get(tracer)
  if (known !== undefined) return known
  const made: Tracer.Tracer = {
    ...tracer,
    span: (name, ...rest) => {
      const span = tracer.span(name, ...rest)
      if (name !== "Toolkit.handle") return span
      const attribute = span.attribute.bind(span)
      return Object.assign(span, {
        attribute: (key: string, value: unknown) => (key === "parameters" ? undefined : attribute(key, value))
      })
    }
  }
  discreetTracers.set(tracer, made)
  return made
}
