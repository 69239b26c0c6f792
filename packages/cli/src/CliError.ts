/**
 * What a command ends with when it fails: a code for programs, one line for people, and the exit code of the process.
 *
 * @since 0.1.0
 */
import type { AgentBusy, AgentClosed } from "@afterturn/agent/Agent"
import type { InvalidModelRoute } from "@afterturn/agent/AgentModel"
import type { GoalError } from "@afterturn/goals/Goals"
import type { JobNotFound } from "@afterturn/jobs/JobsError"
import type { ListenFailed, TokenRequired } from "@afterturn/mcp/McpHttp/Node"
import type { InvalidRule } from "@afterturn/schedule/InvalidRule"
import type { ScheduleError } from "@afterturn/schedule/ScheduleError"
import type { CommandUnanswered } from "@afterturn/session-log/MailboxError"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import type {
  ImportRejected,
  InvalidCursor,
  InvalidForkBoundary,
  SessionExists,
  SessionLeased
} from "@afterturn/session-log/SessionLogError"
import type { InvalidScript } from "@afterturn/testing/Script"
import type { ScriptUnreadable } from "@afterturn/testing/ScriptedModel"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * Exit codes of the process; `blocked` is that of a goal which was stopped. A signal gives 128 and its number: `interrupted` is that of Ctrl-C.
 *
 * @since 0.1.0
 * @category constants
 */
export const exitCodes = { ok: 0, failure: 1, usage: 2, blocked: 3, interrupted: 130 } as const

/**
 * A command failed. `code` is stable; `message` is one line and says what to do where something can be done.
 *
 * @since 0.1.0
 * @category errors
 */
export class CliError extends Schema.TaggedError<CliError>("@afterturn/cli/CliError")("CliError", {
  code: Schema.String,
  message: Schema.String,
  exit: Schema.Int
}) {}

/**
 * The errors of other packages that a command may end with.
 *
 * @since 0.1.0
 * @category models
 */
export type ForeignError =
  | ReadError
  | AppendError
  | SessionExists
  | SessionLeased
  | ImportRejected
  | InvalidCursor
  | InvalidForkBoundary
  | InvalidModelRoute
  | InvalidScript
  | ScriptUnreadable
  | AgentBusy
  | AgentClosed
  | CommandUnanswered
  | JobNotFound
  | GoalError
  | ScheduleError
  | InvalidRule
  | ListenFailed
  | TokenRequired

/**
 * The command line itself is wrong.
 *
 * @since 0.1.0
 * @category constructors
 */
export const usage = (message: string): CliError =>
  new CliError({ code: "usage", message: oneLine(message), exit: exitCodes.usage })

/**
 * A failure of this command's own.
 *
 * @since 0.1.0
 * @category constructors
 */
export const failure = (code: string, message: string): CliError =>
  new CliError({ code, message: oneLine(message), exit: exitCodes.failure })

/**
 * A goal that was stopped before it was reached.
 *
 * @since 0.1.0
 * @category constructors
 */
export const blocked = (message: string): CliError =>
  new CliError({ code: "goal_blocked", message: oneLine(message), exit: exitCodes.blocked })

/**
 * An error of another package: its tag in snake case is the code, `store_` and the reason for one of the store.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromError = (error: ForeignError | CliError): CliError => {
  switch (error._tag) {
    case "CliError":
      return error
    case "InvalidModelRoute":
    case "TokenRequired":
      return usage(error.message)
    case "NoGoal":
    case "StaleGoal":
    case "GoalExists":
    case "GoalTransition":
    case "InvalidGoal":
    case "GoalExhausted":
    case "CompletionRefused":
    case "CorruptGoalLog":
    case "ScheduleError":
    case "InvalidRule":
      return failure(error.code, error.message)
    case "SessionStoreError":
      return failure(`store_${error.reason.replaceAll("-", "_")}`, error.message)
    default:
      return failure(snakeCase(error._tag), error.message)
  }
}

/**
 * What ended a command, whatever it was. A defect becomes `internal_error`; nothing is said of an interruption.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromCause = (cause: Cause.Cause<CliError>): Option.Option<CliError> =>
  Option.orElse(Cause.failureOption(cause), () =>
    Option.map(Cause.dieOption(cause), (defect) =>
      failure("internal_error", `unexpected: ${defect instanceof Error ? defect.message : String(defect)}`)
    )
  )

/**
 * The error as stderr shows it: a line of text, or of JSON.
 *
 * @since 0.1.0
 * @category conversions
 */
export const render = (error: CliError, json: boolean): string =>
  json ? JSON.stringify({ error: { code: error.code, message: error.message } }) : `afterturn: ${error.message}`

const snakeCase = (tag: string): string => tag.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

/** Control characters out of a session or a file must not reach a terminal either. */
const oneLine = (text: string): string => text.trim().replaceAll(/[\s\p{Cc}]+/gu, " ")
