import { isDeepStrictEqual } from "node:util"
import type { Projection } from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { SessionLogCorrupt } from "@afterturn/session-log/SessionLogError"
import type { StoredHeader, StoredSnapshot } from "@afterturn/session-log/SessionStore"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/** A fold of a session's events, and what is said of it at the end. */
export interface FoldCheck {
  readonly add: (event: SessionEvent) => void
  readonly finish: Effect.Effect<void, SessionLogCorrupt>
}

/** An event that a fold did not take. */
interface Refused {
  readonly seq: number
  readonly reason: string
}

/** How the folds of a capability are checked. */
export interface CheckedFold {
  readonly key: string
  readonly version: number
  /** A snapshot, against the fold of the events that it stands for. */
  readonly snapshot: (
    header: StoredHeader,
    snapshot: StoredSnapshot,
    fault: (reason: string) => SessionLogCorrupt
  ) => FoldCheck
  /** All events, where the fold may refuse one. */
  readonly events: ((header: StoredHeader) => FoldCheck) | undefined
}

export const checkedFold = <State, Encoded>(
  projection: Projection<State, Encoded>,
  firstRefused?: (state: State) => Refused | null
): CheckedFold => ({
  key: projection.key,
  version: projection.version,
  snapshot: (header, snapshot, fault) => {
    const schema = Schema.parseJson(projection.schema)
    return folding(projection, header, snapshot.seq, (state) => {
      const stored = Schema.decodeEither(schema)(snapshot.state)
      if (Either.isLeft(stored)) return fault("it cannot be read")
      // As JSON, in which a key that is `undefined` is one that is not there.
      const same = isDeepStrictEqual(asJson(schema, stored.right), asJson(schema, state))
      return same ? undefined : fault("it differs from the fold of its events")
    })
  },
  events:
    firstRefused &&
    ((header) =>
      folding(projection, header, header.lastSeq, (state) => {
        const refused = firstRefused(state)
        return refused === null
          ? undefined
          : new SessionLogCorrupt({
              sessionId: header.id,
              seq: refused.seq,
              reason: `${projection.key}: ${refused.reason}`
            })
      }))
})

const folding = <State, Encoded>(
  projection: Projection<State, Encoded>,
  header: StoredHeader,
  throughSeq: number,
  problem: (state: State) => SessionLogCorrupt | undefined
): FoldCheck => {
  const fromSeq = projection.history === "own" ? header.seedLength : 0
  let state = projection.initial
  return {
    add: (event) => {
      const concerns = projection.types === undefined || projection.types.includes(event.type)
      if (concerns && event.seq >= fromSeq && event.seq <= throughSeq) state = projection.apply(state, event)
    },
    finish: Effect.suspend(() => problem(state) ?? Effect.void)
  }
}

const asJson = <State>(schema: Schema.Schema<State, string>, state: State): unknown =>
  JSON.parse(Schema.encodeSync(schema)(state))
