/**
 * How long whoever made a call waits for its answer.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * The longest that the caller of a tool waits: an answer that comes later is lost on it. Absent: as long as it takes. A handler that
 * waits for something which goes on without it waits no longer than this, and answers how far it has come.
 *
 * @since 0.1.0
 * @category tags
 */
export class CallPatience extends Context.Tag("@afterturn/agent/CallPatience")<CallPatience, Duration.Duration>() {}

/**
 * How long to wait, of `wanted`, so that the answer still arrives.
 *
 * @since 0.1.0
 * @category accessors
 */
export const limit = (wanted: Duration.DurationInput): Effect.Effect<Duration.Duration> =>
  Effect.map(Effect.serviceOption(CallPatience), (patience) =>
    Option.match(patience, {
      onNone: () => Duration.decode(wanted),
      onSome: (longest) => Duration.min(longest, wanted)
    })
  )
