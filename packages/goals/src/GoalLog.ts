/**
 * The strict fold of a session's goal: what it is, how far it has come, and what it has used.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { dataOf } from "@afterturn/agent/AgentLog"
import { Instant, toMillis } from "@afterturn/session-log/Instant"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { GoalUsage as Usage } from "./Goal.js"
import { GoalRecord, GoalUsage, Positive } from "./Goal.js"
import { GoalChange, Tombstone } from "./GoalEvents.js"
import type { GoalLimits, Present } from "./GoalRules.js"
import * as GoalRules from "./GoalRules.js"

/**
 * The round that a message of source `goal-round` stands for.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RoundRef = Schema.Struct({ goalId: Schema.String, revision: Count, round: Count })

/**
 * What happened since a round began: the text with which it closes, compared without case, spacing and digits, and the tools that
 * answered without an error.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RoundWork = Schema.Struct({ round: Positive, closing: Schema.String, tools: Schema.Array(Schema.String) })

/**
 * @since 0.1.0
 * @category schemas
 */
export type RoundWork = typeof RoundWork.Type

/**
 * How many rounds are looked back on at most.
 *
 * @since 0.1.0
 * @category constants
 */
export const keptRounds = 16

/**
 * The goal of a session.
 *
 * - `number`: the N of the newest `goal-N`; `tombstone`: what was cleared last, until another goal comes
 * - `changedSeq`, `operation`: the seq of the last `goal/change`, -1 for none, and what it did
 * - `usage`, and `lastAt`: up to which instant the time is in it, while the goal is active
 * - `work`: the newest rounds since a person spoke or the goal changed, oldest first
 * - `turn`: the open turn, whether it holds words of a person, and the round that it is
 * - `lastTurn`: how the last turn ended, until another one begins or the goal changes
 * - `corrupt`: the event that did not follow; nothing after it counts
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalState = Schema.Struct({
  goal: Schema.NullOr(GoalRecord),
  number: Count,
  tombstone: Schema.NullOr(Tombstone),
  changedSeq: Schema.Int,
  operation: Schema.NullOr(Schema.String),
  usage: GoalUsage,
  lastAt: Schema.NullOr(Instant),
  work: Schema.Array(RoundWork),
  turn: Schema.NullOr(Schema.Struct({ turn: Count, human: Schema.Boolean, round: Schema.NullOr(RoundRef) })),
  lastTurn: Schema.NullOr(Schema.Struct({ seq: Count, reason: AgentEvents.TurnEndReason })),
  corrupt: Schema.NullOr(Schema.Struct({ seq: Count, reason: Schema.String }))
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalState = typeof GoalState.Type

/**
 * A session without a goal.
 *
 * @since 0.1.0
 * @category constants
 */
export const initial: GoalState = {
  goal: null,
  number: 0,
  tombstone: null,
  changedSeq: -1,
  operation: null,
  usage: { tokens: 0, activeMs: 0 },
  lastAt: null,
  work: [],
  turn: null,
  lastTurn: null,
  corrupt: null
}

/**
 * The goal. A fork has its parent's, which is disarmed like any other after a resume.
 *
 * @since 0.1.0
 * @category projections
 */
export const projection: Projection.Projection<GoalState, typeof GoalState.Encoded> = Projection.make({
  key: "goal",
  version: 2,
  schema: GoalState,
  initial,
  history: "inherited",
  types: [
    GoalChange.type,
    AgentEvents.TurnStart.type,
    AgentEvents.TurnEnd.type,
    AgentEvents.UserMessage.type,
    AgentEvents.AssistantMessage.type,
    AgentEvents.ContextCompacted.type,
    AgentEvents.ToolResult.type
  ],
  apply: (state, event) => (state.corrupt === null ? transition(state, event) : state)
})

/**
 * What the rules look at.
 *
 * @since 0.1.0
 * @category accessors
 */
export const present = ({ goal, number, usage }: GoalState): Present => ({ goal, number, usage })

/**
 * What a goal has used by an instant.
 *
 * @since 0.1.0
 * @category accessors
 */
