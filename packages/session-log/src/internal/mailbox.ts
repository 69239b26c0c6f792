import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ParseError } from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { CommandHandler, CommandType, Mailbox } from "../Mailbox.js"
import { CommandUnanswered } from "../MailboxError.js"
import type { SessionId } from "../SessionEvent.js"
import type { SessionStoreError } from "../SessionStore.js"
import { now } from "./now.js"
import { decoder, describe } from "./parseError.js"

type Service = Context.Tag.Service<Mailbox>

/** A command as it is kept: JSON, as is its answer. */
export interface Letter {
  readonly session: SessionId
  readonly command: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Where commands are kept. */
export interface Letters {
  readonly put: (letter: Letter) => Effect.Effect<number, SessionStoreError>
  readonly answer: (id: number) => Effect.Effect<string | undefined, SessionStoreError>
  /** Removes a command, and says how far it had come; `undefined`: it was gone. */
  readonly withdraw: (
    id: number
  ) => Effect.Effect<{ readonly claimed: boolean; readonly answer: string | undefined } | undefined, SessionStoreError>
  /** Takes the oldest command that nobody has taken and that has not expired: no two callers get the same. */
  readonly claim: (
    session: SessionId,
    at: number
  ) => Effect.Effect<{ readonly id: number; readonly command: string } | undefined, SessionStoreError>
  /** Nothing happens when the sender is gone. */
  readonly reply: (id: number, answer: string, at: number) => Effect.Effect<void, SessionStoreError>
}

const defaultTimeout = Duration.seconds(10)
const senderPoll = Duration.millis(100)
const holderPoll = Duration.millis(500)

const Command = Schema.parseJson(Schema.Struct({ name: Schema.String, input: Schema.Unknown }))

const Answer = Schema.parseJson(
  Schema.Union(
    Schema.Struct({ ok: Schema.Literal(true), value: Schema.Unknown }),
    Schema.Struct({ ok: Schema.Literal(false), detail: Schema.String })
  )
)

/** Who is newer may say more. */
const lenient = {}

const decodeCommand = decoder(Command, lenient)
const decodeAnswer = decoder(Answer, lenient)

export const makeMailbox = (letters: Letters): Service => ({
  send: (session, type, input, options) => {
    const timeout = Duration.decode(options?.timeout ?? defaultTimeout)
    const unanswered = (reason: CommandUnanswered["reason"], detail?: string) =>
      new CommandUnanswered({
        sessionId: session,
        command: type.name,
        reason,
        ...(detail === undefined ? {} : { detail })
      })
    const put = Effect.gen(function* () {
      const createdAt = yield* now
      const value = yield* Schema.encode(type.input)(input).pipe(
        // Input that is not of its own type is a defect of the caller's.
        Effect.orDie
      )
      const command = JSON.stringify({ name: type.name, input: value })
      return yield* letters.put({ session, command, createdAt, expiresAt: createdAt + Duration.toMillis(timeout) })
    })
    const answered = (id: number) =>
      Effect.flatMap(Effect.timeoutOption(awaitAnswer(letters, id), timeout), (answer) =>
        answer._tag === "Some" ? Effect.succeed(answer.value) : lastLook(letters, id, unanswered)
      )
    return Effect.acquireUseRelease(put, answered, (id) => forget(letters, id)).pipe(
      Effect.flatMap((text) => Effect.mapError(open(type, text), (detail) => unanswered("broken", detail)))
    )
  },
  serve: (session, handlers) => {
    const byName = new Map(handlers.map((handler) => [handler.name, handler]))
    return Effect.forever(
      Effect.flatMap(takeOne(letters, session, byName), (took) => (took ? Effect.void : Effect.sleep(holderPoll)))
    )
  }
})

const awaitAnswer = (letters: Letters, id: number): Effect.Effect<string, SessionStoreError> =>
  Effect.gen(function* () {
    while (true) {
      const answer = yield* letters.answer(id)
      if (answer !== undefined) return answer
      yield* Effect.sleep(senderPoll)
    }
  })

/** The time is over: what was not taken is withdrawn; an answer that came in this very moment counts. */
const lastLook = (
  letters: Letters,
  id: number,
  unanswered: (reason: CommandUnanswered["reason"]) => CommandUnanswered
): Effect.Effect<string, CommandUnanswered | SessionStoreError> =>
  Effect.flatMap(letters.withdraw(id), (found) => {
    if (found?.answer !== undefined) return Effect.succeed(found.answer)
    return Effect.fail(unanswered(found?.claimed === false ? "not-taken" : "not-answered"))
  })

/** A row that stays behind is never taken once it has expired. */
const forget = (letters: Letters, id: number): Effect.Effect<void> =>
  Effect.catchAll(letters.withdraw(id), (error) => Effect.logDebug("a command stays in the mailbox", error))

const open = <Input, InputEncoded, A, AEncoded>(
  type: CommandType<Input, InputEncoded, A, AEncoded>,
  text: string
): Effect.Effect<A, string> =>
  Effect.gen(function* () {
    const answer = yield* decodeAnswer(text)
    if (!answer.ok) return yield* Effect.fail(answer.detail)
    return yield* decoder(type.answer, lenient)(answer.value)
  }).pipe(Effect.mapError((error) => (typeof error === "string" ? error : describe(error, "answer"))))

/** Whether there was one. A store that fails is asked again at the next look. */
const takeOne = (
  letters: Letters,
  session: SessionId,
  handlers: ReadonlyMap<string, CommandHandler>
): Effect.Effect<boolean> =>
  // From the claim on a command is executed, and answered, come what may.
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const letter = yield* letters.claim(session, yield* now)
      if (letter === undefined) return false
      const exit = yield* Effect.exit(restore(execute(handlers, letter.command)))
      yield* letters.reply(letter.id, answerOf(exit), yield* now)
      return true
    })
  ).pipe(
    Effect.catchAll((error) =>
      Effect.as(Effect.logWarning(`the mailbox of session "${session}" cannot be served now`, error), false)
    )
  )

