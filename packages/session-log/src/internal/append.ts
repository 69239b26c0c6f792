import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { format } from "../Instant.js"
import type { AlarmChange } from "../SessionAlarms.js"
import type { EventInput, SessionEvent, SessionId } from "../SessionEvent.js"
import type { AppendError } from "../SessionLogError.js"
import {
  EventRejected,
  LeaseLost,
  SessionConflict,
  SessionLeased,
  SessionNotFound,
  UnknownEventType
} from "../SessionLogError.js"
import type { StoredLease } from "../SessionStore.js"
import { storedChanges } from "./alarms.js"
import type { CheckedEvent } from "./check.js"
import { checkAll } from "./check.js"
import { eventSize } from "./commit.js"
import type { Append, Observer, Outcome } from "./committer.js"
import type { Engine } from "./engine.js"
import { readableHeader } from "./engine.js"
import { withNow } from "./now.js"
import { maxMillis, stored } from "./rows.js"
import type { Tracked } from "./tracked.js"
import { learnLastSeq, signal } from "./tracked.js"

export interface AppendOptions {
  readonly expectedSeq?: number | undefined
  readonly alarms?: ReadonlyArray<AlarmChange> | undefined
}

export const append = (
  engine: Engine,
  id: SessionId,
  events: ReadonlyArray<EventInput>,
  options?: AppendOptions
): Effect.Effect<ReadonlyArray<SessionEvent>, AppendError> =>
  Effect.flatMap(attempt(engine, id, events, options), (stored) =>
    "actualSeq" in stored ? Effect.fail(new SessionConflict({ sessionId: id, ...stored })) : Effect.succeed(stored)
  )

/** An `expectedSeq` that did not hold: to those who try again no error, so none is built. */
export interface Conflict {
  readonly expectedSeq: number
  readonly actualSeq: number
}

export const attempt = (
  engine: Engine,
  id: SessionId,
  events: ReadonlyArray<EventInput>,
  options?: AppendOptions
): Effect.Effect<ReadonlyArray<SessionEvent> | Conflict, Exclude<AppendError, SessionConflict>> =>
  withNow((now) => {
    const checked = checkAll(engine.registry, events)
    if (Either.isLeft(checked)) return Effect.fail(new EventRejected({ sessionId: id, ...checked.left }))
    const alarms = options?.alarms === undefined || options.alarms.length === 0 ? undefined : options.alarms
    if (events.length === 0 && alarms === undefined) return attemptNothing(engine, id, options?.expectedSeq)
    const tracked = engine.tracker.of(id)
    const request: Append = {
      sessionId: id,
      expectedSeq: options?.expectedSeq,
      epoch: tracked.driver?.lease?.epoch,
      now,
      events: checked.right,
      alarms: alarms && storedChanges(alarms)
    }
    const submitted = Effect.flatMap(engine.committer.submit(request), (outcome) => answer(request, outcome))
    return tracked.checked ? submitted : Effect.zipRight(checkSession(engine, id, tracked), submitted)
  })

/** An append of no events still says whether it could have been made. */
const attemptNothing = (engine: Engine, id: SessionId, expectedSeq: number | undefined) =>
  Effect.map(readableHeader(engine, id), ({ lastSeq }): ReadonlyArray<SessionEvent> | Conflict =>
    expectedSeq === undefined || expectedSeq === lastSeq ? [] : { expectedSeq, actualSeq: lastSeq }
  )

/** Once a session and process: nobody continues a session that holds what they don't know. */
const checkSession = (engine: Engine, id: SessionId, tracked: Tracked) =>
  Effect.gen(function* () {
    yield* readableHeader(engine, id)
    const unknown = (yield* engine.store.types(id)).find(
      (row) => !row.ignorable && engine.registry.get(row.type) === undefined
    )
    if (unknown !== undefined) {
      return yield* new UnknownEventType({ sessionId: id, type: unknown.type, seq: unknown.firstSeq })
    }
    tracked.checked = true
  })

const answer = (append: Append, outcome: Outcome): ReturnType<typeof attempt> => {
  const sessionId = append.sessionId
  switch (outcome._tag) {
    case "committed":
      return Effect.succeed(storedEvents(append.events, outcome.firstSeq, append.now))
    case "not-found":
      return Effect.fail(new SessionNotFound({ sessionId }))
    case "conflict":
      // Only a request that expects something is told that it was otherwise.
      return Effect.succeed({ expectedSeq: append.expectedSeq ?? -1, actualSeq: outcome.actualSeq })
    case "leased":
      return Effect.fail(leased(outcome.lease))
    case "lease-lost":
      return Effect.fail(new LeaseLost({ sessionId }))
    case "unwritable":
      return Effect.fail(new EventRejected({ sessionId, type: outcome.type, reason: outcome.reason }))
  }
}

const storedEvents = (
  events: ReadonlyArray<CheckedEvent>,
  firstSeq: number,
  time: number
): ReadonlyArray<SessionEvent> => events.map((event, index) => stored(event, firstSeq + index, time))

export const leased = (lease: StoredLease): SessionLeased =>
  new SessionLeased({
    sessionId: lease.sessionId,
    holder: { host: lease.host, bootId: lease.bootId, pid: lease.pid, startedAt: lease.startedAt },
    expiresAt: format(Math.min(lease.expiresAt, maxMillis))
  })

/** After the commit: what this process now knows, and who waits to hear of it. */
export const committed =
  (tracker: Engine["tracker"]): Observer =>
  (append, result, request) => {
    const tracked = tracker.get(append.sessionId)
    if (tracked === undefined) return
    const lease = tracked.driver?.lease
    const own = lease?.epoch === append.epoch ? lease : undefined
    switch (result._tag) {
      case "committed": {
        const lastSeq = result.firstSeq + append.events.length - 1
        learnLastSeq(tracked, own, lastSeq)
        if (append.events.length === 0) return
        own?.recent.add({
          firstSeq: result.firstSeq,
          events: append.events,
          time: append.now,
          size: request.events.reduce((sum, row) => sum + eventSize(row), 0)
        })
        for (const watcher of tracked.watchers) signal(watcher, lastSeq)
        return
      }
      case "conflict":
        // Also under a lease: to a host whose clock is far ahead it had expired. Whoever decides again must see what came.
        return learnLastSeq(tracked, own, result.actualSeq)
      case "lease-lost":
        return own?.lose()
    }
  }
