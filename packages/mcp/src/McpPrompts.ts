/**
 * Prompts that a person can choose in the client, such as `/todo`. Capabilities do not know the protocol: a composition registers them.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * A prompt. `tool` names the tool that it is about: without that tool in the composition there is no such prompt. `text` is what the
 * client's model then reads as the user's message; the argument is the empty text when the person gave none.
 *
 * @since 0.1.0
 * @category models
 */
export interface McpPrompt {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly tool: string
  readonly argument?: { readonly name: string; readonly description: string }
  readonly text: (agent: Agent, argument: string) => Effect.Effect<string>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class McpPrompts extends Context.Tag("@afterturn/mcp/McpPrompts")<
  McpPrompts,
  {
    /** Adds a prompt, or replaces the one of the same name. */
    readonly add: (prompt: McpPrompt) => Effect.Effect<void>
    /** In order of registration. */
    readonly all: Effect.Effect<ReadonlyArray<McpPrompt>>
  }
>() {}

/**
 * No prompts, until a composition registers some.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<McpPrompts> = Layer.sync(McpPrompts, () => {
  const prompts = new Map<string, McpPrompt>()
  return {
    add: (prompt) => Effect.sync(() => void prompts.set(prompt.name, prompt)),
    all: Effect.sync(() => [...prompts.values()])
  }
})

/**
 * Registers a prompt.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerPrompt = <E, R>(make: Effect.Effect<McpPrompt, E, R>): Layer.Layer<never, E, R | McpPrompts> =>
  Layer.effectDiscard(Effect.flatMap(Effect.all([McpPrompts, make]), ([prompts, prompt]) => prompts.add(prompt)))
