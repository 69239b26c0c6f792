/**
 * Effects that run until the first of them ends.
 *
 * @since 0.1.0
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

/**
 * The outcome of whichever ends first. The others have ended as well by then, finalizers and all, and all of them have when the
 * race is interrupted: what they use may be released then. (`Effect.raceFirst` does not wait for them when it is interrupted.)
 *
 * @since 0.1.0
 * @category combinators
 */
export const first = <A, E = never, R = never>(
  ...contenders: ReadonlyArray<Effect.Effect<A, E, R>>
): Effect.Effect<A, E, R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const ended = yield* Deferred.make<A, E>()
      for (const contender of contenders) yield* Effect.forkScoped(Effect.intoDeferred(contender, ended))
      return yield* Deferred.await(ended)
    })
  )
