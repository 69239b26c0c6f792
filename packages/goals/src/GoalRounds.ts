/**
 * What a goal's driver does next, as a function of what is known when its agent is quiet.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as Duration from "effect/Duration"
import type { BlockedReason, GoalRecord, GoalUsage } from "./Goal.js"
import type { GoalState, RoundWork } from "./GoalLog.js"
import { exhausted } from "./GoalRules.js"

/**
 * `Open` the next round; `Block` or `Pause` the goal; `Wait` for running jobs until an instant (milliseconds since the epoch) at most;
 * or `Rest` until something changes.
 *
 * @since 0.1.0
 * @category models
 */
export type Move =
  | { readonly _tag: "Open"; readonly round: number }
  | { readonly _tag: "Block"; readonly reason: BlockedReason }
  | { readonly _tag: "Pause" | "Rest" }
  | { readonly _tag: "Wait"; readonly until: number }

/**
 * What is known.
 *
 * @since 0.1.0
 * @category models
 */
export interface Situation {
  readonly goal: GoalRecord
  readonly usage: GoalUsage
  readonly work: ReadonlyArray<RoundWork>
  /** How the last turn ended, unless that was before this process drove the session. */
  readonly lastTurn: GoalState["lastTurn"]
  readonly now: number
  /** Since when jobs of the session have held up the next round; absent: none runs. */
  readonly jobsSince: number | undefined
  readonly maxJobWait: Duration.Duration
  readonly noProgressRounds: number
  /** Whether an answer of this tool is progress. */
  readonly isProgress: (tool: string) => boolean
}

/**
 * Human words come before all of this: it is asked only when nothing that wakes the agent waits.
 *
 * @since 0.1.0
 * @category decisions
 */
export const next = (situation: Situation): Move => {
  const { goal, jobsSince, maxJobWait, now } = situation
  if (goal.phase !== "active") return { _tag: "Rest" }
  const reason = blockedBy(situation)
  if (reason !== undefined) return { _tag: "Block", reason }
  const end = situation.lastTurn?.reason
  if (end?.kind === "aborted") {
    // Whoever takes over a session that ended in the middle of a turn goes on with it.
    return { _tag: end.cause === AgentEvents.disposedCause ? "Rest" : "Pause" }
  }
  if (jobsSince !== undefined) {
    const until = Math.min(jobsSince + Duration.toMillis(maxJobWait), timeBudgetEnd(situation))
    if (now < until) return { _tag: "Wait", until }
  }
  return { _tag: "Open", round: goal.roundsStarted + 1 }
}

const timeBudgetEnd = ({ goal, now, usage }: Situation): number =>
  goal.maxDurationMs === undefined ? Number.POSITIVE_INFINITY : now + Math.max(0, goal.maxDurationMs - usage.activeMs)

const blockedBy = (situation: Situation): BlockedReason | undefined =>
  failed(situation.lastTurn) ?? spent(situation) ?? stuck(situation)

const failed = (lastTurn: GoalState["lastTurn"]): BlockedReason | undefined => {
  if (lastTurn?.reason.kind !== "error") return undefined
  const { code, message } = lastTurn.reason.error
  return {
    code: code === "provider_rate_limited" ? "provider-limit" : "execution-error",
    message: `the last turn ended in an error (${code}): ${message}`
  }
}

const budgetCodes = { rounds: "round-limit", tokens: "token-budget", time: "time-budget" } as const

const spent = ({ goal, usage }: Situation): BlockedReason | undefined => {
  const budget = exhausted(goal, usage)
  return budget === undefined ? undefined : { code: budgetCodes[budget.budget], message: spentText(budget) }
}

const spentText = ({ budget, limit, used }: NonNullable<ReturnType<typeof exhausted>>): string => {
  switch (budget) {
    case "rounds":
      return `${used} of at most ${limit} rounds were started; raise max_goal_rounds with an edit, then resume`
    case "tokens":
      return `${used} of ${limit} tokens were used; raise the token budget with an edit, then resume`
    case "time":
      return `it was active for ${Duration.format(used)} of ${Duration.format(limit)}; raise the time budget with an edit, then resume`
  }
}

const stuck = ({ isProgress, noProgressRounds, work }: Situation): BlockedReason | undefined => {
  const recent = noProgressRounds === 0 ? [] : work.slice(-noProgressRounds)
  if (recent.length === 0 || recent.length < noProgressRounds) return undefined
  const isIdle = recent.every(({ closing, tools }) => closing === recent[0]?.closing && !tools.some(isProgress))
  return isIdle
    ? {
        code: "no-progress",
        message: `${noProgressRounds} rounds in a row changed nothing and closed with the same words`
      }
    : undefined
}
