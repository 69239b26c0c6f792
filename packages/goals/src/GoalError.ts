/**
 * Why a goal is not changed. `Goals` exports the same names.
 *
 * @since 0.1.0
 */
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"
import { GoalPhase, GoalRef, refText } from "./Goal.js"

/**
 * The session has no goal, or none any more.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoGoal extends Schema.TaggedError<NoGoal>("@afterturn/goals/NoGoal")("NoGoal", {}) {
  readonly code = "no_goal"
  override get message(): string {
    return "this session has no goal"
  }
}

/**
 * The change was decided on another state than the present one, or on another goal.
 *
 * @since 0.1.0
 * @category errors
 */
export class StaleGoal extends Schema.TaggedError<StaleGoal>("@afterturn/goals/StaleGoal")("StaleGoal", {
  given: Schema.Struct({ id: Schema.String, revision: Schema.Number }),
  current: GoalRef,
  phase: GoalPhase
}) {
  readonly code = "stale_goal"
  override get message(): string {
    return `${refText(this.given)} is not the present state: the goal is ${refText(this.current)} (${this.phase}); decide again on that`
  }
}

/**
 * There is a goal that is not complete: it has to be finished or cleared before another one.
 *
 * @since 0.1.0
 * @category errors
 */
export class GoalExists extends Schema.TaggedError<GoalExists>("@afterturn/goals/GoalExists")("GoalExists", {
  current: GoalRef,
  phase: GoalPhase,
  objective: Schema.String
}) {
  readonly code = "goal_exists"
  override get message(): string {
    return (
      `this session has ${refText(this.current)} (${this.phase}): ${JSON.stringify(this.objective.slice(0, 200))}; ` +
      "edit, pause, resume, complete or clear that one: a session has one goal at a time"
    )
  }
}

/**
 * The goal's phase does not allow the change.
 *
 * @since 0.1.0
 * @category errors
 */
export class GoalTransition extends Schema.TaggedError<GoalTransition>("@afterturn/goals/GoalTransition")(
  "GoalTransition",
  { action: Schema.String, current: GoalRef, phase: GoalPhase, allowed: Schema.Array(Schema.String) }
) {
  readonly code = "invalid_transition"
  override get message(): string {
    return `${refText(this.current)} is ${this.phase}: it cannot ${this.action}; it can ${this.allowed.join(", ")}`
  }
}

/**
 * A goal or an edit that is no good. `field` names what, `reason` says what was expected.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidGoal extends Schema.TaggedError<InvalidGoal>("@afterturn/goals/InvalidGoal")("InvalidGoal", {
  field: Schema.String,
  reason: Schema.String
}) {
  readonly code = "invalid_goal"
  override get message(): string {
    return `${this.field}: ${this.reason}`
  }
}

/**
 * A budget is used up: the goal resumes once the budget is raised.
 *
 * @since 0.1.0
 * @category errors
 */
export class GoalExhausted extends Schema.TaggedError<GoalExhausted>("@afterturn/goals/GoalExhausted")(
  "GoalExhausted",
  {
    current: GoalRef,
    budget: Schema.Literal("rounds", "tokens", "time"),
    used: Schema.Number,
    limit: Schema.Number
  }
) {
  readonly code = "budget_exhausted"
  override get message(): string {
    const raise = { rounds: "max_goal_rounds", tokens: "the token budget", time: "the time budget" }[this.budget]
    const amount =
      this.budget === "rounds"
        ? `${this.used} of ${this.limit} rounds`
        : this.budget === "tokens"
          ? `${this.used} of ${this.limit} tokens`
          : `${this.used} of ${this.limit} ms`
    return `${refText(this.current)} has used ${amount}: edit it to raise ${raise}, then resume`
  }
}

/**
 * The referee does not agree that the goal is reached. It goes on.
 *
 * @since 0.1.0
 * @category errors
 */
export class CompletionRefused extends Schema.TaggedError<CompletionRefused>("@afterturn/goals/CompletionRefused")(
  "CompletionRefused",
  { current: GoalRef, reason: Schema.String }
) {
  readonly code = "completion_refused"
  override get message(): string {
    return `${refText(this.current)} is not complete yet: ${this.reason}`
  }
}

/**
 * The log of a session's goals is not one that this software writes: event `seq` does not follow from what was before. Nothing more is
 * written into it; a fork from before that event, or another session, has goals.
 *
 * @since 0.1.0
 * @category errors
 */
export class CorruptGoalLog extends Schema.TaggedError<CorruptGoalLog>("@afterturn/goals/CorruptGoalLog")(
  "CorruptGoalLog",
  { sessionId: SessionId, seq: Schema.Number, reason: Schema.String }
) {
  readonly code = "corrupt_goal_log"
  override get message(): string {
    return `the goal of session "${this.sessionId}" cannot be read: event ${this.seq}: ${this.reason}`
  }
}

/**
 * What the rules refuse.
 *
 * @since 0.1.0
 * @category errors
 */
export type GoalRuleError = NoGoal | StaleGoal | GoalExists | GoalTransition | InvalidGoal | GoalExhausted

/**
 * Why a change of a goal may be refused. Nothing was stored then.
 *
 * @since 0.1.0
 * @category errors
 */
export type GoalError = GoalRuleError | CompletionRefused | CorruptGoalLog

/**
 * The codes that a model reads.
 *
 * @since 0.1.0
 * @category models
 */
export type GoalErrorCode = GoalError["code"]
