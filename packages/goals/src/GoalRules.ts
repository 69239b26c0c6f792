/**
 * The rules of a goal as functions over values: from a state and what is asked to the next state, or why not.
 *
 * @since 0.1.0
 */
import type { Instant } from "@afterturn/session-log/Instant"
import * as Either from "effect/Either"
import type { BlockedReason, GoalEdit, GoalPhase, GoalRecord, GoalRef, GoalUsage, NewGoal } from "./Goal.js"
import { goalId, toRef } from "./Goal.js"
import type { GoalRuleError } from "./GoalError.js"
import { GoalExhausted, GoalExists, GoalTransition, InvalidGoal, NoGoal, StaleGoal } from "./GoalError.js"

/**
 * Limits of what a goal holds, and what it gets when nothing is said.
 *
 * @since 0.1.0
 * @category models
 */
export interface GoalLimits {
  readonly defaultMaxGoalRounds: number
  readonly maxObjectiveLength: number
}

/**
 * What a session has: its goal, or the last number that was given to one and the goal that was cleared.
 *
 * @since 0.1.0
 * @category models
 */
export interface Present {
  readonly goal: GoalRecord | null
  /** The N of the newest `goal-N`. */
  readonly number: number
  readonly usage: GoalUsage
}

/**
 * The operations that change a goal which is there.
 *
 * @since 0.1.0
 * @category models
 */
export type GoalOperation = "edit" | "pause" | "resume" | "complete" | "block" | "clear"

/** The phases from which each operation is allowed. */
const allowedFrom: { readonly [Operation in GoalOperation]: ReadonlyArray<GoalPhase> } = {
  edit: ["active", "paused", "blocked"],
  pause: ["active"],
  resume: ["active", "paused", "blocked"],
  complete: ["active", "paused", "blocked"],
  block: ["active"],
  clear: ["active", "paused", "blocked", "complete"]
}

/**
 * What a goal of a phase allows.
 *
 * @since 0.1.0
 * @category accessors
 */
export const operations = (phase: GoalPhase): ReadonlyArray<GoalOperation> =>
  (Object.keys(allowedFrom) as ReadonlyArray<GoalOperation>).filter((operation) =>
    allowedFrom[operation].includes(phase)
  )

/**
 * A new goal: revision 1, active, under an id that was never used. Only where there is none, or one that is complete.
 *
 * @since 0.1.0
 * @category transitions
 */
export const create = (
  present: Present,
  spec: NewGoal,
  limits: GoalLimits,
  now: Instant
): Either.Either<GoalRecord, GoalRuleError> => {
  const { goal } = present
  if (goal !== null && goal.phase !== "complete") {
    return Either.left(new GoalExists({ current: toRef(goal), phase: goal.phase, objective: goal.objective }))
  }
  return Either.gen(function* () {
    return {
      id: goalId(present.number + 1),
      revision: 1,
      objective: yield* objective(spec.objective, limits),
      phase: "active" as const,
      maxGoalRounds: yield* positive("max_goal_rounds", spec.maxGoalRounds ?? limits.defaultMaxGoalRounds),
      roundsStarted: 0,
      ...(spec.maxTokens === undefined ? {} : { maxTokens: yield* positive("max_tokens", spec.maxTokens) }),
      ...(spec.maxDurationMs === undefined
        ? {}
        : { maxDurationMs: yield* positive("max_duration", spec.maxDurationMs) }),
      createdAt: now,
      updatedAt: now
    }
  })
}

/**
 * Changes what a goal asks for or may use, in whatever phase it is. A cap below what is used already is allowed: the goal stops before
 * its next round.
 *
 * @since 0.1.0
 * @category transitions
 */
export const edit = (
  present: Present,
  ref: GoalRef,
  changes: GoalEdit,
  limits: GoalLimits,
  now: Instant
): Either.Either<GoalRecord, GoalRuleError> =>
  Either.gen(function* () {
    const goal = yield* addressed(present, ref, "edit")
    if (Object.values(changes).every((value) => value === undefined)) {
      return yield* Either.left(
        new InvalidGoal({ field: "edit", reason: "expected something to change: an objective, a cap or a budget" })
      )
    }
    const { maxDurationMs, maxTokens, ...rest } = goal
    return {
      ...rest,
      ...(yield* budget("max_tokens", "maxTokens", changes.maxTokens, maxTokens)),
      ...(yield* budget("max_duration", "maxDurationMs", changes.maxDurationMs, maxDurationMs)),
      objective: changes.objective === undefined ? goal.objective : yield* objective(changes.objective, limits),
      maxGoalRounds:
        changes.maxGoalRounds === undefined
          ? goal.maxGoalRounds
          : yield* positive("max_goal_rounds", changes.maxGoalRounds),
      ...moved(goal, now)
    }
  })

/**
 * Stops a goal until somebody resumes it.
 *
 * @since 0.1.0
 * @category transitions
 */
export const pause = (present: Present, ref: GoalRef, now: Instant): Either.Either<GoalRecord, GoalRuleError> =>
  Either.map(addressed(present, ref, "pause"), (goal) => ({ ...goal, phase: "paused" as const, ...moved(goal, now) }))

/**
 * Makes a goal active again, also one that is active and disarmed; what blocked it is over. Only while each of its budgets has
 * something left.
 *
 * @since 0.1.0
 * @category transitions
 */
