import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Whether a process drives a session. */
export const isDriven = (session: SessionId) =>
  Effect.gen(function* () {
    const lease = yield* Effect.flatMap(SessionStore, (store) => store.lease(session))
    const now = yield* Clock.currentTimeMillis
    return Option.exists(lease, ({ expiresAt }) => expiresAt > now)
  })

export const lostNote = (session: SessionId): string =>
  `no process drives session "${session}": what it left open is lost, and settled as such when the session is resumed`
