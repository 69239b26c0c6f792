/**
 * Where a session stands in a script: a fold of the session's events, so that a resumed session goes on where it was.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { toText } from "@afterturn/agent/AgentMessage"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import type * as Prompt from "@effect/ai/Prompt"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { fingerprint } from "./internal/fingerprint.js"
import type { PlacedStep, Rule, Script } from "./Script.js"
import { limits } from "./Script.js"

/**
 * Where a session stands in a script.
 *
 * - `spent`: the rules that are used up
 * - `turn`: the last turn that began
 * - `newest`: the newest message that the open turn claimed; `text` is the beginning that a `match` reads
 * - `current`: the rule that the open turn took, and how many of its answers were given
 * - `waiting`: `newest` came after `current` was taken, so that it has no rule yet
 * - `answers`: those of this model; `calls`: those of any
 * - `result`: what the newest call returned; `job`: the newest job, `logged` when its start is an event of the session
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScriptState = Schema.Struct({
  spent: Schema.Array(Count),
  turn: Count,
  newest: Schema.NullOr(Schema.Struct({ source: Schema.String, text: Schema.String })),
  current: Schema.NullOr(Schema.Struct({ rule: Count, given: Count })),
  waiting: Schema.Boolean,
  answers: Count,
  calls: Count,
  result: Schema.NullOr(Schema.Struct({ tool: Schema.String, value: Schema.Unknown })),
  job: Schema.NullOr(Schema.Struct({ id: Schema.String, logged: Schema.Boolean }))
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ScriptState = typeof ScriptState.Type

/**
 * Before anything happened.
 *
 * @since 0.1.0
 * @category constants
 */
export const initial: ScriptState = {
  spent: [],
  turn: 0,
  newest: null,
  current: null,
  waiting: false,
  answers: 0,
  calls: 0,
  result: null,
  job: null
}

/**
 * What the model does next: the requests that fail first, then the answer. Without an answer the last failure goes on; with
 * neither, the rule is used up and the model ends the turn without a word.
 *
 * @since 0.1.0
 * @category models
 */
export interface Due {
  readonly failures: ReadonlyArray<PlacedStep>
  readonly answer: PlacedStep | undefined
}

/**
 * What the next request is answered with.
 *
 * @since 0.1.0
 * @category accessors
 */
export const next = (script: Script, state: ScriptState): Due =>
  dueReply(script, state) ?? { failures: [], answer: undefined }

const dueReply = (script: Script, state: ScriptState) => {
  const { given, rule } = dueRule(script, state)
  return script.rules[rule]?.replies[given]
}

/**
 * A rule goes on until its replies are given; a message that comes meanwhile gets a rule of its own only after that. Whoever has
 * been answered does not get a second rule.
 */
const dueRule = (script: Script, state: ScriptState): NonNullable<ScriptState["current"]> => {
  const { current } = state
  if (current !== null && (!state.waiting || current.given < repliesOf(script, current.rule))) return current
  return { rule: fittingRule(script, state), given: 0 }
}

const repliesOf = (script: Script, rule: number): number => script.rules[rule]?.replies.length ?? 0

const fittingRule = (script: Script, { newest, spent }: ScriptState): number => {
  const otherwise = script.rules.length - 1
  if (newest === null) return otherwise
  return script.rules.findIndex((rule, index) => !spent.includes(index) && fits(rule, newest))
}

const fits = (rule: Rule, message: { readonly source: string; readonly text: string }): boolean =>
  (rule.on === "any" || rule.on === message.source) && (rule.match === undefined || rule.match.test(message.text))

const spend = (script: Script, { spent }: ScriptState, rule: number): ReadonlyArray<number> =>
  script.rules[rule]?.repeat !== false || spent.includes(rule) ? spent : [...spent, rule]

const claimed = (state: ScriptState, message: { readonly source: string; readonly text: string }): ScriptState => ({
  ...state,
  newest: { source: message.source, text: message.text.slice(0, limits.matchedText) },
  waiting: true
})

const answered = (script: Script, state: ScriptState, calls: number): ScriptState => {
  const due = dueRule(script, state)
  return {
    ...state,
    spent: spend(script, state, due.rule),
    current: { rule: due.rule, given: Math.min(due.given + 1, repliesOf(script, due.rule)) },
    waiting: due === state.current && state.waiting,
    answers: state.answers + 1,
    calls: state.calls + calls
  }
}

const returned = (state: ScriptState, result: { readonly tool: string; readonly value: unknown }): ScriptState => ({
  ...state,
  result,
  job: state.job?.logged === true ? state.job : (jobOf(result.value) ?? state.job)
})

/** Results name older jobs as well (whose output was read, say): they only count where the log tells of no job. */
const jobOf = (value: unknown): ScriptState["job"] => {
  if (!Predicate.isRecord(value)) return null
  const id = [value.job_id, value.jobId].find(Predicate.isString)
  return id === undefined ? null : { id, logged: false }
}

