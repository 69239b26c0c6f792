/**
 * What the command decides about todo lists.
 *
 * @since 0.1.0
 */
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as Layer from "effect/Layer"

/**
 * Several todos may be worked on at once, and the list belongs to the work: turns that the agent's own machinery opens go on with it.
 *
 * @since 0.1.0
 * @category layers
 */
export const todoConfig: Layer.Layer<TodoConfig.TodoConfig> = TodoConfig.layer({
  allowParallelInProgress: true,
  clearOn: "user-turn"
}).pipe(
  // These very options are known to be fine.
  Layer.orDie
)
