/**
 * The tools of a composition as the protocol describes them.
 *
 * @since 0.1.0
 */
import { parametersOf } from "@afterturn/agent/ToolCatalog"
import type { RegisteredTool } from "@afterturn/agent/ToolRegistry"
import * as Tool from "@effect/ai/Tool"
import type { Tool as ToolDefinition } from "@modelcontextprotocol/server"
import type * as Context from "effect/Context"

/**
 * A tool with the JSON Schema of its parameters, and what is known of its manner: a hint that nobody has given is left out.
 *
 * @since 0.1.0
 * @category conversions
 */
export const definition = ({ tool }: RegisteredTool): ToolDefinition => {
  const title = known(tool, Tool.Title)
  const annotations = {
    ...hint("title", title),
    ...hint("readOnlyHint", known(tool, Tool.Readonly)),
    ...hint("destructiveHint", known(tool, Tool.Destructive)),
    ...hint("idempotentHint", known(tool, Tool.Idempotent)),
    ...hint("openWorldHint", known(tool, Tool.OpenWorld))
  }
  return {
    name: tool.name,
    ...hint("title", title),
    ...hint("description", tool.description),
    inputSchema: inputSchema(tool),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations })
  }
}

const inputSchema = (tool: Tool.Any): ToolDefinition["inputSchema"] =>
  // The parameters of every tool are a struct, whose schema is an object.
  parametersOf(tool) as unknown as ToolDefinition["inputSchema"]

const hint = <Key extends string, A>(key: Key, value: A | undefined): { readonly [K in Key]?: A } =>
  (value === undefined ? {} : { [key]: value }) as { readonly [K in Key]?: A }

/** Only what the tool says of itself: the annotations have defaults, which would claim more than anybody knows. */
const known = <I, A>(tool: Tool.Any, tag: Context.Tag<I, A>): A | undefined =>
  tool.annotations.unsafeMap.get(tag.key) as A | undefined
