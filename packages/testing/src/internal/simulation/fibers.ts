/** Counts fibers, to find those that never end. */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Supervisor from "effect/Supervisor"

class Counting extends Supervisor.AbstractSupervisor<void> {
  readonly fibers = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
  override readonly value = Effect.void

  override onStart(
    _context: unknown,
    _effect: unknown,
    _parent: unknown,
    fiber: Fiber.RuntimeFiber<never, never>
  ): void {
    this.fibers.add(fiber)
  }

  override onEnd(_exit: unknown, fiber: Fiber.RuntimeFiber<never, never>): void {
    this.fibers.delete(fiber)
  }
}

/** The fibers that an effect and all that it forks start. */
export interface CountedFibers {
  readonly counted: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Those that are still there. */
  readonly left: () => number
}

export const countedFibers = (): CountedFibers => {
  const counting = new Counting()
  return { counted: Effect.supervised(counting), left: () => counting.fibers.size }
}
