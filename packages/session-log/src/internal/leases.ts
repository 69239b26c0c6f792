import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Host } from "../Host.js"
import type { SessionId } from "../SessionEvent.js"
import type { Lease, SessionLeases } from "../SessionLeases.js"
import type { SessionLeased } from "../SessionLogError.js"
import { LeaseLost, SessionNotFound } from "../SessionLogError.js"
import type { SessionStore, SessionStoreError, StoredLease } from "../SessionStore.js"
import { leased } from "./append.js"
import { withNow } from "./now.js"
import { Recent } from "./recent.js"
import { maxMillis } from "./rows.js"
import type { HeldLease, Tracked, Tracker } from "./tracked.js"

export interface LeaseContext {
  readonly store: (typeof SessionStore)["Service"]
  readonly tracker: Tracker
  readonly host: (typeof Host)["Service"]
  /** Milliseconds; `Infinity`: nobody else can take it, so there is no heartbeat. */
  readonly ttlMillis: number
  readonly heartbeatMillis: number
}

export const make = (context: LeaseContext): (typeof SessionLeases)["Service"] => ({
  acquire: Effect.fn("SessionLeases.acquire")((id: SessionId) => acquire(context, id)),
  expired: (limit) => withNow((now) => context.store.expiredLeases({ now, limit }))
})

type AcquireError = SessionNotFound | SessionLeased | SessionStoreError

/** In a scope of its own, so that a refusal leaves nothing behind in a scope that lives on. */
const acquire = (context: LeaseContext, id: SessionId): Effect.Effect<Lease, AcquireError, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      return yield* restore(Scope.extend(takeLease(context, id), scope)).pipe(
        Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
      )
    })
  )

const takeLease = (context: LeaseContext, id: SessionId): Effect.Effect<Lease, AcquireError, Scope.Scope> =>
  Effect.gen(function* () {
    const driver = yield* becomeDriver(context, id)
    const first = yield* attempt(context, id, undefined)
    if (first._tag === "acquired") return yield* keep(context, driver, first.lease)
    if (!(yield* context.host.isDead(first.lease))) return yield* leased(first.lease)
    const second = yield* attempt(context, id, first.lease)
    if (second._tag === "acquired") return yield* keep(context, driver, second.lease)
    return yield* leased(second.lease)
  })

/** One driver of a session in this process, from the moment it asks until its scope has closed. */
const becomeDriver = (context: LeaseContext, id: SessionId): Effect.Effect<Driver, SessionLeased, Scope.Scope> =>
  withNow((now) =>
    Effect.acquireRelease(
      Effect.suspend(() => {
        const tracked = context.tracker.of(id)
        if (tracked.driver !== undefined) {
          const present = tracked.driver.lease
          return Effect.fail(
            leased({
              sessionId: id,
              ...context.host.self,
              epoch: present?.epoch ?? 0,
              expiresAt: present?.expiresAt ?? expiresAfter(context, now)
            })
          )
        }
        const driver: Driver = { tracked, lease: undefined }
        tracked.driver = driver
        return Effect.succeed(driver)
      }),
      (driver) =>
        Effect.sync(() => {
          driver.tracked.driver = undefined
          driver.tracked.lastSeq = undefined
        })
    )
  )

interface Driver {
  readonly tracked: Tracked
  lease: HeldLease | undefined
}

const expiresAfter = (context: LeaseContext, now: number): number =>
  Math.min(now + Math.floor(context.ttlMillis), maxMillis)

/** The row is given back with the scope, from the moment it is ours. */
const attempt = (context: LeaseContext, id: SessionId, replaces: StoredLease | undefined) =>
  Effect.acquireRelease(
    withNow((now) =>
      context.store.acquireLease({
        sessionId: id,
        holder: context.host.self,
        now,
        expiresAt: expiresAfter(context, now),
        replaces: replaces === undefined ? undefined : { epoch: replaces.epoch }
      })
    ),
    (result) => (result._tag === "acquired" ? release(context, result.lease) : Effect.void)
  ).pipe(
    Effect.flatMap((result) =>
      result._tag === "not-found" ? Effect.fail(new SessionNotFound({ sessionId: id })) : Effect.succeed(result)
    )
  )

const release = (context: LeaseContext, lease: StoredLease): Effect.Effect<void> =>
  // Nothing is lost but time: a row that stays stands in the way of others until it expires.
  Effect.catchAll(context.store.releaseLease(lease.sessionId, lease.epoch), (error) =>
    Effect.logWarning(`the lease of session "${lease.sessionId}" was not released, it expires by itself`, error)
  )

const keep = (context: LeaseContext, driver: Driver, row: StoredLease): Effect.Effect<Lease, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lost = yield* Deferred.make<LeaseLost>()
    const held: HeldLease = {
      epoch: row.epoch,
      expiresAt: row.expiresAt,
      isLost: false,
      recent: new Recent(),
      lose: (fault) => {
        held.isLost = true
        const facts = fault === undefined ? {} : { fault }
        Deferred.unsafeDone(lost, Effect.succeed(new LeaseLost({ sessionId: row.sessionId, ...facts })))
      }
    }
    driver.lease = held
    if (context.ttlMillis !== Infinity)
      yield* Effect.forkScoped(heartbeat(context, row.sessionId, driver.tracked, held))
    return { sessionId: row.sessionId, epoch: row.epoch, lost: Deferred.await(lost) }
  })

/**
 * Ends when the lease is lost: the epoch is another's, or nothing was heard of the store until the lease had expired. A clock
 * that jumped proves nothing: the store is asked first.
 */
const heartbeat = (context: LeaseContext, id: SessionId, tracked: Tracked, held: HeldLease): Effect.Effect<void> =>
  Effect.gen(function* () {
    const retry = Math.min(retryMillis, context.heartbeatMillis)
    let pause = context.heartbeatMillis
    let fault: string | undefined
    while (true) {
      yield* Effect.sleep(pause)
      const renewal = yield* renew(context, id, tracked, held)
      if (renewal._tag === "Gone") return held.lose(renewal.fault)
      const next = renewal._tag === "Unknown" ? renewal.fault : undefined
      // Said when it begins, not each second while it lasts.
      if (next !== undefined && next !== fault) {
        yield* Effect.logWarning(`the lease of session "${id}" could not be renewed, it is tried again: ${next}`)
      }
      fault = next
      pause = fault === undefined ? context.heartbeatMillis : retry
    }
  })

/** How a renewal went. `Gone` without a fault: the store says that the lease is another's. */
type Renewal =
  | { readonly _tag: "Kept" }
  | { readonly _tag: "Unknown"; readonly fault: string }
  | { readonly _tag: "Gone"; readonly fault?: string }

/** Between the attempts to renew a lease while the store fails. */
const retryMillis = 1000

const renew = (context: LeaseContext, id: SessionId, tracked: Tracked, held: HeldLease): Effect.Effect<Renewal> =>
  withNow((now) => {
    const expiresAt = expiresAfter(context, now)
    return context.store.renewLease(id, held.epoch, expiresAt).pipe(
      Effect.map((renewed): Renewal => {
        // Since the expiry others could append without a lease.
        if (now >= held.expiresAt) tracked.lastSeq = undefined
        if (!renewed) return { _tag: "Gone" }
        held.expiresAt = expiresAt
        return { _tag: "Kept" }
      }),
      Effect.catchAll(({ message: fault }) =>
        // Later than it was asked: the store may have taken its time to fail.
        withNow((later) =>
          Effect.succeed<Renewal>(later < held.expiresAt ? { _tag: "Unknown", fault } : { _tag: "Gone", fault })
        )
      )
    )
  })