export const usageAt = ({ lastAt, usage }: GoalState, millis: number): Usage =>
  lastAt === null ? usage : { ...usage, activeMs: usage.activeMs + Math.max(0, millis - toMillis(lastAt)) }

const transition = (state: GoalState, event: SessionEvent): GoalState => {
  if (event.type === GoalChange.type) return changed(state, event)
  const timed = withTime(state, event)
  switch (event.type) {
    case AgentEvents.TurnStart.type:
      return { ...timed, turn: opened(event), lastTurn: null }
    case AgentEvents.TurnEnd.type:
      return { ...timed, turn: null, lastTurn: { seq: event.seq, reason: dataOf(AgentEvents.TurnEnd, event).reason } }
    case AgentEvents.UserMessage.type:
      return claimed(timed, event)
    case AgentEvents.AssistantMessage.type:
      return answered(timed, event)
    case AgentEvents.ContextCompacted.type:
      return charged(timed, dataOf(AgentEvents.ContextCompacted, event).usage)
    case AgentEvents.ToolResult.type:
      return worked(timed, event)
    default:
      return state
  }
}

/** A turn that a call from outside opens holds no message: whose word it carries, its source says. */
const opened = (event: SessionEvent): GoalState["turn"] => {
  const { by, source, turn } = dataOf(AgentEvents.TurnStart, event)
  return { turn, human: by === "call" && source.kind === "user", round: null }
}

/** Time counts while the goal is active; a clock that was set back counts as no time. */
const withTime = (state: GoalState, { time }: SessionEvent): GoalState =>
  state.lastAt === null ? state : { ...state, usage: usageAt(state, toMillis(time)), lastAt: time }

const broken = (state: GoalState, { seq }: SessionEvent, reason: string): GoalState => ({
  ...state,
  corrupt: { seq, reason }
})

const claimed = (state: GoalState, event: SessionEvent): GoalState => {
  const { source } = dataOf(AgentEvents.UserMessage, event)
  if (source.kind === "user") {
    return { ...state, work: [], turn: state.turn === null ? null : { ...state.turn, human: true } }
  }
  return source.kind === "goal-round" ? admitted(state, event, source) : state
}

/**
 * A round begins. One that was opened for a state which has passed since is a message like any other; one that cannot be is refused.
 */
const admitted = (state: GoalState, event: SessionEvent, round: typeof RoundRef.Type): GoalState => {
  const { goal } = state
  const number = Number(/^goal-(\d{1,15})$/.exec(round.goalId)?.[1] ?? Number.NaN)
  if (!(number <= state.number)) return broken(state, event, `a round of ${round.goalId}, which never was`)
  if (goal === null || goal.id !== round.goalId || round.revision < goal.revision) return state
  const expected = goal.roundsStarted + 1
  if (round.revision > goal.revision) {
    return broken(state, event, `a round at revision ${round.revision} of a goal at revision ${goal.revision}`)
  }
  if (goal.phase !== "active") return broken(state, event, `a round of a goal that is ${goal.phase}`)
  if (round.round !== expected) return broken(state, event, `expected round ${expected}, got ${round.round}`)
  if (expected > goal.maxGoalRounds) {
    return broken(state, event, `round ${expected} of at most ${goal.maxGoalRounds}`)
  }
  const { goalId, revision } = round
  return {
    ...state,
    goal: { ...goal, roundsStarted: expected },
    work: [...state.work, { round: expected, closing: "", tools: [] }].slice(-keptRounds),
    turn: state.turn === null ? null : { ...state.turn, round: { goalId, revision, round: expected } }
  }
}

const answered = (state: GoalState, event: SessionEvent): GoalState => {
  if (state.goal?.phase !== "active") return state
  const { content, usage } = dataOf(AgentEvents.AssistantMessage, event)
  const text = content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join(" ")
  return withWork(charged(state, usage), (work) => (text.trim() === "" ? work : { ...work, closing: comparable(text) }))
}

