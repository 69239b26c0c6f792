/**
 * Brings sessions to life that need a runner and have none: one of their reminders is due, they were let go with something under way, or
 * their runner died. One of the cluster does it, a singleton that moves when its own runner dies.
 *
 * Due instants come from the index that changes in the transaction of the reminder itself, not from messages that the engine would keep:
 * the two cannot disagree, and a reminder that was changed or deleted leaves nothing behind. What is delivered is decided by the session's
 * own runner under its lease, so that a session that is woken twice has one delivery.
 *
 * @since 0.1.0
 */
import * as Instants from "@afterturn/session-log/Instant"
import type { Alarm } from "@afterturn/session-log/SessionAlarms"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { Sharding } from "@effect/cluster/Sharding"
import * as Singleton from "@effect/cluster/Singleton"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { Session } from "./SessionProtocol.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface CaretakerOptions {
  /** How often it looks for sessions that need a runner: the most that a reminder is late for it. Default 1 second. */
  readonly pollInterval: Duration.DurationInput
  /** Sessions that are being woken at a time. Default 64. */
  readonly maxWaking: number
  /** How long a session that could not be woken is left alone; it doubles, up to 10 minutes. Default 5 seconds. */
  readonly retryAfter: Duration.DurationInput
}

interface Caretaker {
  readonly options: CaretakerOptions
  readonly alarms: Context.Tag.Service<SessionAlarms>
  readonly leases: Context.Tag.Service<SessionLeases>
  readonly wake: (id: SessionId) => Effect.Effect<void, { readonly message: string }>
  readonly waking: FiberMap.FiberMap<SessionId>
  /** Since when, and how often in a row, a session could not be woken. */
  readonly trouble: Map<SessionId, { readonly attempts: number; readonly until: number }>
}

const defaults: CaretakerOptions = { pollInterval: "1 second", maxWaking: 64, retryAfter: "5 seconds" }

/**
 * The cluster's one caretaker, on whatever runner.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<CaretakerOptions>
): Layer.Layer<never, never, SessionAlarms | SessionLeases | Sharding> =>
  Singleton.make(
    "afterturn/caretaker",
    Effect.gen(function* () {
      const client = yield* Session.client
      const caretaker: Caretaker = {
        options: { ...defaults, ...options },
        alarms: yield* SessionAlarms,
        leases: yield* SessionLeases,
        wake: (id) => client(id).Wake(),
        waking: yield* FiberMap.make<SessionId>(),
        trouble: new Map()
      }
      yield* Effect.forever(
        look(caretaker).pipe(
          Effect.catchAll((error) =>
            Effect.logWarning("the caretaker could not ask which sessions need a runner", error)
          ),
          Effect.zipRight(untilNext(caretaker))
        )
      )
    }).pipe(Effect.scoped)
  )

const pageSize = 256

const look = Effect.fnUntraced(function* (caretaker: Caretaker) {
  const { alarms, leases, options } = caretaker
  for (const id of yield* leases.expired(pageSize)) yield* begin(caretaker, id)
  const until = yield* Instants.now
  let after: Alarm | undefined
  while ((yield* FiberMap.size(caretaker.waking)) < options.maxWaking) {
    const page: ReadonlyArray<Alarm> = yield* alarms.due({
      until,
      limit: pageSize,
      ...(after === undefined ? {} : { after })
    })
    for (const { sessionId } of page) yield* begin(caretaker, sessionId)
    if (page.length < pageSize) return
    after = page.at(-1)
  }
})

/** Each session by one fiber: it may take a while, when its runner is dead and not yet known to be. */
const begin = Effect.fnUntraced(function* ({ options, trouble, wake, waking }: Caretaker, id: SessionId) {
  const now = yield* Clock.currentTimeMillis
  if ((trouble.get(id)?.until ?? 0) > now || (yield* FiberMap.size(waking)) >= options.maxWaking) return
  const woken = Effect.matchCauseEffect(wake(id), {
    onSuccess: () => Effect.sync(() => trouble.delete(id)),
    onFailure: (cause) => {
      const attempts = (trouble.get(id)?.attempts ?? 0) + 1
      const wait = Math.min(600_000, Duration.toMillis(options.retryAfter) * 2 ** Math.min(attempts - 1, 20))
      trouble.set(id, { attempts, until: now + wait })
      return Effect.logWarning(`session "${id}" needs a runner and could not be woken`, cause)
    }
  })
  yield* FiberMap.run(waking, id, woken, { onlyIfMissing: true })
})

/** Until the next alarm, at most until others may have set an earlier one. */
const untilNext = ({ alarms, options }: Caretaker): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = yield* Instants.now
    const next = yield* Effect.orElseSucceed(alarms.next(now), Option.none)
    const wait = Option.match(next, {
      onNone: () => Infinity,
      onSome: (at) => Instants.toMillis(at) - Instants.toMillis(now)
    })
    yield* Effect.sleep(Math.min(wait, Duration.toMillis(options.pollInterval)))
  })
