import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { EventTypes } from "../EventTypes.js"
import type { SessionId } from "../SessionEvent.js"
import type { SessionVersionUnsupported } from "../SessionLogError.js"
import { SessionNotFound } from "../SessionLogError.js"
import type { SessionStore, StoredHeader } from "../SessionStore.js"
import { SessionStoreError } from "../SessionStore.js"
import type { Committer } from "./committer.js"
import { withNow } from "./now.js"
import { headerProblem, unsupported } from "./rows.js"
import type { Tracker } from "./tracked.js"
import { knownLastSeq, learnLastSeq } from "./tracked.js"

/** What the services of one layer share. */
export interface Engine {
  readonly store: (typeof SessionStore)["Service"]
  readonly registry: (typeof EventTypes)["Service"]
  readonly tracker: Tracker
  readonly committer: Committer
  readonly pageEvents: number
  readonly pageBytes: number
  /** Milliseconds; `Infinity`: nobody else writes to this store. */
  readonly pollMillis: number
}

export const requireHeader = (
  engine: Engine,
  id: SessionId
): Effect.Effect<StoredHeader, SessionNotFound | SessionStoreError> =>
  Effect.suspend(() => {
    const tracked = engine.tracker.get(id)
    const lease = tracked?.driver?.lease
    return Effect.flatMap(engine.store.header(id), (found) => {
      if (Option.isNone(found)) return Effect.fail(new SessionNotFound({ sessionId: id }))
      if (tracked !== undefined) learnLastSeq(tracked, lease, found.value.lastSeq)
      return Effect.succeed(found.value)
    })
  })

/** The header of a session that this release reads. */
export const readableHeader = (
  engine: Engine,
  id: SessionId
): Effect.Effect<StoredHeader, SessionNotFound | SessionVersionUnsupported | SessionStoreError> =>
  Effect.flatMap(requireHeader(engine, id), (header) => {
    const problem = unsupported(header) ?? damaged(header)
    return problem === undefined ? Effect.succeed(header) : Effect.fail(problem)
  })

const damaged = (header: StoredHeader): SessionStoreError | undefined => {
  const problem = headerProblem(header)
  return problem === undefined
    ? undefined
    : new SessionStoreError({
        reason: "damaged",
        message: `the header of session "${header.id}" is damaged: ${problem}`
      })
}

/** The seq of the last event of a session that this release reads, without a query when this process drives it. */
export const readableLastSeq = (
  engine: Engine,
  id: SessionId
): Effect.Effect<number, SessionNotFound | SessionVersionUnsupported | SessionStoreError> =>
  withNow((now) => {
    const tracked = engine.tracker.get(id)
    const known = tracked?.checked === true ? knownLastSeq(tracked, now) : undefined
    return known === undefined
      ? Effect.map(readableHeader(engine, id), (header) => header.lastSeq)
      : Effect.succeed(known)
  })
