import type { RawEvent, RawSession } from "../../SimulationCheck.js"

/** The events that are a session's own, not history that a fork took over. */
export const own = ({ events, seedLength }: RawSession): ReadonlyArray<RawEvent> => events.slice(seedLength)

/** A message as it stands in the log. */
export interface RawMessage {
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: raw JSON: each check reads what it knows of
  readonly source: any
}

/** A message that a turn took and kept. */
export interface Delivered {
  readonly message: RawMessage
  readonly seq: number
}

/** The messages that a turn took, without those that it gave back because it ended before the model had answered. */
export const delivered = (session: RawSession): ReadonlyArray<Delivered> => {
  const found: Array<Delivered> = []
  let taken: Array<Delivered> = []
  for (const event of own(session)) {
    if (event.type === "user/message") taken.push({ message: event.data, seq: event.seq })
    else if (event.type === "turn/end") found.push(...taken.splice(0))
    else {
      const back = new Set(insertedBy(event).map(({ id }) => id))
      taken = taken.filter(({ message }) => !back.has(message.id))
    }
  }
  return [...found, ...taken]
}

/** The messages that an event puts into the inbox. */
export const insertedBy = ({ data, type }: RawEvent): ReadonlyArray<RawMessage> =>
  type === "agent/inbox/spliced" && data.op === "insert" ? data.messages : []

/** The N of an id like `bash-N`. */
export const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf("-") + 1))

/** The highest number of the ids that a fork's history has used up. */
export const usedUp = (session: RawSession, idOf: (event: RawEvent) => string | undefined): number =>
  session.events.slice(0, session.seedLength).reduce((most, event) => Math.max(most, numberOf(idOf(event) ?? "-0")), 0)
