import type { Evidence, RawEvent, RawSession, Violation } from "../../SimulationCheck.js"
import { numberOf } from "./own.js"

interface State {
  // biome-ignore lint/suspicious/noExplicitAny: raw JSON
  goal: any
  number: number
  rounds: number
}

/** Transitions are legal, revisions and rounds follow one another. A fork takes its parent's goal over. */
export const goals = ({ sessions }: Evidence): ReadonlyArray<Violation> => sessions.flatMap(ofSession)

const ofSession = (session: RawSession): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const state: State = { goal: null, number: 0, rounds: 0 }
  for (const event of session.events) {
    for (const problem of next(state, event)) found.push({ session: session.id, seq: event.seq, problem })
  }
  return found
}

const next = (state: State, { data, type }: RawEvent): ReadonlyArray<string> => {
  if (type === "user/message" && data.source.kind === "goal-round") return round(state, data.source)
  if (type !== "goal/change") return []
  if (data.operation === "create") return create(state, data.goal)
  return data.operation === "clear" ? clear(state, data.tombstone) : change(state, data.operation, data.goal)
}

/** What stands where. */
const expect = (what: string, found: unknown, wanted: unknown): ReadonlyArray<string> =>
  found === wanted ? [] : [`${what}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(found)}`]

const round = (
  state: State,
  source: { readonly goalId: string; readonly revision: number; readonly round: number }
): ReadonlyArray<string> => {
  const { goal, rounds } = state
  state.rounds = source.round
  if (goal === null) return ["a round of no goal"]
  return [
    ...expect("the goal of a round", source.goalId, goal.id),
    ...expect("the revision of a round", source.revision, goal.revision),
    ...expect("the phase at a round", goal.phase, "active"),
    ...expect("the number of a round", source.round, rounds + 1),
    ...(source.round > goal.maxGoalRounds ? [`round ${source.round} of at most ${goal.maxGoalRounds}`] : [])
  ]
}

type Goal = { readonly [key: string]: unknown; readonly id: string; readonly updatedAt: string }

const create = (state: State, goal: Goal): ReadonlyArray<string> => {
  const problems = [
    ...(state.goal === null || state.goal.phase === "complete" ? [] : [`a goal takes the place of ${state.goal.id}`]),
    ...(numberOf(goal.id) > state.number ? [] : [`the id ${goal.id} was used before`]),
    ...expect("the revision of a new goal", goal.revision, 1),
    ...expect("the phase of a new goal", goal.phase, "active"),
    ...expect("the rounds of a new goal", goal.roundsStarted, 0)
  ]
  state.goal = goal
  state.number = Math.max(state.number, numberOf(goal.id))
  state.rounds = 0
  return problems
}

const clear = (state: State, tombstone: { readonly id: string; readonly revision: number }): ReadonlyArray<string> => {
  const { goal } = state
  state.goal = null
  if (goal === null) return ["clear of no goal"]
  return [
    ...expect("the goal that is cleared", tombstone.id, goal.id),
    ...expect("its revision", tombstone.revision, goal.revision + 1)
  ]
}

/** From which phases an operation may start, and where it leads; an edit changes no phase. */
const table: { readonly [operation: string]: { readonly from: ReadonlyArray<string>; readonly to?: string } } = {
  edit: { from: ["active", "paused", "blocked"] },
  pause: { from: ["active"], to: "paused" },
  resume: { from: ["active", "paused", "blocked"], to: "active" },
  complete: { from: ["active", "paused", "blocked"], to: "complete" },
  block: { from: ["active"], to: "blocked" }
}

const change = (state: State, operation: string, after: Goal): ReadonlyArray<string> => {
  const { goal: before, rounds } = state
  const rule = table[operation]
  state.goal = after
  if (before === null) return [`${operation} of no goal`]
  if (rule === undefined) return [`an unknown operation ${operation}`]
  return [
    ...(rule.from.includes(before.phase) ? [] : [`${operation} of a goal that is ${before.phase}`]),
    ...expect("the goal", after.id, before.id),
    ...expect("its revision", after.revision, before.revision + 1),
    ...expect("its phase", after.phase, rule.to ?? before.phase),
    ...expect("its rounds", after.roundsStarted, rounds),
    ...expect("its creation", after.createdAt, before.createdAt),
    ...(after.updatedAt >= before.updatedAt
      ? []
      : [`it was changed at ${before.updatedAt}, and now at ${after.updatedAt}`]),
    ...expect("whether it says what blocks it", after.blockedReason !== undefined, after.phase === "blocked")
  ]
}
