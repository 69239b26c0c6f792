import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as EffectSchedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { SessionId } from "../SessionEvent.js"

/** Of all stores of the database: an id that is another schema's is one that nobody here follows. */
const channel = "afterturn_changes"

/** A payload has to be shorter than 8,000 bytes; ids are ASCII. */
const maxPayload = 7_000

/** A listener hears itself this often, or takes its connection for dead: the driver does not tell. */
const pingMillis = 10_000

/** What processes that share a database tell one another. */
export interface News {
  /** Tells the others, in a moment, that something was appended. Costs the caller nothing. */
  readonly tell: (id: SessionId) => void
  /** What others told. */
  readonly changed: Stream.Stream<SessionId>
}

/**
 * LISTEN and NOTIFY. What is told while a connection is down is not heard: whoever must not miss it polls.
 *
 * Not part of the transaction that it tells of: a transaction that notifies holds a lock of the whole server until it is on disk.
 */
export const make = (sql: PgClient): Effect.Effect<News, never, Scope.Scope> =>
  Effect.gen(function* () {
    const self = `${yield* Clock.currentTimeMillis}-${yield* Random.nextIntBetween(0, Number.MAX_SAFE_INTEGER)}`
    const untold = new Set<SessionId>()
    const latch = Effect.unsafeMakeLatch(false)
    const notify = (lines: ReadonlyArray<string>) => sql`SELECT pg_notify(${channel}, ${[self, ...lines].join("\n")})`
    const tellAll = Effect.gen(function* () {
      yield* latch.await
      yield* latch.close
      yield* notify(takeSome(untold))
      if (untold.size > 0) yield* latch.open
    })
    // Nothing is lost: those that follow look by themselves.
    yield* Effect.forkScoped(Effect.forever(Effect.ignore(tellAll)))
    return {
      tell: (id) => {
        untold.add(id)
        latch.unsafeOpen()
      },
      changed: listen(sql, self, notify([]))
    }
  })

const takeSome = (ids: Set<SessionId>): ReadonlyArray<SessionId> => {
  const taken: Array<SessionId> = []
  let length = 0
  for (const id of ids) {
    length += id.length + 1
    if (taken.length > 0 && length > maxPayload) break
    taken.push(id)
    ids.delete(id)
  }
  return taken
}

const listen = (sql: PgClient, self: string, ping: Effect.Effect<unknown, unknown>): Stream.Stream<SessionId> =>
  sql.listen(channel).pipe(
    Stream.timeoutFail(() => "silent", pingMillis * 2),
    Stream.mapConcat((payload) => {
      const [sender, ...ids] = payload.split("\n")
      return sender === self ? [] : (ids as ReadonlyArray<string> as ReadonlyArray<SessionId>)
    }),
    Stream.merge(pings(ping), { haltStrategy: "left" }),
    // A lost connection, which the driver also shows as a defect of its own clean-up: a new one is made.
    Stream.catchAllCause(() => Stream.drain(Stream.fromEffect(Effect.sleep("1 second")))),
    Stream.forever
  )

const pings = (ping: Effect.Effect<unknown, unknown>): Stream.Stream<never> =>
  // One that fails is one that is not heard.
  Stream.drain(Stream.repeatEffectWithSchedule(Effect.ignore(ping), EffectSchedule.spaced(pingMillis)))
