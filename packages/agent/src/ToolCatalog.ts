/**
 * What the tools of a composition are, as data: for documents, for protocols that announce tools, and for providers.
 *
 * @since 0.1.0
 */
import * as Tool from "@effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { RegisteredTool } from "./ToolRegistry.js"
import { ToolRegistry } from "./ToolRegistry.js"
import type { ToolSchema } from "./ToolSchema.js"
import { tidy } from "./ToolSchema.js"

/**
 * What a client may assume of a call, in the words of the Model Context Protocol. Absent: nothing is known.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolHints {
  readonly readOnly?: boolean
  readonly destructive?: boolean
  readonly idempotent?: boolean
  readonly openWorld?: boolean
}

/**
 * One tool. `requires` names services, `writes` event types beside `tool/call` and `tool/result`.
 *
 * @since 0.1.0
 * @category models
 */
export interface CatalogEntry {
  readonly package: string
  readonly name: string
  readonly title?: string
  readonly description: string
  /** A closed object. */
  readonly parameters: ToolSchema
  readonly requires: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  readonly note?: string
  readonly hints: ToolHints
}

/**
 * Every tool of the composition, in the order in which packages and tools were registered.
 *
 * @since 0.1.0
 * @category constructors
 */
export const catalog: Effect.Effect<ReadonlyArray<CatalogEntry>, never, ToolRegistry> = Effect.flatMap(
  ToolRegistry,
  (registry) => Effect.map(registry.tools(), (tools) => tools.map(entryOf))
)

/**
 * @since 0.1.0
 * @category constructors
 */
export const entryOf = ({ info, tool }: RegisteredTool): CatalogEntry => {
  const title = Option.getOrUndefined(Context.getOption(tool.annotations, Tool.Title))
  return {
    package: info.package,
    name: tool.name,
    ...(title === undefined ? {} : { title }),
    description: tool.description ?? "",
    parameters: parametersOf(tool),
    requires: info.requires,
    writes: info.writes,
    ...(info.note === undefined ? {} : { note: info.note }),
    hints: hintsOf(tool)
  }
}

const known = new WeakMap<Tool.Any, ToolSchema>()

/**
 * The JSON Schema of a tool's parameters: the same for whoever is told about the tool.
 *
 * @since 0.1.0
 * @category accessors
 */
export const parametersOf = (tool: Tool.Any): ToolSchema => {
  const present = known.get(tool)
  if (present !== undefined) return present
  // The library's own type lists every keyword it may use; here they are open.
  const made = tidy(Tool.getJsonSchema(tool as never) as unknown as ToolSchema)
  known.set(tool, made)
  return made
}

/** The library's defaults say nothing of a tool: only what its author wrote counts. */
const hintsOf = ({ annotations }: Tool.Any): ToolHints => {
  const given = (name: keyof ToolHints, tag: { readonly key: string }) =>
    annotations.unsafeMap.has(tag.key) ? { [name]: annotations.unsafeMap.get(tag.key) as boolean } : {}
  return {
    ...given("readOnly", Tool.Readonly),
    ...given("destructive", Tool.Destructive),
    ...given("idempotent", Tool.Idempotent),
    ...given("openWorld", Tool.OpenWorld)
  }
}

/**
 * What the tool costs in every request, in tokens, as a rule of thumb: a token for four bytes of its JSON.
 *
 * @since 0.1.0
 * @category accessors
 */
export const tokensOf = ({
  description,
  name,
  parameters
}: Pick<CatalogEntry, "name" | "description" | "parameters">): number =>
  Math.ceil(new TextEncoder().encode(JSON.stringify({ name, description, parameters })).length / 4)