const execute = (
  handlers: ReadonlyMap<string, CommandHandler>,
  text: string
): Effect.Effect<string, { readonly message: string }> =>
  Effect.flatMap(readable(decodeCommand(text), "command"), ({ input, name }) => {
    const handler = handlers.get(name)
    return handler === undefined
      ? Effect.fail({ message: `it knows no command ${JSON.stringify(name)}` })
      : Effect.map(handler.run(input), (value) => JSON.stringify({ ok: true, value }))
  })

/** The message of a `ParseError` is made when it is read, and overflows the stack on a value that is nested deep enough. */
const readable = <A>(
  decoded: Effect.Effect<A, ParseError>,
  root: string
): Effect.Effect<A, { readonly message: string }> =>
  Effect.mapError(decoded, (error) => ({ message: describe(error, root) }))

const answerOf = (exit: Exit.Exit<string, { readonly message: string }>): string => {
  if (Exit.isSuccess(exit)) return exit.value
  const refused = (detail: string) => JSON.stringify({ ok: false, detail })
  if (Cause.isInterruptedOnly(exit.cause)) return refused("it stopped driving the session")
  const failure = Cause.squash(exit.cause)
  return refused(failure instanceof Object && "message" in failure ? String(failure.message) : String(failure))
}

/** What executes commands of a type. */
export const handler = <Input, InputEncoded, Answer, AnswerEncoded>(
  type: CommandType<Input, InputEncoded, Answer, AnswerEncoded>,
  run: (input: Input) => Effect.Effect<Answer, { readonly message: string }>
): CommandHandler => ({
  name: type.name,
  run: (encoded) =>
    Effect.flatMap(readable(decoder(type.input, lenient)(encoded), "input"), (input) =>
      Effect.flatMap(run(input), (answer) => readable(Schema.encode(type.answer)(answer), "answer"))
    )
})
