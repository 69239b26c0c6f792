import type * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Tool from "@effect/ai/Tool"
import * as AnthropicTool from "@effect/ai-anthropic/AnthropicTool"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"

const prefix = "client:"

/**
 * What a tool is called between the turn loop and the provider. The adapter of `@effect/ai` takes a call of `bash`, `computer` and
 * some others for one of the provider's own tools and gives it that tool's name: those go by another name there.
 */
export const aliasOf = (name: string): string =>
  AnthropicTool.getProviderDefinedToolName(name) === undefined ? name : `${prefix}${name}`

/**
 * The name behind an alias.
 */
export const nameOf = (alias: string): string => (alias.startsWith(prefix) ? alias.slice(prefix.length) : alias)

/**
 * A model under which tools go by their aliases, for a turn loop that knows their names.
 */
export const withPlainNames = (model: LanguageModel.Service): LanguageModel.Service => ({
  ...model,
  streamText: ((options: Options) =>
    Stream.map(
      model.streamText(aliased(options) as never) as Stream.Stream<unknown>,
      named
      // The signature computes its types from each call's options; this one changes names in them, which it does not see.
    )) as unknown as LanguageModel.Service["streamText"]
})

interface Options {
  readonly toolkit?: { readonly tools: Readonly<Record<string, Tool.Any>> } | undefined
}

const aliased = (options: Options): Options => {
  if (options.toolkit === undefined) return options
  const tools = Object.entries(options.toolkit.tools).map(([name, tool]) => [aliasOf(name), renamed(tool)] as const)
  return { ...options, toolkit: { ...options.toolkit, tools: Object.fromEntries(tools) } }
}

const renamed = (tool: Tool.Any): Tool.Any =>
  aliasOf(tool.name) === tool.name
    ? tool
    : Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { name: aliasOf(tool.name) })

const named = (part: unknown): unknown =>
  Predicate.hasProperty(part, "name") && typeof part.name === "string" && part.name.startsWith(prefix)
    ? { ...part, name: nameOf(part.name) }
    : part
