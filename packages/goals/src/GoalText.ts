/**
 * How goals read: for the model, and for people.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import type { Goal, GoalRecord, GoalRef } from "./Goal.js"
import { refText } from "./Goal.js"
import type { GoalState } from "./GoalLog.js"
import { operations } from "./GoalRules.js"

/**
 * A goal on one line: where it stands, without its objective.
 *
 * @since 0.1.0
 * @category rendering
 */
export const statusLine = (goal: GoalRecord & Partial<Pick<Goal, "activation">>): string => {
  const disarmed = goal.phase === "active" && goal.activation === "disarmed" ? ", disarmed" : ""
  const reason = goal.blockedReason === undefined ? "" : `: ${goal.blockedReason.code}, ${goal.blockedReason.message}`
  return `${refText(goal)}: ${goal.phase}${disarmed}, ${roundsText(goal)}${reason}`
}

const roundsText = ({ maxGoalRounds, roundsStarted }: GoalRecord): string =>
  `${roundsStarted} of ${maxGoalRounds} rounds started`

/**
 * A goal for a person: its objective, where it stands, what it has used.
 *
 * @since 0.1.0
 * @category rendering
 */
export const lines = (goal: Goal): ReadonlyArray<string> => [
  goal.objective,
  statusLine(goal),
  ...budgetLines(goal),
  `can ${operations(goal.phase).join(", ")}`
]

const budgetLines = ({ maxDurationMs, maxTokens, usage }: Goal): ReadonlyArray<string> => [
  ...(maxTokens === undefined ? [] : [`${usage.tokens} of ${maxTokens} tokens used`]),
  ...(maxDurationMs === undefined
    ? []
    : [`active for ${Duration.format(usage.activeMs)} of ${Duration.format(maxDurationMs)}`])
]

/**
 * What a round says to the model.
 *
 * @since 0.1.0
 * @category rendering
 */
export const round = (goal: GoalRecord, number: number, operation: GoalState["operation"]): string =>
  [
    `Round ${number} of at most ${goal.maxGoalRounds} for ${refText(goal)}. ${since(goal, operation)}`,
    `Objective:\n${goal.objective}`,
    "Do the next useful step now. " +
      `When the objective is reached and you have checked that it is, call update_goal with ${call(goal, "complete")}. ` +
      "If the same obstacle has stopped several rounds and only a person can remove it, call update_goal with " +
      `${call(goal, "blocked")} and a blocked_reason. Otherwise end this turn when the step is done: the next round follows by itself, ` +
      "after the background jobs that still run."
  ].join("\n\n")

const call = ({ id, revision }: GoalRef, action: string): string =>
  `goal_id "${id}", revision ${revision}, action "${action}"`

/** An older word about stopping is still in the history: what holds is said anew. */
const since = ({ updatedAt }: GoalRecord, operation: GoalState["operation"]): string => {
  const how =
    operation === "resume" ? ", resumed by the user" : operation === "edit" ? ", as the user last changed it" : ""
  return `It is active since ${updatedAt}${how}: what was said before that about pausing or waiting is over.`
}

/**
 * The section of the system prompt.
 *
 * @since 0.1.0
 * @category rendering
 */
export const section = (goal: Goal): string => {
  const shown =
    goal.objective.length > maxShown ? `${goal.objective.slice(0, maxShown)}… (get_goal has all of it)` : goal.objective
  return `The goal of this session as this turn starts: ${statusLine(goal)}\n${shown}\n${advice[goal.phase]}`
}

const maxShown = 4_000

const advice = {
  active:
    "Messages that are not from the user, such as ends of jobs and reminders, change nothing about it. Only a round of the goal, or the user, can complete it.",
  paused: "It rests until the user resumes it. update_goal edits or resumes it when the user asks for that.",
  blocked: "It rests until what blocks it is gone. update_goal edits or resumes it when the user asks for that.",
  complete: "It is done; another one may be created when the user asks for one."
} as const
