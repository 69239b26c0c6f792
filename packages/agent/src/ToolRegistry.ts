/**
 * The tools of this composition: each capability contributes its toolkit.
 *
 * @since 0.1.0
 */
import type * as Tool from "@effect/ai/Tool"
import type * as Toolkit from "@effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Agent } from "./Agent.js"

/**
 * How a tool's success reads for the model, in place of its JSON.
 *
 * @since 0.1.0
 * @category annotations
 */
export class ToolText extends Context.Tag("@afterturn/agent/ToolText")<ToolText, (value: never) => string>() {}

/**
 * What a catalog says of a toolkit beside its tools.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolkitInfo {
  /** The package that the tools come from, such as `@afterturn/todo`. */
  readonly package: string
  /** The services that the tools need. */
  readonly requires: ReadonlyArray<string>
  /** The event types that a call may write beside `tool/call` and `tool/result`. */
  readonly writes: ReadonlyArray<string>
  /** What a deployment should know. */
  readonly note?: string
  /** Which agents have these tools. Default: all. */
  readonly availableTo?: (agent: Agent) => boolean
}

/**
 * A tool with its handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface RegisteredTool {
  readonly tool: Tool.Any
  readonly info: ToolkitInfo
  /** Decodes, runs the handler and encodes; fails with whatever the handler fails with. */
  readonly handle: (input: unknown) => Effect.Effect<Tool.HandlerResult<Tool.Any>, unknown>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ToolRegistry extends Context.Tag("@afterturn/agent/ToolRegistry")<
  ToolRegistry,
  {
    /** Adds a toolkit with its handlers. A second tool of a name that is taken is a defect. */
    readonly add: <Tools extends Record<string, Tool.Any>>(
      toolkit: Toolkit.WithHandler<Tools>,
      info: ToolkitInfo
    ) => Effect.Effect<void>
    /** The tools that an agent has, in order of registration; all of them when no agent is given. */
    readonly tools: (agent?: Agent) => Effect.Effect<ReadonlyArray<RegisteredTool>>
  }
>() {}

/**
 * No tools, until capabilities register theirs.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ToolRegistry> = Layer.sync(ToolRegistry, () => {
  const known = new Map<string, RegisteredTool>()
  return {
    add: (toolkit, info) =>
      Effect.sync(() => {
        for (const [name, tool] of Object.entries(toolkit.tools)) {
          if (known.has(name)) throw new Error(`two tools are named "${name}"`)
          known.set(name, { tool, info, handle: (input) => toolkit.handle(name, input as never) })
        }
      }),
    tools: (agent) =>
      Effect.sync(() =>
        [...known.values()].filter(({ info }) => agent === undefined || (info.availableTo?.(agent) ?? true))
      )
  }
})

/**
 * Registers a toolkit whose handlers are in the context.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerToolkit = <Tools extends Record<string, Tool.Any>>(
  toolkit: Toolkit.Toolkit<Tools>,
  info: ToolkitInfo
): Layer.Layer<never, never, ToolRegistry | Tool.HandlersFor<Tools>> =>
  Layer.effectDiscard(
    Effect.flatMap(Effect.all([ToolRegistry, toolkit]), ([registry, withHandlers]) => registry.add(withHandlers, info))
  )
