import type { Evidence, RawEvent, RawSession, Violation } from "../../SimulationCheck.js"
import type { RawMessage } from "./own.js"
import { own } from "./own.js"

/** Each message comes in once and leaves once, and what a person was promised is there. */
export const inbox = ({ acknowledged, sessions }: Evidence): ReadonlyArray<Violation> => [
  ...sessions.flatMap(ofSession),
  ...acknowledged.messages.flatMap(({ id, session }) => {
    const isThere = sessions.some((one) => one.id === session && own(one).some((event) => inserted(event, id)))
    return isThere ? [] : [{ session, problem: `message ${id} was accepted and is not in the log` }]
  })
]

const inserted = ({ data, type }: RawEvent, id: string): boolean =>
  type === "agent/inbox/spliced" && data.op === "insert" && data.messages.some((one: RawMessage) => one.id === id)

interface State {
  readonly waiting: Map<string, string>
  /** Claimed by the open turn and not yet shown as its message. */
  readonly claimed: Set<string>
  /** What the open turn has taken; before its first answer it may go back. */
  readonly taken: Set<string>
  readonly seen: Set<string>
}

const ofSession = (session: RawSession): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const state: State = { waiting: new Map(), claimed: new Set(), taken: new Set(), seen: new Set() }
  for (const event of own(session)) {
    for (const problem of next(state, event)) found.push({ session: session.id, seq: event.seq, problem })
  }
  for (const [id] of state.waiting) found.push({ session: session.id, problem: `message ${id} still waits at the end` })
  return found
}

const next = (state: State, { data, type }: RawEvent): ReadonlyArray<string> => {
  switch (type) {
    case "agent/inbox/spliced":
      return data.op === "insert" ? insert(state, data.list, data.messages) : take(state, data)
    case "user/message": {
      const isClaimed = state.claimed.delete(data.id)
      state.taken.add(data.id)
      return isClaimed ? [] : [`message ${data.id} reaches a turn that has not claimed it`]
    }
    case "assistant/message":
      state.taken.clear()
      return []
    case "turn/end": {
      const lost = [...state.claimed].map((id) => `message ${id} was claimed and never shown to the turn`)
      state.claimed.clear()
      state.taken.clear()
      return lost
    }
    default:
      return []
  }
}

const insert = (state: State, list: string, messages: ReadonlyArray<RawMessage>): ReadonlyArray<string> =>
  messages.flatMap(({ id }) => {
    // Back from a turn that ended before the model answered.
    const isBack = state.taken.delete(id)
    const isTwice = state.waiting.has(id) || (state.seen.has(id) && !isBack)
    state.waiting.set(id, list)
    state.seen.add(id)
    return isTwice ? [`message ${id} comes in again`] : []
  })

const take = (
  state: State,
  data: { readonly op: string; readonly list: string; readonly ids: ReadonlyArray<string> }
): ReadonlyArray<string> =>
  data.ids.flatMap((id) => {
    const isThere = state.waiting.get(id) === data.list
    state.waiting.delete(id)
    if (data.op === "claim") state.claimed.add(id)
    return isThere ? [] : [`${data.op} of message ${id}, which does not wait in ${data.list}`]
  })
