import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as FiberSet from "effect/FiberSet"
import { globalValue } from "effect/GlobalValue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Projected, Projection, Projections } from "../Projection.js"
import type { AlarmChange } from "../SessionAlarms.js"
import type { EventInput, SessionId } from "../SessionEvent.js"
import type { AppendError, ReadError } from "../SessionLogError.js"
import { attempt } from "./append.js"
import type { Engine } from "./engine.js"
import { readableHeader } from "./engine.js"
import type { Fold } from "./fold.js"
import { advance, advanceChecked, encodeState, load, step } from "./fold.js"
import { follow } from "./follow.js"
import { withNow } from "./now.js"
import { readPage } from "./read.js"
import { knownLastSeq } from "./tracked.js"

export interface ProjectionBounds {
  /** How many values are held; the least recently used goes first. */
  readonly capacity: number
  /** How many events are folded before a value is written to the store. */
  readonly snapshotEvery: number
}

interface Context {
  readonly engine: Engine
  readonly cache: Cache
  readonly bounds: ProjectionBounds
  /** Snapshots being written. */
  readonly saves: FiberSet.FiberSet
}

/** A value held for a session. */
interface Entry<State, Encoded> {
  readonly sessionId: SessionId
  readonly projection: Projection<State, Encoded>
  /** One fold at a time: who comes second finds the work done. */
  readonly lock: Effect.Semaphore
  fold: Fold<State> | undefined
}

export const make = (
  engine: Engine,
  bounds: ProjectionBounds
): Effect.Effect<(typeof Projections)["Service"], never, Scope.Scope> =>
  Effect.map(FiberSet.make(), (saves) => {
    const context: Context = { engine, bounds, saves, cache: makeCache(bounds.capacity) }
    return {
      get: (id, projection) => get(context, context.cache.entry(id, projection)),
      changes: (id, projection) => changes(context, id, projection),
      decide: (id, projection, decide_) => decide(context, id, projection, decide_),
      snapshot: Effect.fn("Projections.snapshot")((id: SessionId) => snapshotAll(context, id))
    }
  })

const get = <State, Encoded>(
  context: Context,
  entry: Entry<State, Encoded>
): Effect.Effect<Projected<State>, ReadError> =>
  withNow((now) => {
    const fold = entry.fold
    const known = knownLastSeq(context.engine.tracker.get(entry.sessionId), now)
    // This process drives the session and nothing was appended since: no query.
    if (fold !== undefined && fold.asOfSeq === known) return Effect.succeed(projected(fold))
    return entry.lock.withPermits(1)(refresh(context, entry, known))
  })

const projected = <State>(fold: Fold<State>): Projected<State> => ({ value: fold.value, asOfSeq: fold.asOfSeq })

const refresh = <State, Encoded>(
  context: Context,
  entry: Entry<State, Encoded>,
  known: number | undefined
): Effect.Effect<Projected<State>, ReadError> =>
  Effect.gen(function* () {
    const { fold, lastSeq } = yield* begin(context, entry, known)
    const { projection, sessionId } = entry
    const recent = context.engine.tracker.get(sessionId)?.driver?.lease?.recent.range(fold.asOfSeq + 1, lastSeq)
    if (recent !== undefined && known !== undefined) advanceChecked(projection, fold, recent)
    while (fold.asOfSeq < lastSeq) {
      const range = { fromSeq: fold.asOfSeq + 1, toSeq: lastSeq, types: projection.types, limit: Infinity }
      const events = yield* readPage(context.engine, sessionId, range)
      if (events.length === 0) fold.asOfSeq = Math.max(fold.asOfSeq, lastSeq)
      else yield* advance(context.engine.registry, sessionId, projection, fold, events)
    }
    yield* saveWhenDue(context, entry, fold)
    return projected(fold)
  })

/** The fold to go on with, and how far. */
const begin = <State, Encoded>(
  context: Context,
  entry: Entry<State, Encoded>,
  known: number | undefined
): Effect.Effect<{ readonly fold: Fold<State>; readonly lastSeq: number }, ReadError> =>
  Effect.gen(function* () {
    const held = entry.fold
    if (held !== undefined && known !== undefined) return { fold: held, lastSeq: known }
    const header = yield* readableHeader(context.engine, entry.sessionId)
    const isSame = held !== undefined && held.createdAt === header.createdAt && held.asOfSeq <= header.lastSeq
    const fold = isSame ? held : yield* load(context.engine.store, entry.projection, header)
    entry.fold = fold
    return { fold, lastSeq: header.lastSeq }
  })

const changes = <State, Encoded>(
  context: Context,
  id: SessionId,
  projection: Projection<State, Encoded>
): Stream.Stream<Projected<State>, ReadError> =>
  Stream.unwrap(
    Effect.map(get(context, context.cache.entry(id, projection)), (current) => {
      // The stream folds for itself, at its reader's pace.
      const fold: Fold<State> = { createdAt: 0, unsaved: 0, ...current }
      const later = follow(context.engine, id, { fromSeq: current.asOfSeq + 1, types: projection.types }).pipe(
        Stream.mapEffect((event) => {
          const before = fold.value
          const problem = step(context.engine.registry, id, projection, fold, event)
          if (problem !== undefined) return Effect.fail(problem)
          return Effect.succeed(fold.value === before ? undefined : projected(fold))
        }),
        Stream.filter((change) => change !== undefined)
      )
      return Stream.concat(Stream.succeed(current), later)
    })
  )

