/**
 * The text of `--help`, made of what a command declares.
 *
 * @since 0.1.0
 */
import type { HelpDoc } from "@effect/cli/HelpDoc"
import type { Span } from "@effect/cli/HelpDoc/Span"
import type { Usage } from "@effect/cli/Usage"
import * as Option from "effect/Option"
import * as TextLayout from "./chat/TextLayout.js"

/**
 * What the help of a command shows. The first paragraph of `help` is its summary; one that begins with `$` is an example.
 *
 * @since 0.1.0
 * @category models
 */
export interface HelpSource {
  /** The words that call it, such as `afterturn sessions list`. */
  readonly call: string
  readonly usage: Usage
  readonly help: HelpDoc
  readonly children: ReadonlyArray<HelpSource>
}

/**
 * An option (its names begin with a dash) or a positional argument.
 *
 * @since 0.1.0
 * @category models
 */
export interface Parameter {
  readonly names: ReadonlyArray<string>
  /** What its value is called; absent for a switch. */
  readonly value: string | undefined
  readonly optional: boolean
}

const parametersOf = (usage: Usage, optional: boolean): ReadonlyArray<Parameter> => {
  switch (usage._tag) {
    case "Empty":
    case "Mixed":
      return []
    case "Named":
      return [{ names: usage.names, value: Option.getOrUndefined(usage.acceptedValues), optional }]
    case "Optional":
      return parametersOf(usage.usage, true)
    case "Repeated":
      return parametersOf(usage.usage, optional)
    case "Alternation":
    case "Concat":
      return [...parametersOf(usage.left, optional), ...parametersOf(usage.right, optional)]
  }
}

/**
 * The positional arguments of a usage, in order.
 *
 * @since 0.1.0
 * @category accessors
 */
export const argumentsOf = (usage: Usage): ReadonlyArray<Parameter> =>
  parametersOf(usage, false).filter(({ names }) => names[0]?.startsWith("<"))

/**
 * The options of a usage, in order.
 *
 * @since 0.1.0
 * @category accessors
 */
export const optionsOf = (usage: Usage): ReadonlyArray<Parameter> =>
  parametersOf(usage, false).filter(({ names }) => names[0]?.startsWith("-"))

/** A term and what is said of it. */
type Entry = readonly [term: string, text: string]

/** What every command understands. */
const common: ReadonlyArray<Entry> = [
  ["--log-level LEVEL", "What is logged to stderr: all, debug, info, warning (the default), error or none."],
  ["--otlp URL", "Where to send traces, metrics and logs. Default: $OTEL_EXPORTER_OTLP_ENDPOINT."],
  ["-h, --help", "Shows this text."]
]

const ofProgram: ReadonlyArray<Entry> = [
  ["--version", "Shows the version."],
  ["--completions SHELL", "Prints completions for bash, fish or zsh."]
]

/**
 * The help of a command, in lines of at most `columns` where words allow it, and never more than 100.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (source: HelpSource, columns: number): string => {
  const width = Math.min(columns, 100)
  const { details, entries } = contentOf(source.help)
  const isGroup = source.children.length > 0
  const isRoot = !source.call.includes(" ")
  const blocks = [
    `Usage: ${source.call} ${isGroup ? "COMMAND" : `[OPTIONS] ${argumentText(source)}`}`.trimEnd(),
    ...details.map((paragraph) => paragraphText(paragraph, width)),
    ...section(
      "Commands",
      leavesOf(source).map((leaf) => [callOf(source, leaf), contentOf(leaf.help).details[0] ?? ""]),
      width
    ),
    ...section(
      "Arguments",
      entries.filter(([term]) => !term.startsWith("-")),
      width
    ),
    ...section(
      "Options",
      [...entries.filter(([term]) => term.startsWith("-")), ...common, ...(isGroup && isRoot ? ofProgram : [])],
      width
    )
  ]
  return blocks.join("\n\n").replaceAll(/(\n {4}\$ .*\n)\n(?= {4}\$ )/g, "$1")
}

const paragraphText = (paragraph: string, width: number): string =>
  paragraph.startsWith("$ ")
    ? `    ${paragraph}`
    : wrap(paragraph, width - 2)
        .map((row) => `  ${row}`)
        .join("\n")

/** The commands that do something, however deep. */
const leavesOf = (source: HelpSource): ReadonlyArray<HelpSource> =>
  source.children.flatMap((child) => (child.children.length === 0 ? [child] : leavesOf(child)))

const callOf = (source: HelpSource, leaf: HelpSource): string =>
  `${leaf.call.slice(source.call.length + 1)} ${argumentText(leaf)}`.trimEnd()

const argumentText = (source: HelpSource): string =>
  argumentsOf(source.usage)
    .map(({ names, optional }) => (optional ? `[${bare(names[0] ?? "")}]` : bare(names[0] ?? "")))
    .join(" ")

const bare = (name: string): string => name.replaceAll(/[<>()]/g, "")

interface Content {
  readonly details: ReadonlyArray<string>
  readonly entries: ReadonlyArray<Entry>
}

const contentOf = (help: HelpDoc): Content => {
  const blocks = flatten(help)
  return {
    details: blocks.flatMap(paragraphOf),
    entries: blocks.flatMap((block) => (block._tag === "DescriptionList" ? block.definitions.map(entryOf) : []))
  }
}

const flatten = (help: HelpDoc): ReadonlyArray<HelpDoc> =>
  help._tag === "Sequence" ? [...flatten(help.left), ...flatten(help.right)] : [help]

const paragraphOf = (block: HelpDoc): ReadonlyArray<string> => (block._tag === "Paragraph" ? [textOf(block.value)] : [])

/** Sentences that the library puts beside every option, whatever it is about. */
const boilerplate = /^(A user-defined piece of text|A true or false value|An integer|This setting is optional)\b/

const entryOf = ([term, body]: readonly [Span, HelpDoc]): Entry => [
  bare(textOf(term)),
  flatten(body)
    .flatMap(paragraphOf)
    .filter((paragraph) => !boilerplate.test(paragraph))
    .join(" ")
]

const textOf = (span: Span): string => {
  switch (span._tag) {
    case "Text":
    case "URI":
      return span.value
    case "Highlight":
    case "Strong":
    case "Weak":
      return textOf(span.value)
    case "Sequence":
      return textOf(span.left) + textOf(span.right)
  }
}

/**
 * The paragraphs of a document on one line, as an error shows them.
 *
 * @since 0.1.0
 * @category rendering
 */
export const plainText = (help: HelpDoc): string => flatten(help).flatMap(paragraphOf).join(" ")

const maxTermWidth = 28

const section = (title: string, entries: ReadonlyArray<Entry>, width: number): ReadonlyArray<string> => {
  if (entries.length === 0) return []
  const left = Math.min(Math.max(...entries.map(([term]) => term.length)), maxTermWidth) + 4
  const rows = entries.flatMap(([term, text]) => {
    const [first = "", ...rest] = wrap(text, width - left)
    const head = `  ${term}`
    const fits = head.length + 2 <= left
    const own = fits ? [head.padEnd(left) + first] : [head, " ".repeat(left) + first]
    return [...own, ...rest.map((row) => " ".repeat(left) + row)]
  })
  return [[`${title}:`, ...rows.map((row) => row.trimEnd())].join("\n")]
}

const wrap = (text: string, columns: number): ReadonlyArray<string> =>
  TextLayout.wrap(text, Math.max(columns, 20)).map((row) => row.trimEnd())
