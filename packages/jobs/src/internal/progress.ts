import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"

/**
 * A bell without memory. Take `listen` before looking at what it is about, so that no ring is missed, and wait with what it gives.
 */
export interface Progress {
  readonly listen: () => Effect.Effect<void>
  readonly ring: () => void
}

export const makeProgress = (): Progress => {
  let next: Deferred.Deferred<void> | undefined
  return {
    listen: () => {
      next ??= Deferred.unsafeMake<void>(FiberId.none)
      return Deferred.await(next)
    },
    ring: () => {
      const bell = next
      next = undefined
      if (bell !== undefined) Deferred.unsafeDone(bell, Effect.void)
    }
  }
}
