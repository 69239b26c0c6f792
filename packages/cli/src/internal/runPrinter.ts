import type { AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { toText } from "@afterturn/agent/AgentMessage"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as SafeText from "../chat/SafeText.js"
import * as TextLayout from "../chat/TextLayout.js"
import type { Output, StdoutClosed } from "../Output.js"
import { callText, reasonText } from "../Render.js"
import { jsonText } from "./json.js"

/** A turn of the run that did not complete. */
export interface FailedTurn {
  readonly turn: number
  readonly reason: AgentEvents.TurnEndReason
}

/** Shows what a run does as it happens, and keeps what it comes to. */
export interface RunPrinter {
  /** Shows one thing, whole. Events come in order, each once; text may come late, or not at all. */
  readonly print: (item: AgentOutput) => Effect.Effect<void>
  /** The last event that was shown; -1 before the first. */
  readonly lastSeq: () => number
  readonly failed: () => ReadonlyArray<FailedTurn>
  /** Why nothing was shown any more from some moment on. */
  readonly closed: () => StdoutClosed | undefined
}

/** Columns of a call on stderr: enough to recognize it. */
const callColumns = 200

export const make = (output: Context.Tag.Service<Output>): RunPrinter => {
  let lastSeq = -1
  const failed: Array<FailedTurn> = []
  const { closed, write } = untilClosed(output)
  const speech = makeSpeech(output.terminal, write)
  const note = (text: string) => output.note(TextLayout.truncate(SafeText.cleanLine(text), callColumns))

  const showEvent = (event: SessionEvent): Effect.Effect<void> => {
    if (output.json) return write(`${jsonText(event, output)}\n`)
    switch (event.type) {
      case AgentEvents.AssistantMessage.type:
        return decoded(AgentEvents.AssistantMessage.decode(event), speech.message)
      case AgentEvents.ToolCall.type:
        return decoded(AgentEvents.ToolCall.decode(event), ({ input, name }) => note(callText(name, input)))
      case AgentEvents.ToolResult.type:
        return decoded(AgentEvents.ToolResult.decode(event), ({ name, ok, text }) =>
          ok ? Effect.void : note(`${name} failed: ${text}`)
        )
      case AgentEvents.UserMessage.type:
        return decoded(AgentEvents.UserMessage.decode(event), ({ content, source }) =>
          source.kind === "job-notice"
            ? Effect.forEach(toText(content).split("\n"), note, { discard: true })
            : source.kind === "goal-round"
              ? note(`${source.goalId}, round ${source.round}`)
              : Effect.void
        )
      case AgentEvents.TurnEnd.type:
        return speech.end
      default:
        return Effect.void
    }
  }

  return {
    lastSeq: () => lastSeq,
    failed: () => failed,
    closed,
    print: (item) =>
      Effect.uninterruptible(
        Effect.suspend(() => {
          switch (item._tag) {
            case "Event":
              lastSeq = item.event.seq
              collectFailure(failed, item.event)
              return showEvent(item.event)
            case "Text":
              return speech.delta(item)
            case "Retry":
              return Effect.zipRight(speech.end, note(`asking the model again: ${item.message}`))
            case "Reasoning":
              return Effect.void
          }
        })
      )
  }
}

const decoded = <A, E>(result: Either.Either<A, E>, show: (value: A) => Effect.Effect<void>): Effect.Effect<void> =>
  Either.isRight(result) ? show(result.right) : Effect.void

/** An interrupted turn is not this run's: it was left open by a process before, and closed when the session came alive. */
const collectFailure = (failed: Array<FailedTurn>, event: SessionEvent): void => {
  if (event.type !== AgentEvents.TurnEnd.type) return
  const end = AgentEvents.TurnEnd.decode(event)
  if (Either.isLeft(end)) return
  const { kind } = end.right.reason
  if (kind !== "completed" && kind !== "interrupted") failed.push(end.right)
}

export const failureText = ({ reason, turn }: FailedTurn): string => `turn ${turn} ${reasonText(reason)}`

/** The run goes on when its output is not taken any more: the log is what counts. */
const untilClosed = (output: Context.Tag.Service<Output>) => {
  let closed: StdoutClosed | undefined
  const write = (text: string): Effect.Effect<void> =>
    closed !== undefined || text === ""
      ? Effect.void
      : Effect.catchTag(output.write(text), "StdoutClosed", (error) =>
          Effect.sync(() => {
            closed = error
          })
        )
  return { closed: () => closed, write }
}

interface Delta {
  readonly turn: number
  readonly step: number
  readonly delta: string
}

/**
 * The model's text: shown as it arrives, completed by the message that the log holds. Only a terminal needs protection from it.
 */
const makeSpeech = (terminal: boolean, write: (text: string) => Effect.Effect<void>) => {
  let current = { turn: 0, step: 0 }
  /** The text of the current step so far, and how much of that may be half of something unsafe. */
  let shown = ""
  let held = ""
  let done = { turn: 0, step: 0 }

  const emit = (piece: string): Effect.Effect<void> => {
    shown += piece
    if (!terminal) return write(piece)
    const [safe, rest] = SafeText.cleanPiece(held, piece)
    held = rest
    return write(safe)
  }
  const endLine = Effect.suspend(() => {
    const rest = terminal ? SafeText.clean(held) : ""
    const lineBreak = shown === "" || shown.endsWith("\n") ? "" : "\n"
    shown = ""
    held = ""
    return write(rest + lineBreak)
  })
  const isBefore = (a: { turn: number; step: number }, b: { turn: number; step: number }) =>
    a.turn < b.turn || (a.turn === b.turn && a.step < b.step)

  return {
    /** What was shown so far is all that comes of it. */
    end: endLine,
    delta: ({ delta, step, turn }: Delta): Effect.Effect<void> => {
      const place = { turn, step }
      if (!isBefore(done, place)) return Effect.void
      const fresh = isBefore(current, place) ? endLine : Effect.void
      current = place
      return Effect.zipRight(
        fresh,
        Effect.suspend(() => emit(delta))
      )
    },
    message: (message: (typeof AgentEvents.AssistantMessage.schema)["Type"]): Effect.Effect<void> => {
      const place = { turn: message.turn, step: message.step }
      const text = message.content.map((block) => (block.type === "text" ? block.text : "")).join("")
      const isContinued = !isBefore(current, place) && text.startsWith(shown)
      done = place
      current = place
      return (isContinued ? Effect.void : endLine).pipe(
        Effect.zipRight(Effect.suspend(() => emit(text.slice(shown.length)))),
        Effect.zipRight(endLine)
      )
    }
  }
}
