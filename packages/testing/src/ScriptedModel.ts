/**
 * A model that follows a script, deterministically and without a network: for tests, examples and demos.
 *
 * @since 0.1.0
 */
import { CurrentAgent } from "@afterturn/agent/Agent"
import { AgentModel } from "@afterturn/agent/AgentModel"
import { Projections } from "@afterturn/session-log/Projection"
import * as AiError from "@effect/ai/AiError"
import * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Response from "@effect/ai/Response"
import * as FileSystem from "@effect/platform/FileSystem"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { callParts, finishPart, textParts, wholeParts } from "./internal/responseParts.js"
import type { PlacedStep } from "./Script.js"
import * as Script from "./Script.js"
import * as ScriptState from "./ScriptState.js"
import type { Entry, ScriptRequest } from "./ScriptStep.js"
import { isBehaviour, toAiError } from "./ScriptStep.js"
import * as ScriptTemplate from "./ScriptTemplate.js"

/**
 * A script file that cannot be read.
 *
 * @since 0.1.0
 * @category errors
 */
export class ScriptUnreadable extends Schema.TaggedError<ScriptUnreadable>("@afterturn/testing/ScriptUnreadable")(
  "ScriptUnreadable",
  { path: Schema.String, reason: Schema.String, cause: Schema.optional(Schema.Defect) }
) {
  override get message(): string {
    return `the script ${this.path} cannot be read: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ScriptedModelOptions {
  /** The route is `scripted:NAME`. Default: the file's path, or `script`. */
  readonly name?: string
  /** UTF-16 units of a delta. Default 24. */
  readonly deltaLength?: number
  /** The wait before each delta, on `Clock`. Default none. */
  readonly deltaDelay?: Duration.DurationInput
  /** Sees each request before it is answered, those that fail as well. */
  readonly onRequest?: (request: ScriptRequest) => Effect.Effect<void>
}

/**
 * A model of a script. Inside an agent it stands where the session's log says; outside, the last message of the user in the prompt
 * opens a fresh turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  definition: Script.Definition,
  options?: ScriptedModelOptions
): Effect.Effect<Context.Tag.Service<AgentModel>, Script.InvalidScript, Projections> =>
  Effect.flatMap(Script.make(definition), (script) => fromScript(script, options))

/**
 * A model of a script that was checked.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromScript = (
  script: Script.Script,
  options?: ScriptedModelOptions
): Effect.Effect<Context.Tag.Service<AgentModel>, never, Projections> =>
  Effect.gen(function* () {
    const projections = yield* Projections
    const route = `scripted:${options?.name ?? "script"}`
    const projection = ScriptState.projection(script, route)
    const attempts = new Attempts()

    const stateOf = (agent: Context.Tag.Service<CurrentAgent>) =>
      projections.get(agent.id, projection).pipe(
        Effect.map(({ value }) => value),
        Effect.mapError((error) => asAiError(error.message, error))
      )

    const respond = Effect.fnUntraced(function* (request: LanguageModel.ProviderOptions) {
      const agent = yield* Effect.serviceOption(CurrentAgent)
      const state = Option.isSome(agent) ? yield* stateOf(agent.value) : ScriptState.fromPrompt(script, request.prompt)
      const session = Option.match(agent, { onNone: () => "", onSome: ({ id }) => id })
      const placed = attempts.next(session, state, ScriptState.next(script, state))
      const means = meansOf({ request, route, state, path: placed.path, options })
      if (options?.onRequest !== undefined) yield* options.onRequest(means)
      return isBehaviour(placed.step) ? placed.step.respond(means) : means.answer(placed.step)
    })

    const streamText = (request: LanguageModel.ProviderOptions) => Stream.unwrap(respond(request))
    const model = yield* LanguageModel.make({
      streamText,
      generateText: (request) => Effect.map(Stream.runCollect(streamText(request)), wholeParts)
    })
    return { route, model }
  })

/**
 * The model of a script given in code.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  definition: Script.Definition,
  options?: ScriptedModelOptions
): Layer.Layer<AgentModel, Script.InvalidScript, Projections> => Layer.effect(AgentModel, make(definition, options))

/**
 * The model of a script file. The file is read once, when the layer is built.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFile = (
  path: string,
  options?: ScriptedModelOptions
): Layer.Layer<AgentModel, Script.InvalidScript | ScriptUnreadable, Projections | FileSystem.FileSystem> =>
  Layer.effect(
    AgentModel,
    Effect.flatMap(load(path), (script) => fromScript(script, { name: path, ...options }))
  )

/**
 * Reads and checks a script file.
 *
 * @since 0.1.0
 * @category parsing
 */
export const load = (
  path: string
): Effect.Effect<Script.Script, Script.InvalidScript | ScriptUnreadable, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const unreadable = (reason: string, cause?: unknown) => new ScriptUnreadable({ path, reason, cause })
    const text = yield* fileSystem
      .readFileString(path)
      .pipe(Effect.mapError((error) => unreadable(error.message, error)))
    return yield* Script.parse(text, path)
  })

/**
 * How often each session has asked at the place where it stands: `fail` entries are given in their order, then the answer. Kept in
 * memory: a failed request leaves nothing in a log, so a new process meets the failures of an open request again.
 */
class Attempts {
  private readonly bySession = new Map<string, { readonly place: string; readonly attempts: number }>()

  next(session: string, state: ScriptState.ScriptState, due: ScriptState.Due): PlacedStep {
    const attempt = this.count(session, state, due)
    return due.failures[attempt] ?? due.answer ?? due.failures.at(-1) ?? silence
  }

  private count(session: string, state: ScriptState.ScriptState, due: ScriptState.Due): number {
    if (due.failures.length === 0) {
      this.bySession.delete(session)
      return 0
    }
    const place = `${state.turn}/${state.answers}`
    const known = this.bySession.get(session)
    const attempts = known?.place === place ? known.attempts : 0
    this.bySession.set(session, { place, attempts: attempts + 1 })
    return attempts
  }
}

const silence: PlacedStep = { path: "the end of a rule", step: { text: "" } }

const meansOf = (context: {
  readonly request: LanguageModel.ProviderOptions
  readonly route: string
  readonly state: ScriptState.ScriptState
  readonly path: string
  readonly options: ScriptedModelOptions | undefined
}): ScriptRequest => {
  const { options, request, route, state } = context
  const deltaLength = Math.max(1, Math.trunc(options?.deltaLength ?? 24) || 1)
  const means: ScriptRequest = {
    prompt: request.prompt,
    tools: request.tools,
    route,
    callId: (index) => `call-${state.calls + index + 1}`,
    text: (text) => textParts(text, deltaLength),
    call: (call) => callParts(call, deltaLength),
    finish: (parts) => finishPart(request.prompt, parts),
    send: (parts) => send(parts, options?.deltaDelay),
    answer: (entry) =>
      entry.fail === undefined
        ? Either.match(answerParts(entry, means, state, context.path), {
            onLeft: (error) => Stream.fail(asAiError(error.message, error)),
            onRight: (parts) => means.send(parts)
          })
        : Stream.fail(toAiError(route, entry.fail))
  }
  return means
}

/** One part a chunk: a consumer decodes whole chunks, and one bad part must not take the text before it along. */
const send = (parts: ReadonlyArray<Response.StreamPartEncoded>, delay: Duration.DurationInput | undefined) => {
  const stream = Stream.rechunk(Stream.fromIterable(parts), 1)
  return delay === undefined
    ? stream
    : Stream.tap(stream, (part) => ("delta" in part ? Effect.sleep(delay) : Effect.void))
}

const answerParts = (entry: Entry, means: ScriptRequest, state: ScriptState.ScriptState, step: string) =>
  Either.gen(function* () {
    const values = { result: state.result ?? undefined, job: state.job?.id }
    const text = yield* ScriptTemplate.text(entry.text ?? "", values, { step, at: "text" })
    const parts = [...means.text(text)]
    for (const [index, call] of (entry.calls ?? []).entries()) {
      const input = yield* ScriptTemplate.value(call.input, values, { step, at: `calls[${index}].input` })
      const params = JSON.stringify(input ?? null)
      parts.push(...means.call({ id: means.callId(index), tool: call.tool, params }))
    }
    return [...parts, means.finish(parts)]
  })

const asAiError = (description: string, cause: unknown): AiError.AiError =>
  new AiError.UnknownError({ module: "ScriptedModel", method: "streamText", description, cause })
