/**
 * Reads a command line the way people type it: options anywhere, `--name=value`, `--` before what only looks like an option. The
 * result is the strict order that `@effect/cli` parses without guessing.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { CliError } from "./CliError.js"
import { usage } from "./CliError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface OptionSpec {
  /** With their dashes. */
  readonly names: ReadonlyArray<string>
  readonly takesValue: boolean
}

/**
 * A command and those below it. One with children does nothing by itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommandSpec {
  readonly name: string
  readonly options: ReadonlyArray<OptionSpec>
  /** The most positional arguments that it takes. */
  readonly maxArgs: number
  readonly children: ReadonlyArray<CommandSpec>
}

/**
 * What a command line asks for. `path` names the command, without the program's own name. `args` has the options first, then `--`,
 * then the positional arguments, escaped (`unescape`).
 *
 * @since 0.1.0
 * @category models
 */
export type Request =
  | { readonly _tag: "Version" }
  | { readonly _tag: "Help"; readonly path: ReadonlyArray<string> }
  | { readonly _tag: "Completions"; readonly shell: string }
  | {
      readonly _tag: "Run"
      readonly path: ReadonlyArray<string>
      readonly args: ReadonlyArray<string>
      readonly logLevel: string | undefined
      readonly otlp: string | undefined
    }

/**
 * Whether errors are wanted as JSON, known even of a line that cannot be read.
 *
 * @since 0.1.0
 * @category accessors
 */
export const wantsJson = (argv: ReadonlyArray<string>): boolean => {
  const end = argv.indexOf("--")
  return argv.slice(0, end < 0 ? argv.length : end).some((word) => word === "--json" || word === "--json=true")
}

/** Options of every command, which are acted on here. */
const builtIn: ReadonlyArray<OptionSpec> = [
  { names: ["--help", "-h"], takesValue: false },
  { names: ["--version"], takesValue: false },
  { names: ["--completions"], takesValue: true },
  { names: ["--log-level"], takesValue: true },
  { names: ["--otlp"], takesValue: true }
]

const shells = ["bash", "fish", "sh", "zsh"]

/**
 * @since 0.1.0
 * @category parsing
 */
export const parse = (root: CommandSpec, argv: ReadonlyArray<string>): Either.Either<Request, CliError> =>
  Either.flatMap(read(root, argv), (line) => interpret(root, line))

/** A command line taken apart. */
interface Line {
  readonly path: ReadonlyArray<CommandSpec>
  /** By the name that was typed. */
  readonly options: ReadonlyMap<string, string | undefined>
  readonly words: ReadonlyArray<string>
}

const read = (root: CommandSpec, argv: ReadonlyArray<string>): Either.Either<Line, CliError> => {
  const known = optionsBelow(root)
  const path: Array<CommandSpec> = []
  const options = new Map<string, string | undefined>()
  const words: Array<string> = []
  for (let index = 0; index < argv.length; index++) {
    const token = argv[index]!
    if (token === "--") {
      words.push(...argv.slice(index + 1))
      break
    }
    if (!token.startsWith("-") || token === "-") {
      const child = (path.at(-1) ?? root).children.find(({ name }) => name === token)
      if (child !== undefined && words.length === 0) path.push(child)
      else words.push(token)
      continue
    }
    const { name, value } = split(token)
    const takesValue = known.get(name)
    if (takesValue === undefined) return Either.left(usage(unknownOption(name, root, path)))
    const given = value ?? (takesValue ? argv[++index] : undefined)
    if (given === "--") return Either.left(usage(`${name}: expected a value, got "--", which ends the options`))
    if (takesValue && options.has(name)) {
      return Either.left(
        usage(`expected ${name} once, got ${JSON.stringify(options.get(name))} and ${JSON.stringify(given)}`)
      )
    }
    if (takesValue && given === undefined) return Either.left(usage(`expected a value after ${name}`))
    if (!takesValue && given !== undefined && given !== "true" && given !== "false") {
      return Either.left(usage(`${name} takes no value, got ${JSON.stringify(given)}`))
    }
    if (!takesValue && given === "false") options.delete(name)
    else options.set(name, takesValue ? given : undefined)
  }
  return Either.right({ path, options, words })
}

const split = (token: string): { readonly name: string; readonly value: string | undefined } => {
  const at = token.startsWith("--") ? token.indexOf("=") : -1
  return at < 0 ? { name: token, value: undefined } : { name: token.slice(0, at), value: token.slice(at + 1) }
}

