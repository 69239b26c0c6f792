import * as Effect from "effect/Effect"

/**
 * Lets timers, sockets and signals have their turn. SQLite's driver and a store in memory answer at once, so what fibers do over them is
 * one long step for the event loop, however often they yield and wake one another: that happens in microtasks.
 */
export const eventLoopTurn: Effect.Effect<void> = Effect.async((resume) => {
  const turn = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(turn))
})
