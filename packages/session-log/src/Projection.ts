/**
 * Projections: pure folds of a session's events into a value.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { AlarmChange } from "./SessionAlarms.js"
import type { EventInput, SessionEvent, SessionId } from "./SessionEvent.js"
import type { AppendError, ReadError } from "./SessionLogError.js"

/**
 * A fold of events. `apply` is pure and synchronous and returns the same reference for an event that does not concern it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Projection<in out State, in out Encoded = State> {
  /** Names the projection in the store. */
  readonly key: string
  /** A snapshot of another version is ignored: raise it with every change of `apply` or `schema`. */
  readonly version: number
  /** How a snapshot is written. */
  readonly schema: Schema.Schema<State, Encoded>
  readonly initial: State
  /**
   * The data of an event whose type is registered has passed its Schema before it comes here; a stored event that does not ends
   * the fold as `SessionLogCorrupt`, unless its type is `tolerant`.
   */
  readonly apply: (state: State, event: SessionEvent) => State
  /** The only event types that `apply` looks at; absent: any. Only these are read from the store. */
  readonly types: ReadonlyArray<string> | undefined
  /**
   * What a fork's projection begins with: `own` folds only the session's own events (the parent's are history); `inherited`
   * folds the parent's prefix as well, as counters of ids that must never be used again do.
   */
  readonly history: "own" | "inherited"
}

/**
 * Some projection, when it does not matter of what.
 *
 * @since 0.1.0
 * @category models
 */
// biome-ignore lint/suspicious/noExplicitAny: a projection is invariant in its state, so that nothing else names them all
export type Any = Projection<any, any>

/**
 * Declares a projection.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <State, Encoded>(options: {
  readonly key: string
  readonly version: number
  readonly schema: Schema.Schema<State, Encoded>
  readonly initial: State
  readonly apply: (state: State, event: SessionEvent) => State
  readonly types?: ReadonlyArray<string> | undefined
  readonly history?: "own" | "inherited"
}): Projection<State, Encoded> => ({ types: undefined, history: "own", ...options })

/**
 * A projection's value and the seq of the last event that is in it (-1: none).
 *
 * @since 0.1.0
 * @category models
 */
export interface Projected<out State> {
  readonly value: State
  readonly asOfSeq: number
}

/**
 * The values of projections, kept as long as they are of use.
 *
 * @since 0.1.0
 * @category tags
 */
export class Projections extends Context.Tag("@afterturn/session-log/Projections")<
  Projections,
  {
    /** The value as of the last stored event: the snapshot, if there is one, and the events after it. */
    readonly get: <State, Encoded>(
      id: SessionId,
      projection: Projection<State, Encoded>
    ) => Effect.Effect<Projected<State>, ReadError>

    /** The value now and after each change of it (by reference). Never ends by itself. */
    readonly changes: <State, Encoded>(
      id: SessionId,
      projection: Projection<State, Encoded>
    ) => Stream.Stream<Projected<State>, ReadError>

    /**
     * Decides on the present value and appends what was decided, as one step: when another append came between, the value is
     * folded on and the decision made again. `decide` must be free of side effects; no events and no alarms means nothing is stored. One
     * decision of a session at a time in this process: a decision within a decision on the same session is a defect.
     */
    readonly decide: <State, Encoded, A, E, R>(
      id: SessionId,
      projection: Projection<State, Encoded>,
      decide: (current: Projected<State>) => Effect.Effect<
        {
          readonly events: ReadonlyArray<EventInput>
          readonly alarms?: ReadonlyArray<AlarmChange> | undefined
          readonly value: A
        },
        E,
        R
      >
    ) => Effect.Effect<A, E | ReadError | AppendError, R>

    /** Writes the values held for a session to the store, so that the next `get` of any process folds only what follows. */
    readonly snapshot: (id: SessionId) => Effect.Effect<void, ReadError>
  }
>() {}
