/**
 * What programs that an agent starts see of the host's environment: a list of harmless variables, what the deployment names, and nothing
 * else, for that is where secrets are.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * @since 0.1.0
 * @category models
 */
export interface ProgramEnvironmentOptions {
  /** Variables of the host that programs get beside those of `inherited`. Default none. */
  readonly inheritEnvironment: ReadonlyArray<string>
  /** Variables that programs get with these values. Default none. */
  readonly setEnvironment: Readonly<Record<string, string>>
}

/**
 * The variables of the host that programs get, where it has them.
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

/** Change how a shell reads a text, also one of our own. */
const steering: ReadonlyArray<string> = ["BASH_ENV", "BASHOPTS", "ENV", "IFS", "POSIXLY_CORRECT", "SHELLOPTS"]

/**
 * What is wrong with the options. `reserved`: variables that are refused beside those that change how a shell itself works.
 *
 * @since 0.1.0
 * @category predicates
 */
export const problemOf = (
  { inheritEnvironment, setEnvironment }: ProgramEnvironmentOptions,
  reserved: ReadonlyArray<string>
): string | undefined => {
  for (const name of [...inheritEnvironment, ...Object.keys(setEnvironment)]) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      return `expected the name of an environment variable, got ${JSON.stringify(name)}`
    }
    if (steering.includes(name) || reserved.includes(name)) {
      return `the variable ${name} changes how the shell works and cannot be passed on; set it where it is needed`
    }
  }
  const wrong = Object.keys(setEnvironment).find((name) => setEnvironment[name]?.includes("\0"))
  return wrong === undefined ? undefined : `the value of the variable ${wrong} holds a NUL character`
}

/**
 * Reads the host's variables, through `Config`, and puts the environment of programs together.
 *
 * @since 0.1.0
 * @category reading
 */
export const read = ({
  inheritEnvironment,
  setEnvironment
}: ProgramEnvironmentOptions): Effect.Effect<Readonly<Record<string, string>>, ConfigError> =>
  Effect.map(
    Effect.forEach([...inherited, ...inheritEnvironment], (name) =>
      Effect.map(Config.option(Config.string(name)), (value) => [name, value] as const)
    ),
    (all) => {
      const found = all.flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value] as const] : []))
      return { PATH: defaultPath, ...Object.fromEntries(found), ...setEnvironment }
    }
  )
