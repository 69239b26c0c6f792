import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { SessionRefused } from "../SessionProtocol.js"

/** An error of whatever package: its own code, else its tag in snake case. */
export const refusedBy = (error: { readonly _tag: string; readonly message: string }): SessionRefused =>
  error instanceof SessionRefused
    ? error
    : new SessionRefused({
        code: "code" in error && typeof error.code === "string" ? error.code : snakeCase(error._tag),
        message: error.message
      })

const snakeCase = (tag: string): string => tag.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

/**
 * What a client is answered instead of an error or a defect: a defect would restart the entity, and the message that made it would be its
 * first again.
 */
export const answered = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, SessionRefused, R> =>
  effect.pipe(
    Effect.mapError(refusedBy),
    // Nothing is lost: the defect is logged with its cause.
    Effect.catchAllDefect((defect) =>
      Effect.zipRight(
        Effect.logError("a session could not do what it was asked", Cause.die(defect)),
        new SessionRefused({ code: "internal_error", message: "the runner made a mistake; its log says which" })
      )
    )
  )
