import type { Evidence, RawSession, Violation } from "../../SimulationCheck.js"
import { own } from "./own.js"

/** The list is the last one that was accepted, until a person opens a turn; and what a call was told is what is stored. */
export const todos = ({ sessions }: Evidence): ReadonlyArray<Violation> => sessions.flatMap(ofSession)

const ofSession = (session: RawSession): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  // Calls of one step run at once: each is judged by the lists that there were while it ran.
  const calls = new Map<string, { readonly wanted: string; readonly shown: Array<string> }>()
  let list = text(null)
  for (const { data, seq, type } of own(session)) {
    if (type === "todo/write") list = text(data.todos)
    else if (type === "turn/start" && data.source.kind === "user") list = text(null)
    else if (type === "tool/call" && data.name === "todo_write") {
      calls.set(data.callId, { wanted: text(trimmed(data.input?.todos)), shown: [list] })
    }
    for (const { shown } of calls.values()) shown.push(list)
    if (type !== "tool/result" || data.name !== "todo_write") continue
    const call = calls.get(data.callId)
    calls.delete(data.callId)
    if (data.ok === true && call?.shown.includes(call.wanted) === false) {
      found.push({ session: session.id, seq, problem: `${call.wanted} was accepted, and never was the list` })
    }
  }
  if ("todos" in session.observed && text(session.observed.todos) !== list) {
    found.push({
      session: session.id,
      problem: `the list is shown as ${text(session.observed.todos)}, the last one accepted is ${list}`
    })
  }
  return found
}

const trimmed = (given: unknown): unknown =>
  Array.isArray(given) ? given.map(({ content, status }) => ({ content: String(content).trim(), status })) : given

/** Independent of the order of keys. */
const text = (list: unknown): string =>
  JSON.stringify(Array.isArray(list) ? list.map(({ content, status }) => [content, status]) : list)
