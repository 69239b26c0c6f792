/**
 * Which shell runs commands, what it lets them see of the host, and how patiently it ends them.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category models
 */
export interface ShellOptions {
  /** The shell: a name that is looked up in `PATH`, or an absolute path. It has to be bash. Default `bash`. */
  readonly shell: string
  /** How long processes may take to end after SIGTERM, before SIGKILL. Default 1.5 seconds: less than `job_kill` waits. */
  readonly terminationGrace: Duration.Duration
  /** How long output is read on after a command's shell ended while other processes hold it open. Default 250 milliseconds. */
  readonly drainGrace: Duration.Duration
  /** UTF-8 bytes of one answer about a command, status line included. Default 30,000. */
  readonly outputLimitBytes: number
  /** Variables of the host that commands get beside those of `inherited`. Default none. */
  readonly inheritEnvironment: ReadonlyArray<string>
  /** Variables that commands get with these values. Default none. */
  readonly setEnvironment: Readonly<Record<string, string>>
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

/**
 * The variables of the host that commands get, where it has them. Nothing else of its environment is passed on: that is where
 * secrets are.
 *
 * @since 0.1.0
 * @category constants
 */
export const inherited: ReadonlyArray<string> = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "TZ",
  "TMPDIR",
  "LANG",
  "LANGUAGE",
  "LC_ALL",
  "LC_ADDRESS",
  "LC_COLLATE",
  "LC_CTYPE",
  "LC_IDENTIFICATION",
  "LC_MEASUREMENT",
  "LC_MESSAGES",
  "LC_MONETARY",
  "LC_NAME",
  "LC_NUMERIC",
  "LC_PAPER",
  "LC_TELEPHONE",
  "LC_TIME"
]

/** Where a host has no `PATH`. */
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

/** Change how the shell reads a text, also the text that supervises a command. */
const steering = new Set(["BASH_ENV", "BASHOPTS", "ENV", "IFS", "POSIXLY_CORRECT", "PS4", "SHELLOPTS"])

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
        nameProblem([...inheritEnvironment, ...Object.keys(setEnvironment)]) ??
        valueProblem(setEnvironment)
      if (wrong !== undefined) return yield* new InvalidShellConfig({ reason: wrong })
      const host = yield* hostEnvironment([...inherited, ...inheritEnvironment])
      return { ...settings, environment: { PATH: defaultPath, ...host, ...setEnvironment } }
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

const hostEnvironment = (names: ReadonlyArray<string>): Effect.Effect<Readonly<Record<string, string>>, ConfigError> =>
  Effect.map(
    Effect.forEach(names, (name) => Effect.map(Config.option(Config.string(name)), (value) => [name, value] as const)),
    (all) =>
      Object.fromEntries(all.flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value] as const] : [])))
  )

const limitProblem = (outputLimitBytes: number): string | undefined =>
  Number.isSafeInteger(outputLimitBytes) && outputLimitBytes > 0
    ? undefined
    : `outputLimitBytes must be a positive integer, got ${outputLimitBytes}`

const nameProblem = (names: ReadonlyArray<string>): string | undefined => {
  const wrong = names.find((name) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || steering.has(name))
  if (wrong === undefined) return undefined
  return steering.has(wrong)
    ? `the variable ${wrong} changes how the shell works and cannot be passed to commands; set it in the command`
    : `expected the name of an environment variable, got ${JSON.stringify(wrong)}`
}

const valueProblem = (values: Readonly<Record<string, string>>): string | undefined => {
  const wrong = Object.keys(values).find((name) => values[name]?.includes("\0"))
  return wrong === undefined ? undefined : `the value of the variable ${wrong} holds a NUL character`
}
