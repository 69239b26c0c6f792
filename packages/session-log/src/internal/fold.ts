import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { EventTypes } from "../EventTypes.js"
import type { Projection } from "../Projection.js"
import type { SessionEvent, SessionId } from "../SessionEvent.js"
import type { SessionLogCorrupt } from "../SessionLogError.js"
import type { SessionStore, SessionStoreError, StoredHeader, StoredSnapshot } from "../SessionStore.js"
import { decoder } from "./parseError.js"
import { corrupt } from "./rows.js"

/** How far a projection has been folded. */
export interface Fold<State> {
  /** Tells the session from another that got its id after a removal. */
  readonly createdAt: number
  value: State
  asOfSeq: number
  /** Events folded since the snapshot in the store, as far as this process knows. */
  unsaved: number
}

/** The first seq that a projection folds. */
const startOf = (
  projection: { readonly history: "own" | "inherited" },
  header: { readonly seedLength: number }
): number => (projection.history === "own" ? header.seedLength : 0)

export const fromInitial = <State, Encoded>(
  projection: Projection<State, Encoded>,
  header: StoredHeader
): Fold<State> => ({
  createdAt: header.createdAt,
  value: projection.initial,
  asOfSeq: startOf(projection, header) - 1,
  unsaved: 0
})

/** Where a fold begins: at the snapshot in the store, when it is of this version and sound, else at the initial value. */
export const load = <State, Encoded>(
  store: (typeof SessionStore)["Service"],
  projection: Projection<State, Encoded>,
  header: StoredHeader
): Effect.Effect<Fold<State>, SessionStoreError> =>
  Effect.gen(function* () {
    const initial = fromInitial(projection, header)
    const snapshot = yield* store.snapshot(header.id, projection.key, projection.version)
    if (Option.isNone(snapshot) || !isInRange(snapshot.value, initial, header)) return initial
    const value = yield* Effect.option(decodeState(projection, snapshot.value.state))
    return Option.match(value, {
      // A snapshot is a shortcut: one that can't be read costs a fold from the start, nothing else.
      onNone: () => initial,
      onSome: (value) => ({ ...initial, value, asOfSeq: snapshot.value.seq })
    })
  })

const isInRange = (snapshot: StoredSnapshot, initial: Fold<unknown>, header: StoredHeader): boolean =>
  Number.isInteger(snapshot.seq) && snapshot.seq >= initial.asOfSeq && snapshot.seq <= header.lastSeq

export const decodeState = <State, Encoded>(projection: Projection<State, Encoded>, text: string) =>
  decoder(Schema.parseJson(projection.schema), {})(text)

export const encodeState = <State, Encoded>(projection: Projection<State, Encoded>, value: State) =>
  Schema.encode(Schema.parseJson(projection.schema))(value)

/** Folds events that follow and that were checked when they were stored. */
export const advanceChecked = <State, Encoded>(
  projection: Projection<State, Encoded>,
  fold: Fold<State>,
  events: ReadonlyArray<SessionEvent>
): void => {
  for (const event of events) if (event.seq > fold.asOfSeq) apply(projection, fold, event)
}

/** Folds events that follow; those that are in it already are passed over. */
export const advance = <State, Encoded>(
  registry: (typeof EventTypes)["Service"],
  id: SessionId,
  projection: Projection<State, Encoded>,
  fold: Fold<State>,
  events: ReadonlyArray<SessionEvent>
): Effect.Effect<void, SessionLogCorrupt> =>
  Effect.suspend(() => {
    for (const event of events) {
      if (event.seq <= fold.asOfSeq) continue
      const problem = step(registry, id, projection, fold, event)
      if (problem !== undefined) return Effect.fail(problem)
    }
    return Effect.void
  })

/** Folds one event, or says what is wrong with it: what a projection folds is of its type. */
export const step = <State, Encoded>(
  registry: (typeof EventTypes)["Service"],
  id: SessionId,
  projection: Projection<State, Encoded>,
  fold: Fold<State>,
  event: SessionEvent
): SessionLogCorrupt | undefined => {
  const checks = concerns(projection, event) && registry.get(event.type)?.tolerant !== true
  const problem = checks ? problemOf(registry, event) : undefined
  if (problem !== undefined) return corrupt(id, event.seq, problem)
  apply(projection, fold, event)
  return undefined
}

/** What an event's registered type has against it. */
export const problemOf = (registry: (typeof EventTypes)["Service"], event: SessionEvent): string | undefined => {
  const problem = registry.get(event.type)?.problem(event.data)
  return problem === undefined ? undefined : `event "${event.type}": ${problem}`
}

/** Folds an event that is known to be sound. */
export const apply = <State, Encoded>(
  projection: Projection<State, Encoded>,
  fold: Fold<State>,
  event: SessionEvent
): void => {
  if (concerns(projection, event)) {
    fold.value = projection.apply(fold.value, event)
    fold.unsaved++
  }
  fold.asOfSeq = event.seq
}

const concerns = (projection: { readonly types: ReadonlyArray<string> | undefined }, event: SessionEvent): boolean =>
  projection.types === undefined || projection.types.includes(event.type)
