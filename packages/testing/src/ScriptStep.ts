/**
 * The steps of a script: one response of the model each. An `Entry` is what a script file may hold; a `Behaviour` is whatever else
 * a provider may do, for tests of what an agent makes of it.
 *
 * @since 0.1.0
 */
import * as AiError from "@effect/ai/AiError"
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import type * as Tool from "@effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as Stream from "effect/Stream"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const maxInputDepth = 64

const isShallow = (value: unknown, depth: number): boolean => {
  if (typeof value !== "object" || value === null) return true
  return depth > 0 && Object.values(value).every((inner) => isShallow(inner, depth - 1))
}

/**
 * A call of a tool, with whatever input: the model's mistakes are scripted as well. Strings of `input`, at any depth, may hold
 * templates (`ScriptTemplate`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const Call = Schema.Struct({
  tool: Schema.NonEmptyString,
  input: Schema.Unknown.pipe(
    Schema.filter((input) => isShallow(input, maxInputDepth), {
      message: () => `expected an input nested at most ${maxInputDepth} deep`
    })
  )
})

/**
 * A request that fails: the provider answers an HTTP `status`, and asks to wait `retryAfter` seconds; without `status` it cannot
 * be reached. Whether another request is worth it is the agent's to tell, as with any provider.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Failure = Schema.Struct({
  status: optional(
    Schema.Int.pipe(Schema.between(400, 599, { message: () => "expected an HTTP status from 400 through 599" }))
  ),
  retryAfter: optional(Schema.Number.pipe(Schema.finite(), Schema.nonNegative())),
  message: optional(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Failure = typeof Failure.Type

/**
 * Text, calls of tools, or both; or a request that fails. `{ "text": "" }` says nothing.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Entry = Schema.Struct({
  text: optional(Schema.String),
  calls: optional(Schema.Array(Call).pipe(Schema.maxItems(100, { message: () => "expected at most 100 calls" }))),
  fail: optional(Failure)
}).pipe(
  Schema.filter((entry) => {
    const answers = entry.text !== undefined || entry.calls !== undefined
    if (answers && entry.fail !== undefined) return "expected either fail, or text and calls"
    return answers || entry.fail !== undefined || "expected text, calls or fail"
  })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type Entry = typeof Entry.Type

/**
 * A request as a step sees it, and the means to answer it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScriptRequest {
  readonly prompt: Prompt.Prompt
  readonly tools: ReadonlyArray<Tool.Any>
  /** The route of the model that is asked. */
  readonly route: string
  /** The id that an `Entry` would give to its first call, its second … */
  readonly callId: (index: number) => string
  /** The parts of a text, in deltas. */
  readonly text: (text: string) => ReadonlyArray<Response.StreamPartEncoded>
  /** The parts of a call; `params` is the text of its arguments. */
  readonly call: (call: {
    readonly id: string
    readonly tool: string
    readonly params: string
  }) => ReadonlyArray<Response.StreamPartEncoded>
  /** The last part of an answer that consists of these. */
  readonly finish: (parts: ReadonlyArray<Response.StreamPartEncoded>) => Response.StreamPartEncoded
  /** Parts as they arrive: one by one, deltas at the model's pace. */
  readonly send: (parts: ReadonlyArray<Response.StreamPartEncoded>) => Stream.Stream<Response.StreamPartEncoded>
  /** What the model answers to an entry. */
  readonly answer: (entry: Entry) => Stream.Stream<Response.StreamPartEncoded, AiError.AiError>
}

/**
 * @since 0.1.0
 * @category symbols
 */
export const BehaviourTypeId: unique symbol = Symbol.for("@afterturn/testing/ScriptStep/Behaviour")

/**
 * A step that no file can express. `stored` says whether an agent stores an answer of it; a step that it does not store is one
 * request that fails, like `fail`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Behaviour {
  readonly [BehaviourTypeId]: typeof BehaviourTypeId
  readonly stored: boolean
  readonly respond: (request: ScriptRequest) => Stream.Stream<Response.StreamPartEncoded, AiError.AiError>
}

/**
 * @since 0.1.0
 * @category guards
 */
export const isBehaviour = (step: unknown): step is Behaviour =>
  typeof step === "object" && step !== null && BehaviourTypeId in step

const parseEntry = ParseResult.decodeUnknown(Schema.typeSchema(Entry))

