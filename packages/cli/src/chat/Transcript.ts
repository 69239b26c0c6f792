/**
 * The conversation as lines: what an agent does, in order, folded into what a person reads.
 *
 * @since 0.1.0
 */
import type { AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { AgentMessage, MessageSource } from "@afterturn/agent/AgentMessage"
import { toText } from "@afterturn/agent/AgentMessage"
import type * as EventTypes from "@afterturn/session-log/EventTypes"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Row from "./Row.js"
import * as SafeText from "./SafeText.js"
import * as TextLayout from "./TextLayout.js"

/**
 * A call that runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface RunningCall {
  readonly callId: string
  readonly name: string
  readonly input: unknown
}

/**
 * `lines` are complete and were not taken yet; `open` is the line that text is still added to. `waiting` is the agent's inbox as far
 * as events tell.
 *
 * @since 0.1.0
 * @category models
 */
export interface Transcript {
  readonly lines: ReadonlyArray<Row.Line>
  readonly open: Row.Line | undefined
  readonly turn: number | undefined
  readonly running: ReadonlyArray<RunningCall>
  readonly waiting: ReadonlyArray<AgentMessage>
  readonly stream: TextStream
}

/**
 * The text of one step as it arrives. `received` is the model's text so far, as it came; `rest` may be half of something that is not
 * to reach a terminal; `held` is white space that is shown once something follows it. `shown`: this stretch of text has begun to show.
 */
interface TextStream {
  readonly kind: "Text" | "Reasoning" | undefined
  readonly received: string
  readonly rest: string
  readonly held: string
  readonly shown: boolean
}

const silence: TextStream = { kind: undefined, received: "", rest: "", held: "", shown: false }

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (waiting: ReadonlyArray<AgentMessage> = []): Transcript => ({
  lines: [],
  open: undefined,
  turn: undefined,
  running: [],
  waiting,
  stream: silence
})

/**
 * Adds lines of the program's own.
 *
 * @since 0.1.0
 * @category folds
 */
export const note = (state: Transcript, lines: ReadonlyArray<Row.Line>): Transcript => {
  const closed = closeText(state)
  return { ...closed, lines: [...closed.lines, ...lines] }
}

/**
 * Takes the complete lines out.
 *
 * @since 0.1.0
 * @category folds
 */
export const take = (state: Transcript): readonly [lines: ReadonlyArray<Row.Line>, state: Transcript] => [
  state.lines,
  { ...state, lines: [] }
]

/**
 * The transcript after one more thing that the agent put out, or that its log holds.
 *
 * @since 0.1.0
 * @category folds
 */
export const add = (state: Transcript, item: AgentOutput): Transcript => {
  switch (item._tag) {
    case "Text":
    case "Reasoning":
      return addText(state, item._tag, item.delta)
    case "Retry": {
      const message = `the request failed and is made again; the answer begins anew: ${item.message}`
      return {
        ...note(state, Row.lines(SafeText.clean(message), { style: "warn", label: labels.retry })),
        stream: silence
      }
    }
    case "Event":
      return addEvent(state, item.event)
  }
}

const labels = {
  user: Row.span("› ", "accent"),
  other: Row.span("» ", "accent"),
  good: Row.span("✓ ", "good"),
  bad: Row.span("✗ ", "bad"),
  retry: Row.span("↻ ", "warn"),
  end: Row.span("■ ", "warn"),
  thought: Row.span("· ", "dim")
} as const

const addText = (state: Transcript, kind: "Text" | "Reasoning", delta: string): Transcript => {
  const begun = state.stream.kind === kind ? state : beginText(state, kind)
  const [text, rest] = SafeText.cleanPiece(begun.stream.rest, delta)
  const received = kind === "Text" ? begun.stream.received + delta : begun.stream.received
  return showText({ ...begun, stream: { ...begun.stream, received, rest } }, text)
}

const beginText = (state: Transcript, kind: "Text" | "Reasoning"): Transcript => {
  const closed = closeText(state)
  const open = kind === "Text" ? Row.line("") : Row.line("", { style: "dim", label: labels.thought, indent: 2 })
  return { ...closed, open, stream: { ...closed.stream, kind } }
}

/** Blank lines before and after a stretch of text are left out: what stands around it brings its own. */
const showText = (state: Transcript, text: string): Transcript => {
  const whole = state.stream.held + text
  const ink = whole.trimEnd().length
  if (ink === 0 && !state.stream.shown) return { ...state, stream: { ...state.stream, held: whole } }
  const end = whole.indexOf("\n", ink)
  const body = end < 0 ? whole : whole.slice(0, end)
  const visible = state.stream.shown ? body : body.replace(/^(?:[^\S\n]*\n)+/, "")
  return appendText({ ...state, stream: { ...state.stream, held: whole.slice(body.length), shown: true } }, visible)
}

const appendText = (state: Transcript, text: string): Transcript => {
  const { open } = state
  if (text === "" || open === undefined) return state
  const [first = "", ...others] = text.split("\n")
  const grown = { ...open, text: open.text + first }
  const last = others.at(-1)
  if (last === undefined) return { ...state, open: grown }
  const following = (part: string): Row.Line => ({ ...open, label: Row.span(" ".repeat(open.indent)), text: part })
  return { ...state, lines: [...state.lines, grown, ...others.slice(0, -1).map(following)], open: following(last) }
}

/** Completes the open line. */
const closeText = (state: Transcript): Transcript => {
  if (state.open === undefined) return state
  const whole = showText(state, SafeText.clean(state.stream.rest))
  const { lines, open } = whole
  return {
    ...whole,
    lines: open === undefined || open.text.trim() === "" ? lines : [...lines, open],
    open: undefined,
    stream: { ...silence, received: state.stream.received }
  }
}

const addEvent = (state: Transcript, event: SessionEvent): Transcript => {
  switch (event.type) {
    case AgentEvents.TurnStart.type:
      return withData(state, AgentEvents.TurnStart, event, ({ turn }) => ({ ...state, turn }))
    case AgentEvents.UserMessage.type:
      return withData(state, AgentEvents.UserMessage, event, (message) => note(state, messageLines(message)))
    case AgentEvents.AssistantMessage.type:
      return withData(state, AgentEvents.AssistantMessage, event, ({ content }) => completeText(state, content))
    case AgentEvents.ToolCall.type:
      return withData(state, AgentEvents.ToolCall, event, ({ callId, input, name }) => ({
        ...state,
        running: [...state.running, { callId, name, input }]
      }))
    case AgentEvents.ToolResult.type:
      return withData(state, AgentEvents.ToolResult, event, (result) => addResult(state, result))
    case AgentEvents.InboxSpliced.type:
      return withData(state, AgentEvents.InboxSpliced, event, (change) => addSplice(state, change))
    case AgentEvents.TurnEnd.type:
      return withData(state, AgentEvents.TurnEnd, event, ({ reason }) => endTurn(state, reason))
    default:
      return state
  }
}

/** A log written elsewhere may hold what this release does not know: that is left out here, `sessions show` has it. */
const withData = <Type extends string, A, I>(
  state: Transcript,
  type: EventTypes.EventType<Type, A, I>,
  event: SessionEvent,
  next: (data: A) => Transcript
): Transcript => Either.match(type.decode(event), { onLeft: () => state, onRight: next })

const messageLines = ({ content, source }: AgentMessage): ReadonlyArray<Row.Line> => {
  const text = SafeText.clean(toText(content)).trimEnd()
  if (source.kind === "user") return [Row.line(""), ...Row.lines(text, { label: labels.user, style: "strong" })]
  return [Row.line(""), ...Row.lines(`${describeSource(source)}\n${text}`, { label: labels.other, style: "dim" })]
}

const describeSource = (source: Exclude<MessageSource, { readonly kind: "user" }>): string => {
  switch (source.kind) {
    case "job-notice":
      return `notice: ${source.jobs.join(", ")}`
    case "reminder":
      return `reminder: ${source.occurrences.map(({ id }) => id).join(", ")}`
    case "goal-round":
      return `goal: round ${source.round}`
    case "agent":
      return `from the agent of session ${source.sessionId}`
    case "system":
      return "from the system"
  }
}

/**
 * What was stored is what counts: text that did not arrive as it was generated is added, all of it when what arrived was other
 * text.
 */
const completeText = (state: Transcript, content: ReadonlyArray<AgentEvents.AssistantBlock>): Transcript => {
  const whole = content.map((block) => (block.type === "text" ? block.text : "")).join("")
  const { received } = state.stream
  const missing = whole.startsWith(received) ? whole.slice(received.length) : whole
  const shown = missing === "" ? state : addText(missing === whole ? closeText(state) : state, "Text", missing)
  return { ...closeText(shown), stream: silence }
}

const addResult = (state: Transcript, result: typeof AgentEvents.ToolResult.schema.Type): Transcript => {
  const call = state.running.find(({ callId }) => callId === result.callId)
  const running = state.running.filter((one) => one !== call)
  const answer = result.error === undefined ? result.text : `${result.error.code}: ${result.error.message}`
  const text = `${callText(call ?? { ...result, input: undefined })} → ${firstLine(answer)}`
  const line = Row.line(text, {
    style: "dim",
    label: result.ok ? labels.good : labels.bad,
    cut: true
  })
  return { ...note(state, [line]), running }
}

/**
 * A call on one line: the tool, and what there is of its input in short.
 *
 * @since 0.1.0
 * @category conversions
 */
export const callText = ({ input, name }: Omit<RunningCall, "callId">): string =>
  `${SafeText.cleanLine(name)}(${inputText(input)})`

const inputText = (input: unknown): string => {
  if (input === undefined) return ""
  if (!Predicate.isRecord(input)) return shortValue(input)
  return Object.entries(input)
    .map(([key, value]) => `${SafeText.cleanLine(key)}: ${shortValue(value)}`)
    .join(", ")
}

const shortValue = (value: unknown): string => {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? "item" : "items"}`
  if (Predicate.isRecord(value)) return "{…}"
  return typeof value === "string" ? TextLayout.truncate(SafeText.cleanLine(value), 40) : String(value)
}

const firstLine = (text: string): string => {
  const clean = SafeText.clean(text.slice(0, 2000)).trim()
  const [first = "", ...more] = clean.split("\n")
  return more.length === 0 ? first : `${first} (and more)`
}

const addSplice = (state: Transcript, change: typeof AgentEvents.InboxSpliced.schema.Type): Transcript => {
  const gone = new Set(change.ids ?? [])
  const waiting = [...state.waiting.filter(({ id }) => !gone.has(id)), ...(change.messages ?? [])]
  const next = { ...state, waiting }
  if (change.op !== "discard") return next
  // Of the others one was replaced by a newer one, or its occasion is over.
  const discarded = state.waiting.filter(({ id, source }) => gone.has(id) && source.kind === "user")
  return note(next, discarded.flatMap(discardedLines))
}

const discardedLines = ({ content }: AgentMessage): ReadonlyArray<Row.Line> =>
  Row.lines(`discarded: ${SafeText.clean(toText(content)).trimEnd()}`, { label: labels.end, style: "dim" })

const endTurn = (state: Transcript, reason: AgentEvents.TurnEndReason): Transcript => {
  const ended = { ...note(state, endLines(reason)), running: [], stream: silence }
  return { ...ended, turn: undefined }
}

const endLines = (reason: AgentEvents.TurnEndReason): ReadonlyArray<Row.Line> => {
  switch (reason.kind) {
    case "completed":
      return []
    case "aborted":
      return Row.lines(`stopped: ${SafeText.clean(reason.cause)}`, { label: labels.end, style: "warn" })
    case "error":
      return Row.lines(SafeText.clean(`${reason.error.code}: ${reason.error.message}`), {
        label: labels.bad,
        style: "bad"
      })
    case "interrupted":
      return Row.lines("this turn was interrupted by the end of its process", { label: labels.end, style: "warn" })
    case "step-limit":
      return Row.lines(`stopped after ${reason.maxSteps} steps, the limit of a turn`, {
        label: labels.end,
        style: "warn"
      })
  }
}
