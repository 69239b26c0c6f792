/**
 * Drives the sessions that nobody drives when one of their reminders is due: takes their lease by resuming them, lets the reminder be
 * delivered and its turn end, and lets go. Any number of hosts may share a store: only one gets the lease.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import * as Instants from "@afterturn/session-log/Instant"
import type { Alarm } from "@afterturn/session-log/SessionAlarms"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as EffectSchedule from "effect/Schedule"
import { dueKey, inboxKey } from "./internal/alarms.js"
import { Schedule } from "./Schedule.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface HostOptions {
  /** How often the store is asked for what other processes scheduled. Default 1 second. */
  readonly pollInterval: Duration.Duration
  /** Sessions that are driven at a time. Default 16. */
  readonly maxSessions: number
  /** A session stays while its next reminder is due within this time. Default 5 seconds. */
  readonly linger: Duration.Duration
  /** How long a session that could not be driven is left alone; it doubles, up to an hour. Default 5 seconds. */
  readonly retryAfter: Duration.Duration
  /** Waits until a session may be let go, beside its reminders: until its jobs have ended, say. Default: until its agent is idle. */
  readonly stay: (agent: Agent) => Effect.Effect<void>
  /** Hears of each session that is driven. Default: nobody. */
  readonly onDrive: (session: SessionId) => Effect.Effect<void>
}

interface Trouble {
  readonly attempts: number
  readonly until: number
}

interface Host {
  readonly options: HostOptions
  readonly agents: Context.Tag.Service<Agents>
  readonly alarms: Context.Tag.Service<SessionAlarms>
  readonly schedule: Context.Tag.Service<Schedule>
  readonly driven: Set<SessionId>
  readonly trouble: Map<SessionId, Trouble>
  /** Open when a session was let go. */
  readonly released: Effect.Latch
  readonly start: (id: SessionId) => Effect.Effect<void>
}

/**
 * A host for as long as the layer lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<HostOptions>): Layer.Layer<never, never, Schedule | Agents | SessionAlarms> =>
  Layer.scopedDiscard(make(options))

const defaults: HostOptions = {
  pollInterval: Duration.seconds(1),
  maxSessions: 16,
  linger: Duration.seconds(5),
  retryAfter: Duration.seconds(5),
  stay: (agent) => agent.whenIdle,
  onDrive: () => Effect.void
}

const make = (options?: Partial<HostOptions>) =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<void>()
    const host: Host = {
      options: { ...defaults, ...options },
      agents: yield* Agents,
      alarms: yield* SessionAlarms,
      schedule: yield* Schedule,
      driven: new Set(),
      trouble: new Map(),
      released: Effect.unsafeMakeLatch(false),
      start: (id) => Effect.asVoid(FiberSet.run(fibers, drive(host, id)))
    }
    yield* Effect.forkScoped(supervised(host))
  })

const supervised = (host: Host): Effect.Effect<void> =>
  Effect.forever(round(host)).pipe(
    // Nothing is lost: it is logged, and what is due is still in the store.
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.logError("the host of reminders begins anew", cause)
    ),
    Effect.repeat(EffectSchedule.spaced("5 seconds")),
    Effect.asVoid
  )

/** Drives what is due, then waits until something may be. */
const round = (host: Host): Effect.Effect<void> =>
  claim(host).pipe(
    Effect.flatMap((isFull) => {
      if (isFull) return host.released.await
      return Effect.flatMap(untilNext(host), (wait) => Effect.sleep(wait))
    }),
    Effect.catchAll((error) =>
      Effect.zipRight(
        Effect.logWarning("the host of reminders could not ask what is due", error),
        Effect.sleep(host.options.retryAfter)
      )
    )
  )

const pageSize = 256

