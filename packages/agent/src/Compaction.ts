/**
 * How a history that grew too long is cut: who writes the summary that stands for its older part.
 *
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Agent } from "./Agent.js"
import type { AgentOptions } from "./AgentConfig.js"
import { AgentConfig, layer as layerConfig } from "./AgentConfig.js"
import type { Usage } from "./AgentEvents.js"
import { AgentModel } from "./AgentModel.js"
import { summarize } from "./internal/summary.js"
import type { ModelError } from "./ModelError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Shortened {
  readonly summary: string
  readonly kept: ReadonlyArray<string>
  readonly usage?: Usage
}

/**
 * Asked at a turn's start when the history is estimated to be larger than `maxHistoryTokens`, and when the provider says that a
 * conversation is too long for its model. Without one, the history grows.
 *
 * @since 0.1.0
 * @category tags
 */
export class Compaction extends Context.Tag("@afterturn/agent/Compaction")<
  Compaction,
  {
    /**
     * What replaces these messages for the model, or nothing when they should stay. `kept` names user messages that stay as well;
     * those of the present turn stay in any case. `usage` is what the summary cost, where a model wrote it.
     */
    readonly summarize: (
      agent: Agent,
      messages: ReadonlyArray<Prompt.Message>
    ) => Effect.Effect<Shortened | undefined, ModelError>
  }
>() {}

/**
 * The session's own model writes the summary, from the messages as text: with as many requests as they need, smaller ones where it
 * can't read so much at once. The options are those of the agents: how often a request is made again, and how much a history holds.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<AgentOptions>): Layer.Layer<Compaction, never, AgentModel> =>
  Layer.effect(
    Compaction,
    Effect.gen(function* () {
      const { model } = yield* AgentModel
      const config = yield* AgentConfig
      return {
        summarize: (_agent, messages) =>
          Effect.map(summarize(model, config, messages), ({ text, usage }) =>
            text === "" ? undefined : { summary: text, kept: [], usage }
          )
      }
    })
  ).pipe(Layer.provide(layerConfig(options)))