export const resume = (present: Present, ref: GoalRef, now: Instant): Either.Either<GoalRecord, GoalRuleError> =>
  Either.flatMap(addressed(present, ref, "resume"), (goal) => {
    const spent = exhausted(goal, present.usage)
    return spent === undefined ? Either.right(activeAgain(goal, now)) : Either.left(spent)
  })

const activeAgain = ({ blockedReason: _, ...goal }: GoalRecord, now: Instant): GoalRecord => ({
  ...goal,
  phase: "active",
  ...moved(goal, now)
})

/**
 * Ends a goal: it is reached.
 *
 * @since 0.1.0
 * @category transitions
 */
export const complete = (present: Present, ref: GoalRef, now: Instant): Either.Either<GoalRecord, GoalRuleError> =>
  Either.map(addressed(present, ref, "complete"), ({ blockedReason: _, ...goal }) => ({
    ...goal,
    phase: "complete" as const,
    ...moved(goal, now)
  }))

/**
 * Stops a goal for a reason that has to go away first.
 *
 * @since 0.1.0
 * @category transitions
 */
export const block = (
  present: Present,
  ref: GoalRef,
  reason: BlockedReason,
  now: Instant
): Either.Either<GoalRecord, GoalRuleError> =>
  Either.gen(function* () {
    const goal = yield* addressed(present, ref, "block")
    const message = reason.message.trim()
    if (message === "") {
      return yield* Either.left(
        new InvalidGoal({ field: "blocked_reason", reason: "expected what blocks the goal, got nothing" })
      )
    }
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(reason.code) || reason.code.length > 64) {
      return yield* Either.left(
        new InvalidGoal({
          field: "code",
          reason: `expected a lower-kebab code like needs-human, got ${JSON.stringify(reason.code)}`
        })
      )
    }
    return {
      ...goal,
      phase: "blocked" as const,
      blockedReason: { code: reason.code, message: clip(message, maxReasonLength) },
      ...moved(goal, now)
    }
  })

/**
 * Takes a goal away: the reference under which it is remembered.
 *
 * @since 0.1.0
 * @category transitions
 */
export const clear = (present: Present, ref: GoalRef): Either.Either<GoalRef, GoalRuleError> =>
  Either.map(addressed(present, ref, "clear"), (goal) => ({ id: goal.id, revision: goal.revision + 1 }))

/**
 * Which budget has nothing left for another round, if one has.
 *
 * @since 0.1.0
 * @category accessors
 */
export const exhausted = (goal: GoalRecord, usage: GoalUsage): GoalExhausted | undefined => {
  const spent = (budget: GoalExhausted["budget"], used: number, limit: number | undefined) =>
    limit !== undefined && used >= limit ? new GoalExhausted({ current: toRef(goal), budget, used, limit }) : undefined
  return (
    spent("rounds", goal.roundsStarted, goal.maxGoalRounds) ??
    spent("tokens", usage.tokens, goal.maxTokens) ??
    spent("time", usage.activeMs, goal.maxDurationMs)
  )
}

const maxReasonLength = 2_000

/** The goal, when `ref` names its present state and that allows the operation. */
const addressed = (
  { goal }: Present,
  ref: GoalRef,
  operation: GoalOperation
): Either.Either<GoalRecord, GoalRuleError> => {
  if (goal === null) return Either.left(new NoGoal())
  if (goal.id !== ref.id || goal.revision !== ref.revision) {
    return Either.left(
      new StaleGoal({ given: { id: ref.id, revision: ref.revision }, current: toRef(goal), phase: goal.phase })
    )
  }
  return allowedFrom[operation].includes(goal.phase)
    ? Either.right(goal)
    : Either.left(
        new GoalTransition({
          action: operation,
          current: toRef(goal),
          phase: goal.phase,
          allowed: operations(goal.phase)
        })
      )
}

/** The next revision. A wall clock that was set back does not make a goal younger. */
const moved = (goal: GoalRecord, now: Instant): Pick<GoalRecord, "revision" | "updatedAt"> => ({
  revision: goal.revision + 1,
  // UTC text of one form sorts by time.
  updatedAt: now > goal.updatedAt ? now : goal.updatedAt
})

const objective = (text: string, { maxObjectiveLength }: GoalLimits): Either.Either<string, InvalidGoal> => {
  const trimmed = text.trim()
  const reason =
    trimmed === ""
      ? "expected what is to be achieved, got nothing"
      : trimmed.length > maxObjectiveLength
        ? `expected at most ${maxObjectiveLength} characters, got ${trimmed.length}`
        : undefined
  return reason === undefined ? Either.right(trimmed) : Either.left(new InvalidGoal({ field: "objective", reason }))
}

const positive = (field: string, value: number): Either.Either<number, InvalidGoal> =>
  Number.isSafeInteger(value) && value > 0
    ? Either.right(value)
    : Either.left(new InvalidGoal({ field, reason: `expected a positive whole number, got ${value}` }))

const budget = <Key extends "maxTokens" | "maxDurationMs">(
  field: string,
  key: Key,
  given: number | null | undefined,
  present: number | undefined
): Either.Either<{ readonly [K in Key]?: number }, InvalidGoal> => {
  const value = given === undefined ? present : given
  if (value === null || value === undefined) return Either.right({})
  return Either.map(positive(field, value), (limit) => ({ [key]: limit }) as { readonly [K in Key]?: number })
}

/** Whole characters: half of a pair is no text. */
const clip = (text: string, length: number): string =>
  text.length > length ? `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : text
