/**
 * The event by which a goal changes.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Schema from "effect/Schema"
import { GoalId, GoalRecord, Positive } from "./Goal.js"

/**
 * What is remembered of a goal that was cleared. Its revision is one more than the last that the goal had.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Tombstone = Schema.Struct({ id: GoalId, revision: Positive })

/**
 * @since 0.1.0
 * @category schemas
 */
export type Tombstone = typeof Tombstone.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const ChangeOperation = Schema.Literal("create", "edit", "pause", "resume", "complete", "block")

/**
 * A goal changed: its whole state after the change, or the tombstone of one that was cleared.
 *
 * @since 0.1.0
 * @category events
 */
export const GoalChange = EventTypes.make(
  "goal/change",
  Schema.Union(
    Schema.Struct({ version: Schema.Literal(1), operation: ChangeOperation, goal: GoalRecord }),
    Schema.Struct({ version: Schema.Literal(1), operation: Schema.Literal("clear"), tombstone: Tombstone })
  )
)
