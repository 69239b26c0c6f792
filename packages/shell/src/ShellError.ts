/**
 * Why a command could not be started: nothing of it ran.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * The folder that the command should run in is none.
 *
 * @since 0.1.0
 * @category errors
 */
export class WorkdirNotFound extends Schema.TaggedError<WorkdirNotFound>("@afterturn/shell/WorkdirNotFound")(
  "WorkdirNotFound",
  { code: Schema.Literal("workdir_not_found"), workdir: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `the command was not started: its folder ${JSON.stringify(this.workdir)} ${this.reason}`
  }
}

/**
 * The shell of the configuration is not installed, or may not be run.
 *
 * @since 0.1.0
 * @category errors
 */
export class ShellNotFound extends Schema.TaggedError<ShellNotFound>("@afterturn/shell/ShellNotFound")(
  "ShellNotFound",
  {
    code: Schema.Literal("shell_not_found"),
    shell: Schema.String
  }
) {
  override get message(): string {
    return `the command was not started: there is no executable ${JSON.stringify(this.shell)} on this host`
  }
}

/**
 * The operating system refused the process, or the shell did not come up.
 *
 * @since 0.1.0
 * @category errors
 */
export class SpawnFailed extends Schema.TaggedError<SpawnFailed>("@afterturn/shell/SpawnFailed")("SpawnFailed", {
  code: Schema.Literal("spawn_failed"),
  reason: Schema.String,
  cause: Schema.optional(Schema.Defect)
}) {
  override get message(): string {
    return `the command was not started: ${this.reason}`
  }
}

/**
 * A text that no shell can take as a command.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidCommand extends Schema.TaggedError<InvalidCommand>("@afterturn/shell/InvalidCommand")(
  "InvalidCommand",
  { code: Schema.Literal("invalid_command"), reason: Schema.String }
) {
  override get message(): string {
    return `the command was not started: ${this.reason}`
  }
}

/**
 * Commands run on Linux and macOS only.
 *
 * @since 0.1.0
 * @category errors
 */
export class PlatformNotSupported extends Schema.TaggedError<PlatformNotSupported>(
  "@afterturn/shell/PlatformNotSupported"
)("PlatformNotSupported", { code: Schema.Literal("platform_not_supported"), platform: Schema.String }) {
  override get message(): string {
    return `the command was not started: bash is not supported on ${this.platform}, only on Linux and macOS`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export type ShellError = WorkdirNotFound | ShellNotFound | SpawnFailed | InvalidCommand | PlatformNotSupported

/**
 * Why a call of the tool failed, for the model. With `jobs_unavailable` the command may run; with any other code it does not.
 *
 * @since 0.1.0
 * @category errors
 */
export class ShellToolError extends Schema.TaggedError<ShellToolError>("@afterturn/shell/ShellToolError")(
  "ShellToolError",
  {
    code: Schema.Literal(
      "approval_denied",
      "invalid_command",
      "workdir_not_found",
      "shell_not_found",
      "spawn_failed",
      "platform_not_supported",
      "no_owning_session",
      "job_limit_reached",
      "job_uncontrolled",
      "jobs_unavailable"
    ),
    message: Schema.String
  }
) {}
