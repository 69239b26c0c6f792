import * as Effect from "effect/Effect"
import type { SessionId } from "../SessionEvent.js"
import type { Recent } from "./recent.js"

/** A reader that follows a session. */
export interface Watcher {
  /** The highest seq that this process committed, -1 before the first. */
  lastSeq: number
  /** Whether anything happened since this was last set to `false`. */
  dirty: boolean
  /** Ends the wait, when there is one. */
  wake: (() => void) | undefined
}

/** A lease that this process holds. */
export interface HeldLease {
  readonly epoch: number
  expiresAt: number
  isLost: boolean
  /** What was committed under it last. */
  readonly recent: Recent
  /** Takes note that the session may be another's now, and why when no other is known to have taken it. */
  readonly lose: (fault?: string) => void
}

/** What this process knows of a session. */
export interface Tracked {
  /** The header's version and the types of the events were found fine. */
  checked: boolean
  /** Set while this process drives the session, also from the moment it begins to ask for the lease. */
  driver: { lease: HeldLease | undefined } | undefined
  /** The last seq; only to be trusted while the lease is held, see `knownLastSeq`. */
  lastSeq: number | undefined
  readonly watchers: Set<Watcher>
  /** One decision at a time: decisions that raced each other would be made again and again. */
  readonly deciding: Effect.Semaphore
}

/**
 * The sessions that this process has to do with: bounded, except for those that are driven or followed. Forgetting one costs
 * two queries at its next append.
 */
export interface Tracker {
  readonly get: (id: SessionId) => Tracked | undefined
  readonly of: (id: SessionId) => Tracked
  readonly forget: (id: SessionId) => void
  /** Something may have been stored: those that follow the session look. */
  readonly touch: (id: SessionId) => void
}

export const make = (capacity: number): Tracker => {
  const sessions = new Map<SessionId, Tracked>()
  const touch = (id: SessionId): void => {
    for (const watcher of sessions.get(id)?.watchers ?? []) signal(watcher, -1)
  }
  const trim = (): void => {
    // Pinned sessions met on the way go to the back, so that the next trim does not meet them again.
    for (let attempt = 0; attempt < 16; attempt++) {
      const [id, tracked] = sessions.entries().next().value!
      sessions.delete(id)
      if (tracked.driver === undefined && tracked.watchers.size === 0) return
      sessions.set(id, tracked)
    }
  }
  return {
    get: (id) => sessions.get(id),
    of: (id) => {
      const present = sessions.get(id)
      if (present !== undefined) return present
      const fresh: Tracked = {
        checked: false,
        driver: undefined,
        lastSeq: undefined,
        watchers: new Set(),
        deciding: Effect.unsafeMakeSemaphore(1)
      }
      sessions.set(id, fresh)
      if (sessions.size > capacity) trim()
      return fresh
    },
    forget: (id) => {
      const tracked = sessions.get(id)
      if (tracked === undefined) return
      tracked.checked = false
      tracked.lastSeq = undefined
      touch(id)
    },
    touch
  }
}

/** The last seq, when it is known without asking: this process holds the lease, so nobody else appends. */
export const knownLastSeq = (tracked: Tracked | undefined, now: number): number | undefined => {
  const lease = tracked?.driver?.lease
  return lease === undefined || lease.isLost || lease.expiresAt <= now ? undefined : tracked?.lastSeq
}

/**
 * Takes note of a last seq that was read or committed while `lease` was held. Not of one read before: another may have appended
 * since.
 */
export const learnLastSeq = (tracked: Tracked, lease: HeldLease | undefined, lastSeq: number): void => {
  if (lease === undefined || tracked.driver?.lease !== lease) return
  tracked.lastSeq = Math.max(tracked.lastSeq ?? -1, lastSeq)
}

export const signal = (watcher: Watcher, lastSeq: number): void => {
  watcher.lastSeq = Math.max(watcher.lastSeq, lastSeq)
  watcher.dirty = true
  const wake = watcher.wake
  watcher.wake = undefined
  wake?.()
}
