/**
 * Which terminals there are, what they see of the host, and how patiently they are waited for and ended.
 *
 * @since 0.1.0
 */
import * as ProgramEnvironment from "@afterturn/agent/ProgramEnvironment"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * A type of terminal: the program, its arguments, and variables beside those that all terminals get.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalType {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TerminalOptions extends ProgramEnvironment.ProgramEnvironmentOptions {
  /** The types that can be opened, by name. Default: `shell`, an interactive bash without start-up files. */
  readonly types: Readonly<Record<string, TerminalType>>
  /** Default 120. */
  readonly columns: number
  /** Default 40. */
  readonly rows: number
  /** Lines that have left the screen and are kept, of each terminal. Default 2,000. */
  readonly scrollback: number
  /** Terminals that one session may have open. Default 64. */
  readonly maxTerminalsPerOwner: number
  /** A call that waits answers when nothing was written for so long. Default 3 seconds. */
  readonly silence: Duration.Duration
  /** The longest that a call waits. Default 2 minutes. */
  readonly timeout: Duration.Duration
  /** How long a program may take to give in to SIGINT when its background job is ended, before SIGKILL. Default 1 second. */
  readonly interruptGrace: Duration.Duration
  /** How long processes may take to end after SIGHUP when their terminal is closed, before SIGKILL. Default 1 second. */
  readonly closeGrace: Duration.Duration
  /** UTF-8 bytes of one answer. Default 30,000. */
  readonly outputLimitBytes: number
  /** UTF-8 bytes of one text to send. Default 65,536. */
  readonly maxSendBytes: number
  /** Lines of one page of `terminal_read` at most. Default 2,000. */
  readonly maxPageLines: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface TerminalSettings extends Omit<TerminalOptions, "inheritEnvironment" | "setEnvironment"> {
  /** What every terminal gets, read once from the host. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * A configuration that could not work.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidTerminalConfig extends Schema.TaggedError<InvalidTerminalConfig>(
  "@afterturn/terminal/InvalidTerminalConfig"
)("InvalidTerminalConfig", { reason: Schema.String }) {
  override get message(): string {
    return `terminal configuration: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class TerminalConfig extends Context.Tag("@afterturn/terminal/TerminalConfig")<
  TerminalConfig,
  TerminalSettings
>() {}

/** The emulator's to say. */
const reserved = ["TERM"]

/**
 * An interactive bash that reads no start-up file and keeps no history file. Its prompts carry invisible marks (OSC 133) by which a
 * terminal knows them from output; the variables that hold them are not passed on to what it starts.
 *
 * @since 0.1.0
 * @category constants
 */
export const bash: TerminalType = {
  command: "bash",
  args: ["--noprofile", "--norc", "-i"],
  environment: {
    HISTFILE: "",
    PROMPT_COMMAND: `printf '\\e]133;D;%s\\a' "$?"; export -n HISTFILE PROMPT_COMMAND PS0 PS1 PS2`,
    PS0: "\\e]133;C\\a",
    PS1: "\\[\\e]133;A\\a\\]\\w\\$ \\[\\e]133;B\\a\\]",
    PS2: "\\[\\e]133;P;k=s\\a\\]> "
  }
}

const defaults: TerminalOptions = {
  types: { shell: bash },
  columns: 120,
  rows: 40,
  scrollback: 2_000,
  maxTerminalsPerOwner: 64,
  silence: Duration.seconds(3),
  timeout: Duration.minutes(2),
  interruptGrace: Duration.seconds(1),
  closeGrace: Duration.seconds(1),
  outputLimitBytes: 30_000,
  maxSendBytes: 65_536,
  maxPageLines: 2_000,
  inheritEnvironment: [],
  setEnvironment: {}
}

/**
 * The defaults, with what differs, and the host's environment, which is read now. Fails at start on a limit that cannot work, and on a
 * variable that would change how the shell itself works.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<TerminalOptions>
): Layer.Layer<TerminalConfig, InvalidTerminalConfig | ConfigError> =>
  Layer.effect(
    TerminalConfig,
    Effect.gen(function* () {
      const { inheritEnvironment, setEnvironment, ...settings }: TerminalOptions = { ...defaults, ...options }
      const wrong =
        limitProblem(settings) ??
        sizeProblem(settings) ??
        ProgramEnvironment.problemOf({ inheritEnvironment, setEnvironment }, reserved)
      if (wrong !== undefined) return yield* new InvalidTerminalConfig({ reason: wrong })
      return { ...settings, environment: yield* ProgramEnvironment.read({ inheritEnvironment, setEnvironment }) }
    })
  )

/**
 * What is wrong with a size: a terminal has 1 to 1,000 columns and rows.
 *
 * @since 0.1.0
 * @category predicates
 */
export const sizeProblem = (size: { readonly columns: number; readonly rows: number }): string | undefined => {
  const wrong = (["columns", "rows"] as const).find(
    (key) => !Number.isInteger(size[key]) || size[key] < 1 || size[key] > 1_000
  )
  return wrong === undefined ? undefined : `expected ${wrong} to be an integer from 1 to 1000, got ${size[wrong]}`
}

const limits = ["scrollback", "maxTerminalsPerOwner", "outputLimitBytes", "maxSendBytes", "maxPageLines"] as const

const times = ["silence", "timeout", "interruptGrace", "closeGrace"] as const

const limitProblem = (options: Omit<TerminalOptions, "inheritEnvironment" | "setEnvironment">): string | undefined => {
  const limit = limits.find((key) => !Number.isSafeInteger(options[key]) || options[key] <= 0)
  if (limit !== undefined) return `${limit} must be a positive integer, got ${options[limit]}`
  const time = times.find((key) => !(Duration.toMillis(options[key]) > 0))
  if (time !== undefined) return `${time} must be longer than nothing, got ${Duration.format(options[time])}`
  return Object.keys(options.types).length === 0 ? "there has to be at least one type of terminal" : undefined
}
