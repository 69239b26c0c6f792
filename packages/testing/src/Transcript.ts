/**
 * Transcripts: a session's events as text that is the same in every run, for people to read and for tests to compare.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import { toText } from "@afterturn/agent/AgentMessage"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"

/**
 * @since 0.1.0
 * @category models
 */
export interface TranscriptOptions {
  /** UTF-16 units of one text, input or result; the rest is counted. Default 500. */
  readonly maxLength?: number
  /** Also the steps of turns. Default false. */
  readonly steps?: boolean
  /** Also what was queued, claimed and discarded. Default false. */
  readonly inbox?: boolean
  /** The time of each event before its line: stable under a virtual clock only. Default false. */
  readonly times?: boolean
}

/**
 * A line for each turn, message, call, result and other event; what belongs to a turn is indented, further lines of a text are
 * indented once more. Ids of sessions, messages and calls, process ids and times are left out; ids of jobs are not, they are the
 * same in every run. An event whose data is not as expected is shown as JSON.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (events: ReadonlyArray<SessionEvent>, options?: TranscriptOptions): string => {
  const lines: Array<string> = []
  let depth = 0
  for (const [index, event] of events.entries()) {
    if (event.type === AgentEvents.TurnStart.type) depth = 0
    const prefix = options?.times === true ? `${event.time} ` : ""
    const margin = " ".repeat(prefix.length + 2 * depth)
    for (const [row, entry] of entriesOf(event, { events, index, options }).entries()) {
      const [first = "", ...rest] = entry.split("\n")
      lines.push(`${row === 0 ? prefix : " ".repeat(prefix.length)}${"  ".repeat(depth)}${first}`)
      lines.push(...rest.map((line) => (line === "" ? "" : `${margin}  ${line}`)))
    }
    if (event.type === AgentEvents.TurnStart.type) depth = 1
    if (event.type === AgentEvents.TurnEnd.type) depth = 0
  }
  return lines.join("\n")
}

interface Place {
  readonly events: ReadonlyArray<SessionEvent>
  readonly index: number
  readonly options: TranscriptOptions | undefined
}

type Entries = ReadonlyArray<string>

/** Nothing for an event that is left out; several entries for one that says several things. */
const entriesOf = (event: SessionEvent, place: Place): Entries => {
  const entries = agentEntries(event, place) ?? jobEntries(event, place)
  return entries ?? [`${event.type} ${json(event.data, place)}`]
}

/** `undefined`: not an event of the agent, or not as it should be. */
const agentEntries = (event: SessionEvent, place: Place): Entries | undefined => {
  switch (event.type) {
    case AgentEvents.TurnStart.type:
      return read(AgentEvents.TurnStart, event, ({ source, turn }) => [`turn ${turn} (${sourceText(source)})`])
    case AgentEvents.TurnEnd.type:
      return read(AgentEvents.TurnEnd, event, ({ reason }) => [`end ${reasonText(reason)}`])
    case AgentEvents.StepStart.type:
      return read(AgentEvents.StepStart, event, ({ step }) => (place.options?.steps === true ? [`step ${step}`] : []))
    case AgentEvents.StepEnd.type:
      return []
    case AgentEvents.UserMessage.type:
      return read(AgentEvents.UserMessage, event, (message) => [messageText(message, place)])
    case AgentEvents.AssistantMessage.type:
      return read(AgentEvents.AssistantMessage, event, ({ content }) => answerEntries(content, place))
    case AgentEvents.ToolCall.type:
      return read(AgentEvents.ToolCall, event, ({ input, name }) => [`call ${name} ${json(input, place)}`])
    case AgentEvents.ToolResult.type:
      return read(AgentEvents.ToolResult, event, (result) => [resultText(result, place)])
    case AgentEvents.InboxSpliced.type:
      return read(AgentEvents.InboxSpliced, event, (splice) =>
        place.options?.inbox === true ? inboxEntries(splice, place) : []
      )
    case AgentEvents.ContextCompacted.type:
      return read(AgentEvents.ContextCompacted, event, ({ summary }) => [`compacted: ${cut(summary, place)}`])
    default:
      return undefined
  }
}

