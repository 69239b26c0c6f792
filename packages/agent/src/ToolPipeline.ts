/**
 * From what a model sent to what it reads back. Nothing that a model or a handler does wrong ends the turn: it is answered.
 *
 * @since 0.1.0
 */
import * as AiError from "@effect/ai/AiError"
import type * as Tool from "@effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as BoundedText from "./BoundedText.js"
import * as Telemetry from "./Telemetry.js"
import * as ToolInput from "./ToolInput.js"
import type { RegisteredTool } from "./ToolRegistry.js"
import { ToolText } from "./ToolRegistry.js"

/**
 * A call as the model made it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Call {
  readonly callId: string
  readonly name: string
  readonly input: unknown
}

/**
 * What a call came to: the data of its `tool/result`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  readonly callId: string
  readonly name: string
  readonly ok: boolean
  readonly value?: unknown
  readonly error?: { readonly code: string; readonly message: string }
  readonly text: string
  readonly truncated?: boolean
}

/**
 * A call whose input was read: `input` is what the handler gets, or, when it could not be read, what was received beside the
 * answer to it.
 *
 * @since 0.1.0
 * @category models
 */
export interface PreparedCall {
  readonly call: Call
  readonly input: unknown
  readonly run: Effect.Effect<Outcome>
}

/**
 * Finds the tool and reads the input.
 *
 * @since 0.1.0
 * @category running
 */
export const prepare = (
  tools: ReadonlyMap<string, RegisteredTool>,
  call: Call,
  options: { readonly maxResultBytes: number }
): PreparedCall => {
  const found = tools.get(call.name)
  if (found === undefined) {
    const refusal = failure(call, "unknown_tool", unknownTool(call.name, [...tools.keys()]))
    return { call, input: call.input, run: Effect.succeed(refusal) }
  }
  const read = ToolInput.decode(call.name, found.tool.parametersSchema, call.input)
  if (Either.isLeft(read)) {
    const refusal = failure(call, read.left.code, read.left.message)
    return { call, input: call.input, run: Effect.succeed(bounded(refusal, options.maxResultBytes)) }
  }
  const { notes, value } = read.right
  return {
    call,
    input: value,
    run: Telemetry.toolSpan(
      call,
      value,
      Effect.map(execute(found, call, value), (outcome) => bounded(withNotes(outcome, notes), options.maxResultBytes))
    )
  }
}

/**
 * The answer to a call that never ran: safe to make again.
 *
 * @since 0.1.0
 * @category answers
 */
export const notStarted = (call: Pick<Call, "callId" | "name">): Outcome =>
  failure(call, "TOOL_NOT_STARTED", "this call was not started before the turn ended; it is safe to make it again")

/**
 * The answer to a call that had begun when its turn ended without its result: what it did is unknown.
 *
 * @since 0.1.0
 * @category answers
 */
export const outcomeUnknown = (call: Pick<Call, "callId" | "name">): Outcome =>
  failure(
    call,
    "TOOL_OUTCOME_UNKNOWN",
    "this call had started when the turn ended and its outcome is unknown; check what it did before you make it again"
  )

/**
 * The answer to a call that its maker gave up: nobody reads it but who reads the log.
 *
 * @since 0.1.0
 * @category answers
 */
export const cancelled = (call: Pick<Call, "callId" | "name">): Outcome =>
  failure(
    call,
    "TOOL_CANCELLED",
    "this call was cancelled by whoever made it; check what it did before you make it again"
  )

/**
 * Handlers fail with values of their tool's failure Schema; a defect is ours, never the model's to see. The handler has a fiber of
 * its own, so that one which interrupts itself is told from the end of the turn.
 */
const execute = (found: RegisteredTool, call: Call, input: unknown): Effect.Effect<Outcome> =>
  Effect.flatMap(Effect.fork(found.handle(input)), (fiber) =>
    Fiber.await(fiber).pipe(
      Effect.onInterrupt(() => Fiber.interrupt(fiber)),
      Effect.flatMap((exit) =>
        Exit.match(exit, {
          onSuccess: (result) =>
            Effect.succeed(
              result.isFailure ? expectedFailure(call, result.encodedResult) : success(found.tool, call, result)
            ),
          onFailure: (cause) => fromCause(call, cause)
        })
      )
    )
  )

const fromCause = (call: Call, cause: Cause.Cause<unknown>): Effect.Effect<Outcome> => {
  const expected = Cause.failureOption(cause)
  if (Option.isSome(expected) && !AiError.isAiError(expected.value)) {
    return Effect.succeed(expectedFailure(call, expected.value))
  }
  return Effect.as(
    Effect.logError(`tool "${call.name}" failed unexpectedly (error id ${call.callId})`, cause),
    failure(
      call,
      "internal_error",
      `the tool failed unexpectedly (error id ${call.callId}); this is not a mistake in your call`
    )
  )
}

const success = (tool: Tool.Any, call: Call, result: Tool.HandlerResult<Tool.Any>): Outcome => {
  const render = Context.getOption(tool.annotations as Context.Context<ToolText>, ToolText)
  return {
    callId: call.callId,
    name: call.name,
    ok: true,
    ...(result.encodedResult === undefined ? {} : { value: result.encodedResult }),
    text: Option.match(render, {
      onNone: () => plainText(result.encodedResult),
      onSome: (toText) => toText(result.result as never)
    })
  }
}

const plainText = (value: unknown): string =>
  value === undefined ? "done" : typeof value === "string" ? value : JSON.stringify(value)

const expectedFailure = (call: Call, error: unknown): Outcome => {
  const code = textField(error, "code") ?? textField(error, "_tag") ?? "failed"
  const message = textField(error, "message") ?? plainText(error)
  return failure(call, code, message)
}

const textField = (value: unknown, key: string): string | undefined =>
  Predicate.hasProperty(value, key) && typeof value[key] === "string" && value[key] !== "" ? value[key] : undefined

const failure = (call: Pick<Call, "callId" | "name">, code: string, message: string): Outcome => ({
  callId: call.callId,
  name: call.name,
  ok: false,
  error: { code, message },
  text: `error ${code}: ${message}`
})

const unknownTool = (name: string, known: ReadonlyArray<string>): string =>
  `there is no tool ${JSON.stringify(name.slice(0, 100))}; ${
    known.length === 0 ? "no tools are available" : `the tools are ${known.join(", ")}`
  }`

const withNotes = (outcome: Outcome, notes: ReadonlyArray<string>): Outcome =>
  notes.length === 0 ? outcome : { ...outcome, text: `${outcome.text}\n(${notes.join("; ")})` }

const bounded = (outcome: Outcome, maxBytes: number): Outcome => {
  const text = BoundedText.bound(outcome.text, {
    maxBytes,
    marker: (cut) =>
      `\n[… ${cut.bytes} bytes left out here; the whole result is in this session's log, call ${outcome.callId} …]\n`
  })
  return text.truncated ? { ...outcome, text: text.text, truncated: true } : outcome
}
