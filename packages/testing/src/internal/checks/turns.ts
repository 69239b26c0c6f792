import type { Evidence, RawEvent, RawSession, Violation } from "../../SimulationCheck.js"
import { own } from "./own.js"

interface Open {
  readonly turn: number
  step: number
  isInStep: boolean
  /** Calls of the open step: whether a result has come. */
  readonly calls: Map<string, boolean>
}

/** Turns and steps open and close in order, and each call is answered once. */
export const turns = ({ sessions }: Evidence): ReadonlyArray<Violation> => sessions.flatMap(ofSession)

const ofSession = (session: RawSession): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  // Turns are counted on from those of the history.
  let last = session.events.slice(0, session.seedLength).reduce((most, event) => Math.max(most, turnOf(event)), 0)
  let open: Open | undefined
  for (const event of own(session)) {
    const problem = next(event, open, last)
    if (problem !== undefined) found.push({ session: session.id, seq: event.seq, problem: `${event.type}: ${problem}` })
    if (event.type === "turn/start") {
      last = event.data.turn
      open = { turn: last, step: 0, isInStep: false, calls: new Map() }
    } else if (event.type === "turn/end") open = undefined
    else if (open !== undefined) apply(open, event)
  }
  if (open !== undefined) found.push({ session: session.id, problem: `turn ${open.turn} is still open` })
  return found
}

const turnOf = ({ data, type }: RawEvent): number => (type === "turn/start" ? data.turn : 0)

const next = ({ data, type }: RawEvent, open: Open | undefined, last: number): string | undefined => {
  if (type === "turn/start") {
    if (open !== undefined) return `turn ${open.turn} is open`
    return data.turn === last + 1 ? undefined : `turn ${data.turn} follows ${last}`
  }
  const isOfTurn = /^(turn|step|assistant|tool)\//.test(type) || type === "user/message"
  if (!isOfTurn) return undefined
  if (open === undefined) return "no turn is open"
  if (data.turn !== undefined && data.turn !== open.turn) return `turn ${open.turn} is open, not ${data.turn}`
  switch (type) {
    case "step/start":
      if (open.isInStep) return `step ${open.step} is open`
      return data.step === open.step + 1 ? undefined : `step ${data.step} follows ${open.step}`
    case "step/end":
    case "assistant/message":
    case "tool/call":
      if (!open.isInStep) return "no step is open"
      return data.step === open.step ? undefined : `step ${open.step} is open, not ${data.step}`
    case "tool/result":
      if (!open.calls.has(data.callId)) return `nobody made the call ${data.callId}`
      return open.calls.get(data.callId) === true ? `the call ${data.callId} has its answer` : undefined
    case "turn/end":
      return [...open.calls.values()].every((isAnswered) => isAnswered) ? undefined : "calls are left without an answer"
    default:
      return undefined
  }
}

const apply = (open: Open, { data, type }: RawEvent): void => {
  if (type === "step/start") {
    open.step = data.step
    open.isInStep = true
  } else if (type === "step/end") open.isInStep = false
  else if (type === "tool/result") open.calls.set(data.callId, true)
  else if (type === "assistant/message") {
    for (const block of data.content) if (block.type === "tool-call") open.calls.set(block.callId, false)
  }
}
