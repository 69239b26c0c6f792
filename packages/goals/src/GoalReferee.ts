/**
 * Who must agree before a goal counts as complete.
 *
 * @since 0.1.0
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { GoalRecord } from "./Goal.js"

/**
 * What a referee says. `reason` tells the model what is missing.
 *
 * @since 0.1.0
 * @category models
 */
export type Verdict = { readonly agrees: true } | { readonly agrees: false; readonly reason: string }

/**
 * Judges a claim that a goal is reached. It may take its time; an interruption of the claim interrupts it. What it cannot find out it
 * refuses, with the reason.
 *
 * @since 0.1.0
 * @category models
 */
export type Judge = (sessionId: SessionId, goal: GoalRecord) => Effect.Effect<Verdict>

/**
 * @since 0.1.0
 * @category tags
 */
export class GoalReferee extends Context.Tag("@afterturn/goals/GoalReferee")<
  GoalReferee,
  { readonly judge: Judge }
>() {}

/**
 * Nobody: the word of whoever completes the goal counts.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNone: Layer.Layer<GoalReferee> = Layer.succeed(GoalReferee, {
  judge: () => Effect.succeed({ agrees: true })
})

/**
 * An evaluator.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (judge: Judge): Layer.Layer<GoalReferee> => Layer.succeed(GoalReferee, { judge })
