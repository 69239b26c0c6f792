/**
 * Commands for the process that drives a session, from processes that do not.
 *
 * A command is executed at most once: whoever serves the session takes it in one step, and one that nobody took in time is withdrawn.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schema from "effect/Schema"
import { makeMailbox } from "./internal/mailbox.js"
import { makeMemory } from "./internal/memoryMailbox.js"
import type { CommandUnanswered } from "./MailboxError.js"
import type { SessionId } from "./SessionEvent.js"
import type { SessionStoreError } from "./SessionStore.js"

export { CommandUnanswered } from "./MailboxError.js"

/**
 * A kind of command: its name, what it takes and what it answers. How it may fail is part of its answer.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommandType<Input, InputEncoded, Answer, AnswerEncoded> {
  readonly name: string
  readonly input: Schema.Schema<Input, InputEncoded>
  readonly answer: Schema.Schema<Answer, AnswerEncoded>
}

/**
 * A command type and what executes it.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommandHandler {
  readonly name: string
  /** From the command's input to its answer, both as JSON values. */
  readonly run: (input: unknown) => Effect.Effect<unknown, { readonly message: string }>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Mailbox extends Context.Tag("@afterturn/session-log/Mailbox")<
  Mailbox,
  {
    /**
     * Leaves a command for whoever serves the session, and waits for the answer: by default for 10 seconds. Interrupting it withdraws
     * the command, unless it was taken.
     */
    readonly send: <Input, InputEncoded, Answer, AnswerEncoded>(
      session: SessionId,
      type: CommandType<Input, InputEncoded, Answer, AnswerEncoded>,
      input: Input,
      options?: { readonly timeout?: Duration.DurationInput }
    ) => Effect.Effect<Answer, CommandUnanswered | SessionStoreError>
    /**
     * Executes the commands of a session, one at a time and in the order in which they were sent, each within half a second of it
     * while no other keeps this busy. For the process that holds the session's lease. Runs until it is interrupted; a command that it
     * is at then is answered as broken.
     */
    readonly serve: (session: SessionId, handlers: ReadonlyArray<CommandHandler>) => Effect.Effect<never>
  }
>() {}

export {
  /**
   * What executes commands of a type.
   *
   * @since 0.1.0
   * @category constructors
   */
  handler
} from "./internal/mailbox.js"

/**
 * For sessions in memory: senders are fibers of this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<Mailbox> = Layer.sync(Mailbox, () => makeMailbox(makeMemory()))