/**
 * A turn that ended in a misbehaviour of the script used its rule up, though no answer was stored: else it would come again with
 * every message. Any other answer that was not stored is still due.
 */
const closed = (script: Script, state: ScriptState, kind: AgentEvents.TurnEndReason["kind"]): ScriptState => {
  const cutShort = kind === "error" || kind === "aborted"
  const spent =
    cutShort && dueReply(script, state)?.steady === false
      ? spend(script, state, dueRule(script, state).rule)
      : state.spent
  return { ...state, spent, newest: null, current: null, waiting: false }
}

const apply = (script: Script, ownRoute: string, state: ScriptState, event: SessionEvent): ScriptState => {
  switch (event.type) {
    case AgentEvents.TurnStart.type:
      return {
        ...state,
        turn: dataOf(AgentEvents.TurnStart, event).turn,
        newest: null,
        current: null,
        waiting: false
      }
    case AgentEvents.TurnEnd.type:
      return closed(script, state, dataOf(AgentEvents.TurnEnd, event).reason.kind)
    case AgentEvents.UserMessage.type: {
      const { content, source } = dataOf(AgentEvents.UserMessage, event)
      return claimed(state, { source: source.kind, text: toText(content) })
    }
    case AgentEvents.AssistantMessage.type: {
      const { content, route } = dataOf(AgentEvents.AssistantMessage, event)
      const calls = content.filter((block) => block.type === "tool-call").length
      return isSameScript(route, ownRoute) ? answered(script, state, calls) : { ...state, calls: state.calls + calls }
    }
    case AgentEvents.ToolResult.type: {
      const { error, name, value } = dataOf(AgentEvents.ToolResult, event)
      return returned(state, { tool: name, value: value ?? (error === undefined ? null : { error }) })
    }
    case jobStart: {
      const id = Predicate.isRecord(event.data) ? event.data.id : undefined
      return Predicate.isString(id) ? { ...state, job: { id, logged: true } } : state
    }
    default:
      return state
  }
}

/** Of the jobs' package, which nothing here depends on. */
const jobStart = "job/start"

/** The log refuses what its type's Schema refuses, so data that is read back is of that type. */
const dataOf = <A>(
  type: { readonly decode: (event: SessionEvent) => Either.Either<A, unknown> },
  event: SessionEvent
): A => Either.getOrThrow(type.decode(event))

/**
 * Whether two routes name the same script: `scripted:demo.json` and `scripted:/home/me/demo.json` do, so that a session can be
 * resumed from another folder.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSameScript = (route: string, other: string): boolean =>
  route === other || (isScripted(route) && isScripted(other) && lastName(route) === lastName(other))

const isScripted = (route: string): boolean => route.startsWith("scripted:")
const lastName = (route: string): string | undefined => route.split(/[:/\\]/).at(-1)

/**
 * The fold, for the model of `route`: only its answers count. Its key holds what decides the fold (which rules there are, for whom,
 * with how many steps), so that a changed script is folded anew and a changed text is not. A fork goes on where its parent was.
 *
 * @since 0.1.0
 * @category projections
 */
export const projection = (
  script: Script,
  route: string
): Projection.Projection<ScriptState, typeof ScriptState.Encoded> =>
  Projection.make({
    key: `scripted-model:${fingerprint(JSON.stringify([lastName(route), shapeOf(script)]))}`,
    version: 1,
    schema: ScriptState,
    initial,
    history: "inherited",
    types: [
      AgentEvents.TurnStart.type,
      AgentEvents.TurnEnd.type,
      AgentEvents.UserMessage.type,
      AgentEvents.AssistantMessage.type,
      AgentEvents.ToolResult.type,
      jobStart
    ],
    apply: (state, event) => apply(script, route, state, event)
  })

const shapeOf = (script: Script): unknown =>
  script.rules.map((rule) => [
    rule.on,
    rule.match === undefined ? null : String(rule.match),
    rule.repeat,
    rule.replies.map((reply) => reply.steady)
  ])

/**
 * Where a conversation without a session stands: its last message of the user opens a fresh turn, and what follows it was answered
 * and returned in that turn.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromPrompt = (script: Script, prompt: Prompt.Prompt): ScriptState => {
  const last = prompt.content.findLastIndex((message) => message.role === "user")
  let state = initial
  for (const [index, message] of prompt.content.entries()) {
    if (message.role === "user" && index === last) {
      state = claimed(state, { source: "user", text: promptText(message) })
    }
    if (message.role === "assistant") {
      const calls = message.content.filter((part) => part.type === "tool-call").length
      state = index > last ? answered(script, state, calls) : { ...state, calls: state.calls + calls }
    }
    if (message.role === "assistant" || message.role === "tool") {
      state = message.content.reduce(withResult, state)
    }
  }
  return state
}

const withResult = (state: ScriptState, part: Prompt.AssistantMessagePart | Prompt.ToolMessagePart): ScriptState =>
  part.type === "tool-result" ? returned(state, { tool: part.name, value: part.result }) : state

const promptText = (message: Prompt.UserMessage): string =>
  message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n")
