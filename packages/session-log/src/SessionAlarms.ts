/**
 * Alarms: instants at which a session needs a host, kept in an index beside the log so that a host finds the sessions that nobody
 * drives without reading any of them.
 *
 * An alarm is set or cleared in the transaction of the append that it follows from (`AppendOptions.alarms`), so that it is there
 * exactly when the event is. It is no event: a fork and an import begin without any, and a removed session leaves none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Instant } from "./Instant.js"
import type { SessionId } from "./SessionEvent.js"
import type { SessionStoreError } from "./SessionStore.js"

/**
 * Sets an alarm of a session, or clears it: one a key. Keys are names such as `reminders`: lower case, digits and `-`, up to 64
 * characters.
 *
 * @since 0.1.0
 * @category models
 */
export interface AlarmChange {
  readonly key: string
  readonly dueAt: Instant | null
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Alarm {
  readonly sessionId: SessionId
  readonly key: string
  readonly dueAt: Instant
}

/**
 * @since 0.1.0
 * @category models
 */
export interface DueOptions {
  /** Alarms due at or before this instant. */
  readonly until: Instant
  /** At most this many. */
  readonly limit: number
  /** Goes on behind the last alarm of the page before. */
  readonly after?: Alarm
}

/**
 * Which sessions need a host, and when.
 *
 * @since 0.1.0
 * @category tags
 */
export class SessionAlarms extends Context.Tag("@afterturn/session-log/SessionAlarms")<
  SessionAlarms,
  {
    /**
     * Alarms that are due, earliest first, of sessions that no live lease holds now: what a driven session needs its driver sees to.
     * O(log n) in the number of alarms.
     */
    readonly due: (options: DueOptions) => Effect.Effect<ReadonlyArray<Alarm>, SessionStoreError>
    /** When the earliest alarm strictly after an instant is due, driven sessions included. */
    readonly next: (after: Instant) => Effect.Effect<Option.Option<Instant>, SessionStoreError>
    /** The alarms of a session, by key. */
    readonly of: (id: SessionId) => Effect.Effect<ReadonlyArray<Alarm>, SessionStoreError>
  }
>() {}
