import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

const whole = (clock: Clock.Clock): number => Math.floor(clock.unsafeCurrentTimeMillis())

/** The present in whole milliseconds, which is all that a row holds: clocks that simulate time may stand in between. */
export const now: Effect.Effect<number> = Effect.clockWith((clock) => Effect.succeed(whole(clock)))

/** Goes on with the present at the moment when it runs. */
export const withNow = <A, E, R>(use: (now: number) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.clockWith((clock) => use(whole(clock)))