/** Counts what a model request cost, that for a summary too, while the goal is active. */
const charged = (state: GoalState, usage: AgentEvents.Usage | undefined): GoalState => {
  if (state.goal?.phase !== "active" || usage === undefined) return state
  const counted = usage.totalTokens ?? (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)
  const tokens = Number.isSafeInteger(counted) && counted > 0 ? counted : 0
  return { ...state, usage: { ...state.usage, tokens: state.usage.tokens + tokens } }
}

const worked = (state: GoalState, event: SessionEvent): GoalState => {
  const { name, ok } = dataOf(AgentEvents.ToolResult, event)
  return !ok
    ? state
    : withWork(state, (work) =>
        work.tools.includes(name) || work.tools.length >= keptTools ? work : { ...work, tools: [...work.tools, name] }
      )
}

/** How many tools of a round are remembered: any of them says that something was done. */
const keptTools = 64

const withWork = (state: GoalState, change: (work: RoundWork) => RoundWork): GoalState => {
  const last = state.work[state.work.length - 1]
  if (last === undefined) return state
  const next = change(last)
  return next === last ? state : { ...state, work: [...state.work.slice(0, -1), next] }
}

const keptClosing = 400

/** "Still waiting (2 min)." and "still waiting (3 min)" say the same. */
const comparable = (text: string): string =>
  text
    .slice(0, 4 * keptClosing)
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\d\s\p{P}]+/gu, " ")
    .trim()
    .slice(0, keptClosing)

const changed = (state: GoalState, event: SessionEvent): GoalState => {
  const data = dataOf(GoalChange, event)
  if (data.operation === "clear") {
    const { id, revision } = data.tombstone
    const expected = GoalRules.clear(present(state), { id, revision: revision - 1 })
    return Either.isLeft(expected)
      ? broken(state, event, expected.left.message)
      : { ...afterChange(withTime(state, event), event), goal: null, tombstone: data.tombstone, lastAt: null }
  }
  const expected = replay(state, data)
  if (Either.isLeft(expected)) return broken(state, event, expected.left.message)
  if (!isSame(expected.right, data.goal)) {
    return broken(state, event, `"${data.operation}" changes what it must not change`)
  }
  const timed = isActive(state) && data.operation === "resume" ? state : withTime(state, event)
  const isNew = data.operation === "create"
  return {
    ...afterChange(timed, event),
    goal: data.goal,
    number: isNew ? state.number + 1 : state.number,
    tombstone: null,
    usage: isNew ? initial.usage : timed.usage,
    lastAt: data.goal.phase === "active" ? event.time : null
  }
}

/** A goal that waited disarmed was not worked on until it is resumed: that time does not count. */
const isActive = ({ goal }: GoalState): boolean => goal?.phase === "active"

const afterChange = (state: GoalState, event: SessionEvent): GoalState => ({
  ...state,
  changedSeq: event.seq,
  operation: dataOf(GoalChange, event).operation,
  work: [],
  lastTurn: null
})

/** Limits belong to who writes: a log that was written under others stays readable. */
const noLimits: GoalLimits = {
  defaultMaxGoalRounds: Number.MAX_SAFE_INTEGER,
  maxObjectiveLength: Number.MAX_SAFE_INTEGER
}

/** What the rules make of what was done. */
const replay = (
  state: GoalState,
  { goal, operation }: Extract<typeof GoalChange.schema.Type, { readonly goal: GoalRecord }>
): ReturnType<typeof GoalRules.create> => {
  const now = goal.updatedAt
  const before = present(state)
  const ref = { id: goal.id, revision: goal.revision - 1 }
  switch (operation) {
    case "create":
      return GoalRules.create(before, goal, noLimits, now)
    case "edit": {
      const { maxDurationMs = null, maxGoalRounds, maxTokens = null, objective } = goal
      return GoalRules.edit(before, ref, { objective, maxGoalRounds, maxTokens, maxDurationMs }, noLimits, now)
    }
    case "pause":
      return GoalRules.pause(before, ref, now)
    case "resume":
      return GoalRules.resume(before, ref, now)
    case "complete":
      return GoalRules.complete(before, ref, now)
    case "block":
      return GoalRules.block(before, ref, goal.blockedReason ?? { code: "", message: "" }, now)
  }
}

const isSame = Schema.equivalence(GoalRecord)
