/**
 * Which shell runs commands, what it lets them see of the host, and how patiently it ends them.
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
 * @since 0.1.0
 * @category models
 */
export interface ShellOptions extends ProgramEnvironment.ProgramEnvironmentOptions {
  /** The shell: a name that is looked up in `PATH`, or an absolute path. It has to be bash. Default `bash`. */
  readonly shell: string
  /** How long processes may take to end after SIGTERM, before SIGKILL. Default 1.5 seconds: less than `job_kill` waits. */
  readonly terminationGrace: Duration.Duration
  /** How long output is read on after a command's shell ended while other processes hold it open. Default 250 milliseconds. */
  readonly drainGrace: Duration.Duration
  /** UTF-8 bytes of one answer about a command, status line included. Default 30,000. */
  readonly outputLimitBytes: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ShellSettings extends Omit<ShellOptions, "inheritEnvironment" | "setEnvironment"> {
  /** What every command gets, read once from the host. */
  readonly environment: Readonly<Record<string, string>>
}

/**
 * What the tool does with time and with the background.
 *
 * @since 0.1.0
 * @category models
 */
export interface ShellToolsOptions {
  /** How long a command in the foreground may take when the model names no time. Default 120,000. */
  readonly timeoutMs: number
  /** The longest such time; a longer one that the model names is cut to it. Default 600,000. */
  readonly maxTimeoutMs: number
  /** Whether commands may run in the background. If not, one that outlasts its time is ended. Default true. */
  readonly enableRunInBackground: boolean
  /** Whether this composition tells owners of the ends of their jobs: only then does the tool promise it. Default true. */
  readonly noticesDelivered: boolean
}

/**
 * A configuration that could not work.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidShellConfig extends Schema.TaggedError<InvalidShellConfig>("@afterturn/shell/InvalidShellConfig")(
  "InvalidShellConfig",
  { reason: Schema.String }
) {
  override get message(): string {
    return `shell configuration: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ShellConfig extends Context.Tag("@afterturn/shell/ShellConfig")<ShellConfig, ShellSettings>() {}

/** Commands have no terminal of their own that would say it. */
const alsoInherited = ["TERM"]

/** Changes what the text that supervises a command would write. */
const reserved = ["PS4"]

/**
 * The defaults, with what differs, and the host's environment, which is read now. Fails at start on a limit that cannot work, and on a
 * variable that would change how the shell itself works.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<ShellOptions>): Layer.Layer<ShellConfig, InvalidShellConfig | ConfigError> =>
  Layer.effect(
    ShellConfig,
    Effect.gen(function* () {
      const { inheritEnvironment, setEnvironment, ...settings }: ShellOptions = {
        shell: "bash",
        terminationGrace: Duration.millis(1500),
        drainGrace: Duration.millis(250),
        outputLimitBytes: 30_000,
        inheritEnvironment: [],
        setEnvironment: {},
        ...options
      }
      const wrong =
        limitProblem(settings.outputLimitBytes) ??
        ProgramEnvironment.problemOf({ inheritEnvironment, setEnvironment }, reserved)
      if (wrong !== undefined) return yield* new InvalidShellConfig({ reason: wrong })
      const inherits = [...alsoInherited, ...inheritEnvironment]
      return {
        ...settings,
        environment: yield* ProgramEnvironment.read({ inheritEnvironment: inherits, setEnvironment })
      }
    })
  )

/**
 * The defaults of the tool, with what differs. A default time above the longest one fails.
 *
 * @since 0.1.0
 * @category constructors
 */
export const toolsOptions = (
  options?: Partial<ShellToolsOptions>
): Effect.Effect<ShellToolsOptions, InvalidShellConfig> => {
  const all: ShellToolsOptions = {
    timeoutMs: 120_000,
    maxTimeoutMs: 600_000,
    enableRunInBackground: true,
    noticesDelivered: true,
    ...options
  }
  const wrong = (["timeoutMs", "maxTimeoutMs"] as const).find(
    (key) => !Number.isInteger(all[key]) || all[key] <= 0 || all[key] > longestTimer
  )
  if (wrong !== undefined) {
    return new InvalidShellConfig({
      reason: `${wrong} must be an integer from 1 to ${longestTimer}, got ${all[wrong]}`
    })
  }
  return all.timeoutMs > all.maxTimeoutMs
    ? new InvalidShellConfig({
        reason: `timeoutMs (${all.timeoutMs}) must not be above maxTimeoutMs (${all.maxTimeoutMs})`
      })
    : Effect.succeed(all)
}

/** What a timer of the platform holds, in milliseconds. */
const longestTimer = 2_147_483_647

const limitProblem = (outputLimitBytes: number): string | undefined =>
  Number.isSafeInteger(outputLimitBytes) && outputLimitBytes > 0
    ? undefined
    : `outputLimitBytes must be a positive integer, got ${outputLimitBytes}`
