import * as Effect from "effect/Effect"
import type { SessionId } from "../SessionEvent.js"
import type { SessionLeases } from "../SessionLeases.js"
import type { SessionLeased } from "../SessionLogError.js"
import { SessionNotFound } from "../SessionLogError.js"
import type { SessionStoreError } from "../SessionStore.js"
import type { Engine } from "./engine.js"

/** Under the lease, so that nobody begins to drive the session while it goes. */
export const remove = (
  engine: Engine,
  leases: (typeof SessionLeases)["Service"],
  id: SessionId
): Effect.Effect<void, SessionNotFound | SessionLeased | SessionStoreError> =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* leases.acquire(id)
      if (!(yield* engine.store.remove(id))) return yield* new SessionNotFound({ sessionId: id })
      engine.tracker.forget(id)
    })
  )
