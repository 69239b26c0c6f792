import type { Evidence, RawEvent, RawSession, Violation } from "../../SimulationCheck.js"

/** The log is contiguous, a fork begins as its parent does, and holds what was promised. */
export const log = (evidence: Evidence): ReadonlyArray<Violation> => {
  const byId = new Map(evidence.sessions.map((session) => [session.id, session]))
  return [
    ...evidence.sessions.flatMap((session) => [...contiguous(session), ...shared(session, byId)]),
    ...evidence.acknowledged.events.flatMap((given) => promised("was acknowledged", given, byId)),
    ...evidence.announced.flatMap((given) => promised("was announced", given, byId))
  ]
}

const contiguous = ({ events, id }: RawSession): ReadonlyArray<Violation> =>
  events.flatMap((event, index) =>
    event.seq === index ? [] : [{ session: id, seq: event.seq, problem: `stands where ${index} should` }]
  )

const shared = (session: RawSession, byId: ReadonlyMap<string, RawSession>): ReadonlyArray<Violation> => {
  if (session.parent === null) return []
  const parent = byId.get(session.parent)
  if (parent === undefined) return [{ session: session.id, problem: `its parent ${session.parent} is not there` }]
  const at = session.events
    .slice(0, session.seedLength)
    .findIndex((event, index) => !isSame(event, parent.events[index]))
  return at < 0 && session.events.length >= session.seedLength
    ? []
    : [{ session: session.id, seq: at, problem: `the history differs from that of ${session.parent}` }]
}

const promised = (
  how: string,
  { event, session }: { readonly session: string; readonly event: RawEvent },
  byId: ReadonlyMap<string, RawSession>
): ReadonlyArray<Violation> =>
  isSame(event, byId.get(session)?.events[event.seq])
    ? []
    : [{ session, seq: event.seq, problem: `${event.type} ${how} and is not stored like that` }]

const isSame = (one: RawEvent, other: RawEvent | undefined): boolean =>
  other !== undefined &&
  one.seq === other.seq &&
  one.type === other.type &&
  one.time === other.time &&
  JSON.stringify(one.data) === JSON.stringify(other.data)
