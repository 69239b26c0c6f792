/**
 * What may become of a command that is not answered. `Mailbox` exports the same name.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { SessionId } from "./SessionEvent.js"

/**
 * Nobody answered a command.
 *
 * - `not-taken`: nobody took it in time; it was withdrawn and will not be executed
 * - `not-answered`: it was taken, and may have been executed
 * - `broken`: whoever took it could not do anything with it, or broke over it
 *
 * @since 0.1.0
 * @category errors
 */
export class CommandUnanswered extends Schema.TaggedError<CommandUnanswered>(
  "@afterturn/session-log/CommandUnanswered"
)("CommandUnanswered", {
  sessionId: SessionId,
  command: Schema.String,
  reason: Schema.Literal("not-taken", "not-answered", "broken"),
  detail: Schema.optional(Schema.String)
}) {
  override get message(): string {
    const command = `"${this.command}" for session "${this.sessionId}"`
    if (this.reason === "not-taken") {
      return `the process that drives the session did not take ${command} in time; it was withdrawn`
    }
    return this.reason === "not-answered"
      ? `the process that drives the session took ${command} and did not answer: it may have been executed`
      : `the process that drives the session could not execute ${command}: ${this.detail ?? "it does not say why"}`
  }
}
