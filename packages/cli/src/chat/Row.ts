/**
 * What is shown: rows of styled text, and the lines that become rows once the width of the terminal is known.
 *
 * @since 0.1.0
 */
import * as SafeText from "./SafeText.js"
import * as TextLayout from "./TextLayout.js"

/**
 * What a piece of text stands for; the look follows from it.
 *
 * @since 0.1.0
 * @category models
 */
export type Style = "plain" | "dim" | "strong" | "accent" | "good" | "bad" | "warn"

/**
 * @since 0.1.0
 * @category models
 */
export interface Span {
  readonly text: string
  readonly style: Style
}

/**
 * @since 0.1.0
 * @category models
 */
export type Row = ReadonlyArray<Span>

/**
 * A line of any length: `label` stands before its first row, `indent` before those that follow. A line with `cut` takes one row and
 * loses what does not fit.
 *
 * @since 0.1.0
 * @category models
 */
export interface Line {
  readonly label: Span
  readonly indent: number
  readonly text: string
  readonly style: Style
  readonly cut: boolean
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const span = (text: string, style: Style = "plain"): Span => ({ text, style })

/**
 * A line; it wraps under the end of its label.
 *
 * @since 0.1.0
 * @category constructors
 */
export const line = (
  text: string,
  options?: { readonly style?: Style; readonly label?: Span; readonly indent?: number; readonly cut?: boolean }
): Line => {
  const label = options?.label ?? span("")
  return {
    label,
    indent: options?.indent ?? TextLayout.width(label.text),
    text,
    style: options?.style ?? "plain",
    cut: options?.cut ?? false
  }
}

/**
 * Lines that show a text, which may have breaks: the label stands before the first.
 *
 * @since 0.1.0
 * @category constructors
 */
export const lines = (text: string, options?: Parameters<typeof line>[1]): ReadonlyArray<Line> => {
  const label = options?.label ?? span("")
  const indent = options?.indent ?? TextLayout.width(label.text)
  return text
    .split("\n")
    .map((part, index) => line(part, { ...options, indent, label: index === 0 ? label : span(" ".repeat(indent)) }))
}

/**
 * The rows of a line on a terminal of that width. A narrow terminal gives up the indentation before the text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const rows = (given: Line, columns: number): ReadonlyArray<Row> => {
  if (!given.cut) return wrapped(given, columns).map(({ row }) => row)
  const text = TextLayout.expandTabs(given.text).trimEnd()
  const labelWidth = TextLayout.width(given.label.text)
  const label = columns - labelWidth > 1 ? given.label : span("")
  const available = columns - TextLayout.width(label.text)
  return [row(label, span(TextLayout.truncate(text, Math.max(1, available)), given.style))]
}

/**
 * The rows of a line that text is still added to: those that are complete, and a line of the rest, which goes on with the same
 * rows.
 *
 * @since 0.1.0
 * @category conversions
 */
export const split = (given: Line, columns: number): readonly [complete: ReadonlyArray<Row>, rest: Line] => {
  const parts = wrapped(given, columns)
  const last = parts.at(-1)
  if (parts.length < 2 || last === undefined) return [[], given]
  const rest = { ...given, label: span(" ".repeat(given.indent)), text: last.text }
  return [parts.slice(0, -1).map(({ row }) => row), rest]
}

const wrapped = (given: Line, columns: number): ReadonlyArray<{ readonly row: Row; readonly text: string }> => {
  const labelWidth = TextLayout.width(given.label.text)
  const roomy = columns - Math.max(labelWidth, given.indent) >= minimumText
  const label = roomy ? given.label : span("")
  const indent = roomy ? given.indent : 0
  const available = Math.max(2, columns - Math.max(roomy ? labelWidth : 0, indent))
  return TextLayout.wrap(TextLayout.expandTabs(given.text), available).map((text, index) => ({
    row: row(index === 0 ? label : span(" ".repeat(indent)), span(text.trimEnd(), given.style)),
    text
  }))
}

/** Fewer columns of text than this beside a label are no use. */
const minimumText = 8

const row = (...spans: ReadonlyArray<Span>): Row => spans.filter(({ text }) => text !== "")

/**
 * The columns that a row takes.
 *
 * @since 0.1.0
 * @category accessors
 */
export const width = (given: Row): number => given.reduce((sum, { text }) => sum + TextLayout.width(text), 0)

const looks: { readonly [name in Style]: string } = {
  plain: "",
  dim: "2",
  strong: "1",
  accent: "36",
  good: "32",
  bad: "31",
  warn: "33"
}

/**
 * A row as a terminal takes it. Whatever its text holds, what comes out is one line that moves nothing and changes nothing but
 * colours, which it puts back.
 *
 * @since 0.1.0
 * @category conversions
 */
export const encode = (given: Row, options: { readonly color: boolean }): string =>
  given
    .map(({ style, text }, index) => {
      const inert = SafeText.cleanLine(text)
      const shown = index === given.length - 1 ? inert.trimEnd() : inert
      return options.color && looks[style] !== "" && shown !== "" ? `\x1b[${looks[style]}m${shown}\x1b[0m` : shown
    })
    .join("")