const interpret = (root: CommandSpec, line: Line): Either.Either<Request, CliError> => {
  const path = line.path.map(({ name }) => name)
  const command = line.path.at(-1) ?? root
  const { options, words } = line
  // Help of something else would pass for help of what was asked.
  if (command.children.length > 0 && words.length > 0) {
    return Either.left(usage(commandMissing(root, line.path, words[0])))
  }
  if (options.has("--help") || options.has("-h")) return Either.right({ _tag: "Help", path })
  if (options.has("--version")) return Either.right({ _tag: "Version" })
  const shell = options.get("--completions")
  if (shell !== undefined) {
    return shells.includes(shell)
      ? Either.right({ _tag: "Completions", shell })
      : Either.left(usage(`--completions: expected one of ${shells.join(", ")}, got ${JSON.stringify(shell)}`))
  }
  if (command.children.length > 0) {
    return path.length === 0 && options.size === 0
      ? Either.right({ _tag: "Help", path })
      : Either.left(usage(commandMissing(root, line.path, undefined)))
  }
  const foreign = [...options.keys()].find((name) => !has(command.options, name) && !has(builtIn, name))
  if (foreign !== undefined) return Either.left(usage(unknownOption(foreign, root, line.path)))
  if (words.length > command.maxArgs) {
    return Either.left(
      usage(`unexpected argument ${JSON.stringify(words[command.maxArgs])}; ${seeHelp(root, line.path)}`)
    )
  }
  const given = [...options].filter(([name]) => !has(builtIn, name))
  return Either.right({
    _tag: "Run",
    path,
    args: [
      ...given.flatMap(([name, value]) => (value === undefined ? [name] : [name, value])),
      "--",
      ...words.map(escape)
    ],
    logLevel: options.get("--log-level"),
    otlp: options.get("--otlp")
  })
}

const has = (options: ReadonlyArray<OptionSpec>, name: string): boolean =>
  options.some((option) => option.names.includes(name))

/** Every option of every command: a value may stand before the command that it belongs to is known. */
const optionsBelow = (root: CommandSpec): ReadonlyMap<string, boolean> => {
  const all = (spec: CommandSpec): ReadonlyArray<OptionSpec> => [...spec.options, ...spec.children.flatMap(all)]
  return new Map(
    [...builtIn, ...all(root)].flatMap(({ names, takesValue }) => names.map((name) => [name, takesValue] as const))
  )
}

const commandName = (root: CommandSpec, path: ReadonlyArray<CommandSpec>): string =>
  [root, ...path].map(({ name }) => name).join(" ")

const seeHelp = (root: CommandSpec, path: ReadonlyArray<CommandSpec>): string => `see ${commandName(root, path)} --help`

const unknownOption = (name: string, root: CommandSpec, path: ReadonlyArray<CommandSpec>): string => {
  const command = path.at(-1) ?? root
  const names = [...command.options, ...builtIn].flatMap((option) => option.names)
  return `${commandName(root, path)} has no option ${name}${didYouMean(name, names)}; ${seeHelp(root, path)}`
}

const commandMissing = (root: CommandSpec, path: ReadonlyArray<CommandSpec>, word: string | undefined): string => {
  const names = (path.at(-1) ?? root).children.map(({ name }) => name)
  return word === undefined
    ? `${commandName(root, path)}: expected a command, one of ${names.join(", ")}`
    : `${commandName(root, path)} has no command ${JSON.stringify(word)}${didYouMean(word, names)}; ${seeHelp(root, path)}`
}

/** Dashes say nothing, and a name of which hardly a letter is right was not meant. */
const didYouMean = (word: string, names: ReadonlyArray<string>): string => {
  const bare = (text: string) => text.replace(/^-+/, "")
  const near = names
    .map((name) => ({ name, length: bare(name).length, distance: distance(bare(word), bare(name)) }))
    .filter(({ distance, length }) => distance <= Math.max(2, length / 3) && distance < length)
    .sort((a, b) => a.distance - b.distance)[0]
  return near === undefined ? "" : `, did you mean ${near.name}?`
}

/** The fewest insertions, deletions and replacements from one word to another. */
const distance = (from: string, to: string): number => {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i++) {
    const next = [i]
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[to.length]!
}

/** The parser behind looks for its own options even among the words after `--`: a prompt may be `--help`. */
const escape = (word: string): string => (/^[-\\]/.test(word) ? `\\${word}` : word)

/**
 * A positional argument as it was typed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const unescape = (word: string): string => (word.startsWith("\\") ? word.slice(1) : word)
