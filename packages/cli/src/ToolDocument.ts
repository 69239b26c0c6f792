/**
 * The catalog of tools as text: for people who read it, and for the check that it is what the tools are.
 *
 * @since 0.1.0
 */
import type { CatalogEntry, ToolHints } from "@afterturn/agent/ToolCatalog"
import type { ToolSchema } from "@afterturn/agent/ToolSchema"

/**
 * A tool with what it costs in every request, in tokens.
 *
 * @since 0.1.0
 * @category models
 */
export interface PricedEntry extends CatalogEntry {
  readonly tokens: number
}

/**
 * The most tokens that one tool, and all of them together, may cost in every request.
 *
 * @since 0.1.0
 * @category constants
 */
export const budget = { tool: 1_200, total: 8_000 } as const

/**
 * What is over the budget, by name.
 *
 * @since 0.1.0
 * @category checks
 */
export const overBudget = (entries: ReadonlyArray<PricedEntry>): ReadonlyArray<string> => [
  ...entries.filter(({ tokens }) => tokens > budget.tool).map(({ name, tokens }) => `${name} (${tokens})`),
  ...(total(entries) > budget.total ? [`all tools (${total(entries)})`] : [])
]

const total = (entries: ReadonlyArray<PricedEntry>): number => entries.reduce((sum, { tokens }) => sum + tokens, 0)

/**
 * A line for each tool, and one for all.
 *
 * @since 0.1.0
 * @category rendering
 */
export const summary = (entries: ReadonlyArray<PricedEntry>): string => {
  const width = (pick: (entry: PricedEntry) => string) => Math.max(...entries.map((entry) => pick(entry).length))
  const names = width(({ name }) => name)
  const packages = width((entry) => entry.package)
  const line = (entry: PricedEntry) =>
    `${entry.name.padEnd(names)}  ${entry.package.padEnd(packages)}  ${String(entry.tokens).padStart(5)} tokens`
  return [...entries.map(line), `${entries.length} tools, about ${total(entries)} tokens in every request`].join("\n")
}

/**
 * The whole catalog in Markdown.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render = (entries: ReadonlyArray<PricedEntry>): string => `${sections(entries).join("\n\n")}\n`

const sections = (entries: ReadonlyArray<PricedEntry>): ReadonlyArray<string> => [
  "# Tools",
  "Every tool that an agent of the `afterturn` command has, as it is registered there. Made by " +
    "`afterturn tools catalog --markdown`; `pnpm check` compares. Tokens are a rule of thumb, a token for four bytes of the tool's JSON.",
  table(
    ["Tool", "Package", "Tokens"],
    [
      ...entries.map((entry) => [`[\`${entry.name}\`](#${entry.name})`, `\`${entry.package}\``, `${entry.tokens}`]),
      ["all", "", `${total(entries)}`]
    ]
  ),
  ...entries.flatMap(tool)
]

const tool = (entry: PricedEntry): ReadonlyArray<string> => [
  `## ${entry.name}`,
  ...(entry.title === undefined ? [] : [`*${entry.title}.* ${hintsText(entry.hints)}`.trim()]),
  entry.description,
  ...parametersText(entry.parameters),
  [
    `- Package: \`${entry.package}\``,
    `- Needs: ${entry.requires.join(", ")}`,
    `- Writes: ${["tool/call", "tool/result", ...entry.writes].map((type) => `\`${type}\``).join(", ")}`,
    ...(entry.note === undefined ? [] : [`- Deployment: ${entry.note}`])
  ].join("\n")
]

const hintsText = ({ destructive, idempotent, openWorld, readOnly }: ToolHints): string =>
  [
    ...(readOnly === true ? ["Only reads."] : []),
    ...(destructive === false && readOnly !== true ? ["Destroys nothing."] : []),
    ...(idempotent === true ? ["Repeating a call changes nothing."] : []),
    ...(openWorld === false ? ["Stays inside the session."] : [])
  ].join(" ")

const parametersText = (schema: ToolSchema): ReadonlyArray<string> => {
  const rows = rowsOf(schema, "")
  return rows.length === 0 ? ["No parameters."] : [table(["Parameter", "Type", "", "Meaning"], rows)]
}

const rowsOf = (schema: ToolSchema, prefix: string): ReadonlyArray<ReadonlyArray<string>> =>
  Object.entries(schema.properties ?? {}).flatMap(([key, inner]) => [
    [
      `\`${prefix}${key}\``,
      typeText(inner),
      schema.required?.includes(key) === true ? "required" : "optional",
      [inner.description ?? "", exampleText(inner)].filter((part) => part !== "").join(". ")
    ],
    ...innerRows(inner, `${prefix}${key}`)
  ])

const innerRows = (schema: ToolSchema, path: string): ReadonlyArray<ReadonlyArray<string>> => [
  ...rowsOf(schema, `${path}.`),
  ...(schema.items === undefined ? [] : innerRows(schema.items, `${path}[]`)),
  ...(schema.anyOf ?? schema.oneOf ?? []).flatMap((choice) => innerRows(choice, path))
]

const typeText = (schema: ToolSchema): string => {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices !== undefined) return choices.map(typeText).join(" or ")
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${JSON.stringify(value)}\``).join(", ")
  if (schema.items !== undefined) return `array of ${typeText(schema.items)}`
  return [schema.type ?? "any"].flat().join(" or ")
}

const exampleText = ({ examples }: ToolSchema): string =>
  Array.isArray(examples) ? `For example ${examples.map((example) => `\`${JSON.stringify(example)}\``).join(", ")}` : ""

const table = (header: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |`).join("\n")

/** A bar ends a cell, a line break the table. */
const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ")
