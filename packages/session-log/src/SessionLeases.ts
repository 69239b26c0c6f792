/**
 * Leases: one host drives a session at a time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SessionId } from "./SessionEvent.js"
import type { LeaseLost, SessionLeased, SessionNotFound } from "./SessionLogError.js"
import type { SessionStoreError } from "./SessionStore.js"

/**
 * A held lease. Appends of this process to the session carry its `epoch`, so a write after a take-over is refused by the store
 * whatever the clocks say.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lease {
  readonly sessionId: SessionId
  readonly epoch: number
  /**
   * Waits until the lease is lost: another host has it, or the store could not be reached until it had expired. Never returns
   * while it is held. A driver must then stop and close the lease's scope.
   */
  readonly lost: Effect.Effect<LeaseLost>
}

/**
 * Who drives which session.
 *
 * @since 0.1.0
 * @category tags
 */
export class SessionLeases extends Context.Tag("@afterturn/session-log/SessionLeases")<
  SessionLeases,
  {
    /**
     * Takes the lease of a session for as long as the scope is open, kept alive by a heartbeat on `Clock`. A holder that is
     * provably dead is replaced at once. `SessionLeased` also when a driver of this process has the session and has not yet
     * stopped, its lease lost or not.
     */
    readonly acquire: (
      id: SessionId
    ) => Effect.Effect<Lease, SessionNotFound | SessionLeased | SessionStoreError, Scope.Scope>
    /**
     * Sessions that somebody drove who stopped without giving the lease up, which has expired since: his process died or was cut off.
     * Those that have waited longest first, at most `limit`.
     */
    readonly expired: (limit: number) => Effect.Effect<ReadonlyArray<SessionId>, SessionStoreError>
  }
>() {}
