/**
 * What may go wrong with a terminal.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * No terminal of the caller has this id. A foreign terminal and one that never was give the same answer; `ended`: it was the caller's
 * own, and was closed or went down with an earlier run of the host.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalNotFound extends Schema.TaggedError<TerminalNotFound>("@afterturn/terminal/TerminalNotFound")(
  "TerminalNotFound",
  { code: Schema.Literal("terminal_not_found"), terminalId: Schema.String, ended: Schema.Boolean }
) {
  override get message(): string {
    return this.ended
      ? `terminal ${JSON.stringify(this.terminalId)} is gone: it was closed, or ended with the host that held it; terminal_open opens a new one`
      : `there is no terminal ${JSON.stringify(this.terminalId)}; terminal_list shows those that there are`
  }
}

/**
 * The program of a terminal has ended, so that nothing can be sent to it. What it showed can still be read.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalExited extends Schema.TaggedError<TerminalExited>("@afterturn/terminal/TerminalExited")(
  "TerminalExited",
  { code: Schema.Literal("terminal_exited"), terminalId: Schema.String, detail: Schema.String }
) {
  override get message(): string {
    return `nothing was sent: terminal "${this.terminalId}" has already exited (${this.detail}); terminal_read still shows its lines`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class UnknownTerminalType extends Schema.TaggedError<UnknownTerminalType>(
  "@afterturn/terminal/UnknownTerminalType"
)("UnknownTerminalType", {
  code: Schema.Literal("unknown_type"),
  type: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `no terminal was opened: expected the type to be one of ${this.known.join(", ")}, got ${JSON.stringify(this.type)}`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class TerminalLimitReached extends Schema.TaggedError<TerminalLimitReached>(
  "@afterturn/terminal/TerminalLimitReached"
)("TerminalLimitReached", { code: Schema.Literal("terminal_limit_reached"), limit: Schema.Int }) {
  override get message(): string {
    return `no terminal was opened: ${this.limit} are open, which is the limit; close one that is not needed with terminal_close, then retry`
  }
}

/**
 * The folder that a terminal should start in is none.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalFolderNotFound extends Schema.TaggedError<TerminalFolderNotFound>(
  "@afterturn/terminal/TerminalFolderNotFound"
)("TerminalFolderNotFound", { code: Schema.Literal("cwd_not_found"), cwd: Schema.String, reason: Schema.String }) {
  override get message(): string {
    return `no terminal was opened: its folder ${JSON.stringify(this.cwd)} ${this.reason}`
  }
}

/**
 * The operating system gave no terminal, or the program is not there.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalOpenFailed extends Schema.TaggedError<TerminalOpenFailed>(
  "@afterturn/terminal/TerminalOpenFailed"
)("TerminalOpenFailed", {
  code: Schema.Literal("open_failed"),
  reason: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  override get message(): string {
    return `no terminal was opened: ${this.reason}`
  }
}

/**
 * Terminals belong to the live agent of a session, and this session has none here.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalOwnerAbsent extends Schema.TaggedError<TerminalOwnerAbsent>(
  "@afterturn/terminal/TerminalOwnerAbsent"
)("TerminalOwnerAbsent", { code: Schema.Literal("no_owning_session"), owner: Schema.String }) {
  override get message(): string {
    return `session "${this.owner}" has no live agent in this process, so it cannot have terminals here`
  }
}

/**
 * What was to be done with a terminal cannot be done. Nothing was.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalRefused extends Schema.TaggedError<TerminalRefused>("@afterturn/terminal/TerminalRefused")(
  "TerminalRefused",
  { code: Schema.Literal("invalid_input", "signal_refused"), reason: Schema.String }
) {
  override get message(): string {
    return this.reason
  }
}

/**
 * Even SIGKILL has not ended all processes of a terminal yet.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalNotEnded extends Schema.TaggedError<TerminalNotEnded>("@afterturn/terminal/TerminalNotEnded")(
  "TerminalNotEnded",
  { code: Schema.Literal("not_ended"), terminalId: Schema.String, alive: Schema.Int }
) {
  override get message(): string {
    return `terminal "${this.terminalId}" is closed, but ${this.alive} of its processes could not be ended`
  }
}

/**
 * Why no terminal was opened.
 *
 * @since 0.1.0
 * @category errors
 */
export type OpenError =
  | UnknownTerminalType
  | TerminalLimitReached
  | TerminalFolderNotFound
  | TerminalOpenFailed
  | TerminalOwnerAbsent

/**
 * Why nothing was sent.
 *
 * @since 0.1.0
 * @category errors
 */
export type SendError = TerminalNotFound | TerminalExited | TerminalRefused

/**
 * Why a call of a tool failed, for the model. With `jobs_unavailable` what was sent may have arrived; with `not_ended` the terminal is
 * closed; with any other code nothing was done.
 *
 * @since 0.1.0
 * @category errors
 */
export class TerminalToolError extends Schema.TaggedError<TerminalToolError>("@afterturn/terminal/TerminalToolError")(
  "TerminalToolError",
  {
    code: Schema.Literal(
      "approval_denied",
      "terminal_not_found",
      "terminal_exited",
      "terminal_limit_reached",
      "unknown_type",
      "cwd_not_found",
      "open_failed",
      "invalid_input",
      "signal_refused",
      "not_ended",
      "no_owning_session",
      "background_unavailable",
      "job_limit_reached",
      "job_uncontrolled",
      "jobs_unavailable"
    ),
    message: Schema.String
  }
) {}