/** Starts as many of those that are due as there is room for. Whether more may be left. */
const claim = Effect.fnUntraced(function* (host: Host) {
  yield* host.released.close
  const now = yield* Instants.now
  let after: Alarm | undefined
  while (true) {
    const page: ReadonlyArray<Alarm> = yield* host.alarms.due({
      until: now,
      limit: pageSize,
      ...(after === undefined ? {} : { after })
    })
    // Hosts that look at the same instant begin at different ends.
    for (const { key, sessionId } of yield* Random.shuffle(page)) {
      if (key !== dueKey && key !== inboxKey) continue
      if (host.driven.has(sessionId) || isTroubled(host, sessionId, now)) continue
      if (host.driven.size >= host.options.maxSessions) return true
      host.driven.add(sessionId)
      yield* host.start(sessionId)
    }
    if (page.length < pageSize) return false
    after = page.at(-1)
  }
})

const isTroubled = ({ trouble }: Host, id: SessionId, now: Instants.Instant): boolean =>
  (trouble.get(id)?.until ?? 0) > Instants.toMillis(now)

/** Until the next alarm, at most until others may have set an earlier one. */
const untilNext = ({ alarms, options }: Host): Effect.Effect<Duration.Duration, SessionStoreError> =>
  Effect.gen(function* () {
    const now = yield* Instants.now
    const next = yield* alarms.next(now)
    return Option.match(next, {
      onNone: () => options.pollInterval,
      onSome: (at) =>
        Duration.min(options.pollInterval, Duration.millis(Instants.toMillis(at) - Instants.toMillis(now)))
    })
  })

/** One session, from its lease to its end. Whatever becomes of it is its own affair. */
const drive = (host: Host, id: SessionId): Effect.Effect<void> =>
  Effect.scoped(
    Effect.gen(function* () {
      const agent = yield* host.agents.resume(id)
      yield* host.options.onDrive(id)
      yield* untilDone(host, agent)
    })
  ).pipe(
    Effect.zipRight(noteProgress(host, id)),
    // Another host was faster.
    Effect.catchTag("SessionLeased", () => Effect.void),
    // Logged, and tried again later: one session must not end the others.
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.failCause(cause as Cause.Cause<never>)
        : Effect.zipRight(
            Effect.logWarning(`the reminders of session "${id}" could not be delivered`, cause),
            noteTrouble(host, id)
          )
    ),
    Effect.ensuring(
      Effect.suspend(() => {
        host.driven.delete(id)
        return host.released.open
      })
    )
  )

/** A session that needs a host as much as before has not got further: it is left alone for a while. */
const noteProgress = (host: Host, id: SessionId): Effect.Effect<void, SessionStoreError> =>
  Effect.gen(function* () {
    const now = Instants.toMillis(yield* Instants.now)
    const left = yield* host.alarms.of(id)
    if (left.some(({ dueAt }) => Instants.toMillis(dueAt) <= now)) return yield* noteTrouble(host, id)
    host.trouble.delete(id)
  })

const hour = 3_600_000

const noteTrouble = (host: Host, id: SessionId): Effect.Effect<void> =>
  Effect.map(Instants.now, (now) => {
    const attempts = (host.trouble.get(id)?.attempts ?? 0) + 1
    const wait = Math.min(hour, Duration.toMillis(host.options.retryAfter) * 2 ** Math.min(attempts - 1, 20))
    host.trouble.set(id, { attempts, until: Instants.toMillis(now) + wait })
  })

const untilDone = Effect.fnUntraced(function* ({ options, schedule }: Host, agent: Agent) {
  while (true) {
    yield* schedule.quiet(agent.id)
    yield* options.stay(agent)
    if ((yield* agent.status) === "running") continue
    const { next } = yield* schedule.pending(agent.id)
    const now = Instants.toMillis(yield* Instants.now)
    const wait = next === undefined ? Infinity : Instants.toMillis(next) - now
    if (wait > Duration.toMillis(options.linger)) return
    yield* Effect.sleep(wait)
    // Due now: the delivery has its turn first.
    yield* Effect.yieldNow()
  }
})
