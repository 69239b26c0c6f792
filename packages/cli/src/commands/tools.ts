/**
 * `afterturn tools …`
 *
 * @since 0.1.0
 */
import type { CatalogEntry } from "@afterturn/agent/ToolCatalog"
import { catalog as bootedCatalog, tokensOf } from "@afterturn/agent/ToolCatalog"
import type { StrictProvider } from "@afterturn/agent/ToolSchema"
import { strictVariant } from "@afterturn/agent/ToolSchema"
import { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CliError } from "../CliError.js"
import { failure } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { toolsLayer } from "../Compose.js"
import { jsonText } from "../internal/json.js"
import { Output } from "../Output.js"
import type { PricedEntry } from "../ToolDocument.js"
import { budget, overBudget, render, summary } from "../ToolDocument.js"

/**
 * Prints the tools, as they are registered for an agent.
 *
 * @since 0.1.0
 * @category commands
 */
export const catalog = (options: {
  readonly check: Option.Option<string>
  readonly markdown: boolean
  readonly provider: Option.Option<StrictProvider>
}): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const variant = Option.getOrUndefined(options.provider)
    const entries = (yield* Effect.provide(bootedCatalog, toolsLayer)).map((entry) => priced(entry, variant))
    if (Option.isSome(options.check)) return yield* check(options.check.value, entries)
    if (output.json) return yield* output.line(jsonText(entries, output))
    yield* output.write(options.markdown ? render(entries) : `${summary(entries)}\n`)
  })

const priced = (entry: CatalogEntry, provider: StrictProvider | undefined): PricedEntry => {
  const shown = provider === undefined ? entry : { ...entry, parameters: strictVariant(entry.parameters, provider) }
  return { ...shown, tokens: tokensOf(shown) }
}

const check = (file: string, entries: ReadonlyArray<PricedEntry>) =>
  Effect.gen(function* () {
    const files = yield* FileSystem
    const stored = yield* Effect.mapError(files.readFileString(file), () =>
      failure(
        "catalog_unreadable",
        `${file} cannot be read; expected a catalog as \`afterturn tools catalog --markdown\` prints it`
      )
    )
    if (stored !== render(entries)) return yield* stale(file)
    const heavy = overBudget(entries)
    if (heavy.length > 0) return yield* tooHeavy(heavy)
    yield* Effect.flatMap(Output, (output) =>
      output.line(`${file} is up to date; ${summary(entries).split("\n").at(-1)}`)
    )
  })

const stale = (file: string): CliError =>
  failure(
    "catalog_stale",
    `${file} is not what the tools are; write it anew: afterturn tools catalog --markdown > ${file}`
  )

const tooHeavy = (names: ReadonlyArray<string>): CliError =>
  failure(
    "catalog_over_budget",
    `over the budget of ${budget.tool} tokens a tool and ${budget.total} in all: ${names.join(", ")}; shorten descriptions`
  )
