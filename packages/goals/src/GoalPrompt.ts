/**
 * The section of the system prompt that states the goal.
 *
 * @since 0.1.0
 */
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Goals } from "./Goals.js"
import * as GoalText from "./GoalText.js"

/**
 * Adds the section: every turn knows the goal, also one that a notice or a reminder opens, and one after a compaction.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Goals | SystemPrompt> = Layer.effectDiscard(
  Effect.gen(function* () {
    const goals = yield* Goals
    const prompt = yield* SystemPrompt
    yield* prompt.section({
      key: "goal",
      order: 940,
      text: (agent) =>
        goals.get(agent.id).pipe(
          Effect.map((goal) => (goal === undefined ? "" : GoalText.section(goal))),
          // The turn goes on without the section: get_goal says what is wrong.
          Effect.catchAll((error) => Effect.as(Effect.logWarning("the goal could not be read", error), ""))
        )
    })
  })
)
