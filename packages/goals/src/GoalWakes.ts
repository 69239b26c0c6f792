/**
 * What a goal contributes to the ledger of wakes.
 *
 * @since 0.1.0
 */
import type { Wake, Wakes } from "@afterturn/agent/Wakes"
import { layerSource } from "@afterturn/agent/Wakes"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Goal } from "./Goal.js"
import { Goals } from "./Goals.js"
import * as GoalText from "./GoalText.js"

/**
 * The goal that is not complete, with the rounds and budgets that it has left. A goal log that is corrupt says so there: it must not
 * hide what else can wake the session.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Wakes | Goals> = layerSource(
  Effect.map(
    Goals,
    (goals) => (id) =>
      goals.get(id).pipe(
        Effect.map(
          (goal): ReadonlyArray<Wake> => (goal === undefined || goal.phase === "complete" ? [] : [wake(goal)])
        ),
        Effect.catchTag("CorruptGoalLog", ({ code, message, seq }) =>
          Effect.succeed([{ kind: "goal", summary: message, detail: { code, seq } }])
        )
      )
  )
)

const wake = (goal: Goal): Wake => ({
  kind: "goal",
  id: goal.id,
  summary: GoalText.statusLine(goal),
  detail: {
    revision: goal.revision,
    objective: goal.objective,
    phase: goal.phase,
    activation: goal.activation,
    roundsLeft: Math.max(0, goal.maxGoalRounds - goal.roundsStarted),
    maxGoalRounds: goal.maxGoalRounds,
    ...(goal.maxTokens === undefined ? {} : { tokensLeft: Math.max(0, goal.maxTokens - goal.usage.tokens) }),
    ...(goal.maxDurationMs === undefined ? {} : { activeMsLeft: Math.max(0, goal.maxDurationMs - goal.usage.activeMs) })
  }
})