type Decide<State, A, E, R> = (current: Projected<State>) => Effect.Effect<
  {
    readonly events: ReadonlyArray<EventInput>
    readonly alarms?: ReadonlyArray<AlarmChange> | undefined
    readonly value: A
  },
  E,
  R
>

/** A decision within a decision would wait for itself. */
const isDeciding = globalValue("@afterturn/session-log/isDeciding", () =>
  FiberRef.unsafeMake<ReadonlyArray<SessionId>>([])
)

const decide = <State, Encoded, A, E, R>(
  context: Context,
  id: SessionId,
  projection: Projection<State, Encoded>,
  decideOn: Decide<State, A, E, R>
): Effect.Effect<A, E | ReadError | AppendError, R> =>
  Effect.flatMap(FiberRef.get(isDeciding), (within) =>
    within.includes(id)
      ? Effect.die(new Error(`expected a decision free of side effects, got another on session "${id}" within it`))
      : context.engine.tracker.of(id).deciding.withPermits(1)(
          Effect.locally(tryUntilStored(context, id, projection, decideOn), isDeciding, [...within, id])
        )
  )

const tryUntilStored = <State, Encoded, A, E, R>(
  context: Context,
  id: SessionId,
  projection: Projection<State, Encoded>,
  decideOn: Decide<State, A, E, R>
): Effect.Effect<A, E | ReadError | AppendError, R> =>
  Effect.gen(function* () {
    while (true) {
      const entry = context.cache.entry(id, projection)
      const current = yield* get(context, entry)
      const decision = yield* decideOn(current)
      const { alarms, events } = decision
      if (events.length === 0 && (alarms ?? []).length === 0) return decision.value
      const stored = yield* attempt(context.engine, id, events, { expectedSeq: current.asOfSeq, alarms })
      // Another append came between. It got somewhere, so trying again always ends.
      if ("actualSeq" in stored) continue
      const fold = entry.fold
      if (fold?.asOfSeq === current.asOfSeq) advanceChecked(projection, fold, stored)
      return decision.value
    }
  })

const saveWhenDue = <State, Encoded>(
  context: Context,
  entry: Entry<State, Encoded>,
  fold: Fold<State>
): Effect.Effect<void> =>
  fold.unsaved < context.bounds.snapshotEvery
    ? Effect.void
    : Effect.asVoid(
        FiberSet.run(
          context.saves,
          // A snapshot that is not written costs time at the next start, nothing else.
          Effect.catchAllCause(save(context, entry, fold), (cause) =>
            Effect.logWarning(
              `projection "${entry.projection.key}" of session "${entry.sessionId}" was not saved`,
              cause
            )
          )
        )
      )

const save = <State, Encoded>(context: Context, entry: Entry<State, Encoded>, fold: Fold<State>) =>
  Effect.suspend(() => {
    const { projection, sessionId } = entry
    const { asOfSeq, value } = fold
    // Counted anew from here, so that a store that fails is not asked again at every read.
    fold.unsaved = 0
    return Effect.flatMap(encodeState(projection, value), (state) =>
      context.engine.store.saveSnapshot(sessionId, {
        key: projection.key,
        version: projection.version,
        seq: asOfSeq,
        state
      })
    )
  })

const snapshotAll = (context: Context, id: SessionId): Effect.Effect<void, ReadError> =>
  Effect.gen(function* () {
    yield* readableHeader(context.engine, id)
    for (const entry of context.cache.ofSession(id)) {
      const fold = entry.fold
      if (fold === undefined || fold.unsaved === 0) continue
      // A state outside its own Schema is a defect of the projection.
      yield* Effect.catchTag(save(context, entry, fold), "ParseError", Effect.die)
    }
  })

interface Cache {
  readonly entry: <State, Encoded>(id: SessionId, projection: Projection<State, Encoded>) => Entry<State, Encoded>
  readonly ofSession: (id: SessionId) => ReadonlyArray<Entry<unknown, unknown>>
}

const makeCache = (capacity: number): Cache => {
  // In the order of their last use.
  const entries = new Map<string, Entry<unknown, unknown>>()
  return {
    entry: <State, Encoded>(id: SessionId, projection: Projection<State, Encoded>) => {
      const key = `${id} ${projection.key}`
      const present = entries.get(key) as Entry<State, Encoded> | undefined
      entries.delete(key)
      // Another projection under the same key has another state, whatever its version says.
      const entry: Entry<State, Encoded> =
        present?.projection === projection
          ? present
          : { sessionId: id, projection, lock: Effect.unsafeMakeSemaphore(1), fold: undefined }
      // Comes out as what went in: the projection that is compared above carries the types.
      entries.set(key, entry as unknown as Entry<unknown, unknown>)
      if (entries.size > capacity) entries.delete(entries.keys().next().value!)
      return entry
    },
    ofSession: (id) => Array.from(entries.values()).filter((entry) => entry.sessionId === id)
  }
}