const read = <A>(
  type: { readonly decode: (event: SessionEvent) => Either.Either<A, unknown> },
  event: SessionEvent,
  entries: (data: A) => Entries
): Entries | undefined => Either.match(type.decode(event), { onLeft: () => undefined, onRight: entries })

const sourceText = (source: MessageSource): string => {
  switch (source.kind) {
    case "job-notice":
      return `job-notice ${source.jobs.join(", ")}`
    case "reminder":
      return source.occurrences.length === 1 ? "reminder" : `reminder x${source.occurrences.length}`
    case "goal-round":
      return `goal-round ${source.round}`
    default:
      return source.kind
  }
}

const reasonText = (reason: AgentEvents.TurnEndReason): string => {
  switch (reason.kind) {
    case "aborted":
      return `aborted: ${reason.cause}`
    case "error":
      return `error ${reason.error.code}: ${reason.error.message}`
    case "step-limit":
      return `step-limit ${reason.maxSteps}`
    default:
      return reason.kind
  }
}

const messageText = (message: typeof AgentEvents.UserMessage.schema.Type, place: Place): string =>
  `${sourceText(message.source)}: ${cut(toText(message.content), place)}`

const answerEntries = (content: ReadonlyArray<AgentEvents.AssistantBlock>, place: Place): Entries => {
  if (content.length === 0) return ["assistant says nothing"]
  const started = startedCalls(place)
  return content.flatMap((block) => blockEntries(block, started, place))
}

/** A call has a line where it starts; one that never did has it here. */
const blockEntries = (block: AgentEvents.AssistantBlock, started: ReadonlySet<unknown>, place: Place): Entries => {
  if (block.type !== "tool-call") {
    return [`${block.type === "text" ? "assistant" : "reasoning"}: ${cut(block.text, place)}`]
  }
  return started.has(block.callId) ? [] : [`call ${block.name} ${json(block.input, place)} (not started)`]
}

/** Of the step that the answer at `place` belongs to: a later answer may use the same ids again. */
const startedCalls = ({ events, index }: Place): ReadonlySet<unknown> => {
  const started = new Set<unknown>()
  for (let i = index + 1; i < events.length; i++) {
    const event = events[i]
    if (event === undefined || event.type === AgentEvents.AssistantMessage.type) break
    if (event.type === AgentEvents.ToolCall.type && Predicate.isRecord(event.data)) started.add(event.data.callId)
  }
  return started
}

const resultText = (result: typeof AgentEvents.ToolResult.schema.Type, place: Place): string => {
  const cutOff = result.truncated === true ? " (truncated)" : ""
  return result.ok
    ? `result ${result.name}${cutOff}: ${cut(result.text, place)}`
    : `result ${result.name}${cutOff} failed ${result.error?.code ?? ""}: ${cut(result.error?.message ?? result.text, place)}`
}

const inboxEntries = (splice: typeof AgentEvents.InboxSpliced.schema.Type, place: Place): Entries =>
  splice.op === "insert"
    ? (splice.messages ?? []).map((message) => `insert ${splice.list} ${messageText(message, place)}`)
    : [`${splice.op} ${splice.list} x${splice.ids?.length ?? 0}`]

/** The jobs' package is above this one, so its events are read as they come. */
const jobEntries = ({ data, type }: SessionEvent, place: Place): Entries | undefined => {
  if (!Predicate.isRecord(data) || !Predicate.isString(data.id)) return undefined
  const more = (...texts: ReadonlyArray<unknown>) =>
    texts
      .filter(Predicate.isString)
      .map((text) => `: ${cut(text, place)}`)
      .join("")
  switch (type) {
    case "job/start":
      return [`job ${data.id} started${more(data.label)}`]
    case "job/kill-requested":
      return [`job ${data.id} kill requested${more(data.reason)}`]
    case "job/settle":
      return Predicate.isString(data.status)
        ? [`job ${data.id} ${data.status}${more(data.detail, data.reason)}`]
        : undefined
    default:
      return undefined
  }
}

const json = (value: unknown, place: Place): string => cut(JSON.stringify(value) ?? "undefined", place)

const cut = (text: string, { options }: Place): string => {
  const length = options?.maxLength ?? 500
  return text.length > length ? `${text.slice(0, length)}… (+${text.length - length})` : text
}
