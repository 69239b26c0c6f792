import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type { Progress } from "./live.js"

/** A bell without memory: who listens when it rings looks again. Take `wait` before looking, so that no ring is missed. */
export const makeProgress = (): Progress => {
  let next: Deferred.Deferred<void> | undefined
  return {
    listen: Effect.map(
      Effect.sync(() => {
        next ??= Deferred.unsafeMake<void>(FiberId.none)
        return next
      }),
      (bell) => Deferred.await(bell)
    ),
    signal: () => {
      const bell = next
      next = undefined
      if (bell !== undefined) Deferred.unsafeDone(bell, Effect.void)
    }
  }
}