/** A plain union would answer a typo in an entry with the complaints of both members. */
const parseStep = (
  input: unknown,
  options: SchemaAST.ParseOptions
): Effect.Effect<Entry | Behaviour, ParseResult.ParseIssue> =>
  isBehaviour(input) ? ParseResult.succeed(input) : parseEntry(input, options)

/**
 * An entry or a behaviour.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Step: Schema.Schema<Entry | Behaviour> = Schema.declare([], {
  decode: () => parseStep,
  encode: () => parseStep
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Step = typeof Step.Type

/**
 * Whether a step is a request that fails: no answer of it is ever stored.
 *
 * @since 0.1.0
 * @category guards
 */
export const isFailure = (step: Step): boolean => (isBehaviour(step) ? !step.stored : step.fail !== undefined)

/**
 * Any parts at all. Say `stored: false` when the agent is to refuse them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const stream = (respond: Behaviour["respond"], options?: { readonly stored?: boolean }): Behaviour => ({
  [BehaviourTypeId]: BehaviourTypeId,
  stored: options?.stored ?? true,
  respond
})

/**
 * An entry that is decided when the request comes: to wait for something in between, or to look at the prompt.
 *
 * @since 0.1.0
 * @category constructors
 */
export const effect = (decide: (request: ScriptRequest) => Effect.Effect<Entry, AiError.AiError>): Behaviour =>
  stream((request) => Stream.unwrap(Effect.map(decide(request), request.answer)))

/**
 * A request that fails with an error of `@effect/ai`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fail = (error: AiError.AiError): Behaviour => stream(() => Stream.fail(error), { stored: false })

/**
 * Says this much and then neither goes on nor ends.
 *
 * @since 0.1.0
 * @category constructors
 */
export const stall = (text = ""): Behaviour =>
  stream((request) => Stream.concat(request.send(openText(request, text)), Stream.never), { stored: false })

/**
 * Says this much, then the connection breaks, or `error` happens.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cut = (text: string, error?: AiError.AiError): Behaviour =>
  stream(
    (request) =>
      Stream.concat(
        request.send(openText(request, text)),
        Stream.fail(error ?? toAiError(request.route, { message: "the connection was closed" }))
      ),
    { stored: false }
  )

/**
 * Says all of this, and the stream ends without its `finish` part.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unfinished = (text: string): Behaviour =>
  stream((request) => request.send(request.text(text)), { stored: false })

/**
 * A call as a model may get it wrong.
 *
 * @since 0.1.0
 * @category models
 */
export interface RawCall {
  readonly tool: string
  /** The text of the arguments, as the model wrote it. */
  readonly params: string
  /** Default: an id of its own. */
  readonly id?: string
}

/**
 * Calls whose arguments are text that may be no JSON, or whose ids are not their own. As with the providers of `@effect/ai`, the
 * first arguments that are no JSON end the stream with `MalformedOutput`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const rawCalls = (calls: ReadonlyArray<RawCall>, options?: { readonly text?: string }): Behaviour =>
  stream((request) => {
    const sent = [...request.text(options?.text ?? "")]
    for (const [index, call] of calls.entries()) {
      const parts = request.call({ ...call, id: call.id ?? request.callId(index) })
      sent.push(...parts)
      if (!parts.some((part) => part.type === "tool-call")) {
        return Stream.concat(request.send(sent), Stream.fail(notJson(call)))
      }
    }
    return request.send([...sent, request.finish(sent)])
  })

const openText = (request: ScriptRequest, text: string): ReadonlyArray<Response.StreamPartEncoded> =>
  request.text(text).filter((part) => part.type !== "text-end")

const notJson = (call: RawCall): AiError.AiError =>
  new AiError.MalformedOutput({
    module: "ScriptedModel",
    method: "streamText",
    description: `the arguments of the call of "${call.tool}" are no JSON`
  })

/**
 * A failure as `@effect/ai` reports it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toAiError = (route: string, failure: Failure): AiError.AiError => {
  const request = { method: "POST", url: route, urlParams: [], hash: Option.none(), headers: {} } as const
  const at = { module: "ScriptedModel", method: "streamText", request } as const
  if (failure.status === undefined) {
    return new AiError.HttpRequestError({
      ...at,
      reason: "Transport",
      description: failure.message ?? "the provider cannot be reached"
    })
  }
  const headers: Record<string, string> =
    failure.retryAfter === undefined ? {} : { "retry-after": String(failure.retryAfter) }
  return new AiError.HttpResponseError({
    ...at,
    reason: "StatusCode",
    response: { status: failure.status, headers },
    ...(failure.message === undefined ? {} : { body: failure.message })
  })
}
