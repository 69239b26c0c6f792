/**
 * Where a long history is cut: the seam for a summarizer.
 *
 * @since 0.1.0
 */
import type * as Prompt from "@effect/ai/Prompt"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Agent } from "./Agent.js"

/**
 * Asked at a turn's start when the history is estimated to be larger than `maxHistoryTokens`. Without one, the history grows.
 *
 * @since 0.1.0
 * @category tags
 */
export class Compaction extends Context.Tag("@afterturn/agent/Compaction")<
  Compaction,
  {
    /** What replaces these messages for the model, or nothing when they should stay. `kept` names user messages that stay as well. */
    readonly summarize: (
      agent: Agent,
      messages: ReadonlyArray<Prompt.Message>
    ) => Effect.Effect<{ readonly summary: string; readonly kept: ReadonlyArray<string> } | undefined>
  }
>() {}
