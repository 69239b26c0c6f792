import type { CommandType } from "@afterturn/session-log/Mailbox"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** Whether a process holds the session. */
export const isDriven = (session: SessionId) =>
  Effect.gen(function* () {
    const lease = yield* Effect.flatMap(SessionStore, (store) => store.lease(session))
    const now = yield* Clock.currentTimeMillis
    return Option.exists(lease, ({ expiresAt }) => expiresAt > now)
  })

/** Who only looks does not wait for a process that is busy. */
const patience = Duration.seconds(3)

/** What the process that drives a session answers; none when there is no such process, or when it has no time. */
export const askHolder = <Input, InputEncoded, Answer, AnswerEncoded>(
  session: SessionId,
  type: CommandType<Input, InputEncoded, Answer, AnswerEncoded>,
  input: Input
) =>
  Effect.gen(function* () {
    if (!(yield* isDriven(session))) return Option.none<Answer>()
    const mailbox = yield* Mailbox
    return yield* Effect.map(mailbox.send(session, type, input, { timeout: patience }), Option.some).pipe(
      Effect.catchTag("CommandUnanswered", () => Effect.succeed(Option.none<Answer>()))
    )
  })

export const lostNote = (session: SessionId): string =>
  `no process drives session "${session}": what it left open is lost, and settled as such when the session is resumed`
