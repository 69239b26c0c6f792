/**
 * The tools by which a model creates, reads and changes the goal of its session.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent, isRoot } from "@afterturn/agent/Agent"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { Projections } from "@afterturn/session-log/Projection"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { GoalId } from "./Goal.js"
import { Goal, refText } from "./Goal.js"
import { GoalConfig } from "./GoalConfig.js"
import { GoalChange } from "./GoalEvents.js"
import type { GoalState } from "./GoalLog.js"
import * as GoalLog from "./GoalLog.js"
import type { GoalsError } from "./Goals.js"
import { Goals } from "./Goals.js"
import * as GoalText from "./GoalText.js"

/**
 * Why a call was refused, for the model: the goal is as it was.
 *
 * @since 0.1.0
 * @category errors
 */
export class GoalToolError extends Schema.TaggedError<GoalToolError>("@afterturn/goals/GoalToolError")(
  "GoalToolError",
  {
    code: Schema.Literal(
      "no_owning_session",
      "not_authorized",
      "too_early",
      "no_goal",
      "stale_goal",
      "goal_exists",
      "invalid_transition",
      "invalid_goal",
      "budget_exhausted",
      "completion_refused",
      "corrupt_goal_log",
      "not_stored"
    ),
    message: Schema.String
  }
) {}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const rounds = Schema.Number.pipe(Schema.int(), Schema.positive())

const createParameters = {
  objective: Schema.String.annotations({
    description: "What is to be achieved, concretely enough that it can be checked: as the user asked for it"
  }),
  max_goal_rounds: optional(
    rounds.annotations({
      description: "How many rounds may follow by themselves at most; the configuration has a default"
    })
  )
}

const updateParameters = {
  goal_id: Schema.String.annotations({ description: "The id that get_goal shows", examples: ["goal-1"] }),
  revision: rounds.annotations({ description: "The revision that get_goal shows" }),
  action: Schema.Literal("edit", "pause", "resume", "complete", "blocked").annotations({
    description:
      "edit, pause and resume are the user's to ask for, in this very turn. complete and blocked may also come from a round of this goal; blocked not before it has had some rounds."
  }),
  objective: optional(Schema.String.annotations({ description: "With edit: the new objective" })),
  max_goal_rounds: optional(rounds.annotations({ description: "With edit: the new cap of rounds" })),
  blocked_reason: optional(
    Schema.String.annotations({
      description: "With blocked, and required there: what has stopped several rounds and only a person can change"
    })
  )
}

const Update = Schema.Struct(updateParameters)

const Answer = Schema.Struct({ goal: Schema.NullOr(Goal) })

/**
 * The three tools.
 *
 * @since 0.1.0
 * @category tools
 */
export const toolkit = Toolkit.make(
  Tool.make("create_goal", {
    description: [
      "Sets a goal that carries this session from round to round until it is reached: for work of many turns that the user asks for in this turn, whether or not he calls it a goal; not for what one turn can do.",
      "One goal at a time: one that is not complete is edited, resumed or finished with update_goal, or cleared by the user with /goal clear."
    ].join(" "),
    parameters: createParameters,
    success: Answer,
    failure: GoalToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Create a goal")
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => answerText(answer)),
  Tool.make("get_goal", {
    description:
      "Shows the goal of this session: its objective, phase, rounds, and the id and revision that update_goal needs.",
    success: Answer,
    failure: GoalToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Read the goal")
    .annotate(Tool.Readonly, true)
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => answerText(answer)),
  Tool.make("update_goal", {
    description: [
      "Changes the goal of this session: edit its objective or cap, pause it, resume it, or end it as complete or blocked.",
      "Complete it only when the objective is reached and you have checked that it is."
    ].join(" "),
    parameters: updateParameters,
    success: Answer,
    failure: GoalToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Update the goal")
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => answerText(answer))
)

const answerText = ({ goal }: typeof Answer.Type): string =>
  goal === null ? "there is no goal" : `${GoalText.statusLine(goal)}\n${goal.objective}`

interface Handling {
  readonly goals: Context.Tag.Service<Goals>
  readonly config: Context.Tag.Service<GoalConfig>
  readonly projections: Context.Tag.Service<Projections>
}

/**
 * The handlers. A call acts on the session of the agent that makes it and can name no other.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHandlers: Layer.Layer<
  Tool.HandlersFor<(typeof toolkit)["tools"]>,
  never,
  Goals | GoalConfig | Projections
> = toolkit.toLayer(
  Effect.gen(function* () {
    const handling: Handling = { goals: yield* Goals, config: yield* GoalConfig, projections: yield* Projections }
    return {
      create_goal: ({ max_goal_rounds, objective }) =>
        withAgent((agent) => create(handling, agent, objective, max_goal_rounds)),
      get_goal: () => withAgent((agent) => Effect.mapError(get(handling, agent), refusal)),
      update_goal: (input) => withAgent((agent) => update(handling, agent, input))
    }
  })
)

const withAgent = <A>(use: (agent: Agent) => Effect.Effect<A, GoalToolError>): Effect.Effect<A, GoalToolError> =>
  Effect.flatMap(
    Effect.serviceOption(CurrentAgent),
    Option.match({
      onNone: () =>
        refuse("no_owning_session", "a goal belongs to an agent's session and this call was made outside one"),
      onSome: use
    })
  )

const refuse = (code: GoalToolError["code"], message: string): GoalToolError => new GoalToolError({ code, message })

const refusal = (error: GoalsError): GoalToolError =>
  "code" in error
    ? refuse(error.code, `${error.message}; the goal is unchanged`)
    : refuse("not_stored", `${error.message}; the goal is unchanged`)

const get = ({ goals }: Handling, agent: Agent) =>
  Effect.map(goals.get(agent.id), (goal): typeof Answer.Type => ({ goal: goal ?? null }))

const stateOf = ({ projections }: Handling, agent: Agent): Effect.Effect<GoalState, GoalToolError> =>
  projections
    .get(agent.id, GoalLog.projection)
    .pipe(Effect.mapBoth({ onSuccess: ({ value }) => value, onFailure: refusal }))

const create = (handling: Handling, agent: Agent, objective: string, maxGoalRounds: number | undefined) =>
  Effect.gen(function* () {
    const state = yield* stateOf(handling, agent)
    if (!isHuman(agent, state)) return yield* unauthorized("create_goal", state)
    const goal = yield* Effect.mapError(
      handling.goals.create(agent.id, { objective, ...(maxGoalRounds === undefined ? {} : { maxGoalRounds }) }),
      refusal
    )
    return { goal }
  })

const update = (handling: Handling, agent: Agent, input: typeof Update.Type) =>
  Effect.gen(function* () {
    const state = yield* stateOf(handling, agent)
    // Whether the fields fit the action depends on nothing else, so it is said first.
    const misplaced = misplacedField(input)
    if (misplaced !== undefined) return yield* refuse("invalid_goal", withPresent(misplaced, state))
    yield* checkPresent(state, input)
    yield* checkAuthority(handling, agent, state, input)
    const goal = yield* Effect.mapError(change(handling, agent, input), refusal)
    return { goal }
  })

const misplacedField = ({
  action,
  blocked_reason,
  max_goal_rounds,
  objective
}: typeof Update.Type): string | undefined => {
  const onlyWith = (field: string, value: unknown, owner: string) =>
    value !== undefined && action !== owner ? `${field} belongs to action "${owner}", not to "${action}"` : undefined
  return (
    onlyWith("objective", objective, "edit") ??
    onlyWith("max_goal_rounds", max_goal_rounds, "edit") ??
    onlyWith("blocked_reason", blocked_reason, "blocked") ??
    (action === "blocked" && (blocked_reason ?? "").trim() === ""
      ? 'action "blocked" needs a blocked_reason: what has stopped the rounds and only a person can change'
      : undefined) ??
    (action === "edit" && objective === undefined && max_goal_rounds === undefined
      ? 'action "edit" needs an objective or max_goal_rounds'
      : undefined)
  )
}

/** Where the goal stands, for whoever has to decide again. */
const presentText = ({ goal, tombstone }: GoalState): string => {
  if (goal !== null) return `the goal is ${refText(goal)} (${goal.phase})`
  return tombstone === null
    ? "this session has no goal"
    : `this session has no goal: ${tombstone.id} was cleared at revision ${tombstone.revision}`
}

const withPresent = (message: string, state: GoalState): string => `${message}; ${presentText(state)}`

const checkPresent = (
  state: GoalState,
  { goal_id, revision }: typeof Update.Type
): Effect.Effect<void, GoalToolError> => {
  const { goal } = state
  if (goal === null) return refuse("no_goal", presentText(state))
  return goal.id === goal_id && goal.revision === revision
    ? Effect.void
    : refuse(
        "stale_goal",
        `${JSON.stringify(goal_id.slice(0, 100))} at revision ${revision} is not the present state: ${presentText(state)}; decide again on that`
      )
}

const isHuman = (agent: Agent, { turn }: GoalState): boolean => isRoot(agent) && turn?.human === true

const isCurrentRound = ({ goal, turn }: GoalState): boolean =>
  goal !== null &&
  turn?.round != null &&
  turn.round.goalId === goal.id &&
  turn.round.revision === goal.revision &&
  turn.round.round === goal.roundsStarted

const unauthorized = (what: string, state: GoalState): GoalToolError => {
  const round = state.turn?.round
  const why =
    round == null
      ? "this turn holds no message of the user"
      : `this turn holds no message of the user, only round ${round.round} at revision ${round.revision}`
  return refuse("not_authorized", withPresent(`${what} needs a direct request of the user, and ${why}`, state))
}

const checkAuthority = (
  { config }: Handling,
  agent: Agent,
  state: GoalState,
  { action }: typeof Update.Type
): Effect.Effect<void, GoalToolError> => {
  const ends = action === "complete" || action === "blocked"
  if (!isHuman(agent, state) && !(ends && isCurrentRound(state))) {
    return ends && state.turn?.round != null
      ? refuse(
          "not_authorized",
          withPresent(
            `round ${state.turn.round.round} at revision ${state.turn.round.revision} is over: the goal has changed since it began, and only a round of its present state may end it`,
            state
          )
        )
      : unauthorized(`action "${action}"`, state)
  }
  const started = state.goal?.roundsStarted ?? 0
  return action === "blocked" && started < config.minRoundsBeforeBlocked
    ? refuse(
        "too_early",
        withPresent(
          `action "blocked" is accepted after ${config.minRoundsBeforeBlocked} rounds, and ${started} ${started === 1 ? "was" : "were"} started; try another way, or ask the user`,
          state
        )
      )
    : Effect.void
}

const change = ({ goals }: Handling, agent: Agent, input: typeof Update.Type) => {
  const { action, blocked_reason, goal_id, max_goal_rounds, objective, revision } = input
  // It was compared with the goal's own.
  const ref = { id: goal_id as GoalId, revision }
  switch (action) {
    case "edit":
      return goals.edit(agent.id, ref, {
        ...(objective === undefined ? {} : { objective }),
        ...(max_goal_rounds === undefined ? {} : { maxGoalRounds: max_goal_rounds })
      })
    case "pause":
      return goals.pause(agent.id, ref)
    case "resume":
      return goals.resume(agent.id, ref)
    case "complete":
      return goals.complete(agent.id, ref)
    case "blocked":
      return goals.block(agent.id, ref, { code: "needs-human", message: blocked_reason ?? "" })
  }
}

/**
 * Registers the tools.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Goals | GoalConfig | Projections | ToolRegistry.ToolRegistry> =
  Layer.unwrapEffect(
    Effect.map(GoalConfig, (config) =>
      ToolRegistry.layerToolkit(toolkit, {
        package: "@afterturn/goals",
        requires: ["Goals", "an agent that makes the call, in a turn with the authority for it"],
        writes: [GoalChange.type],
        note: `create, edit, pause and resume need a message of the user in the turn of a root agent; complete and blocked are also accepted from the present round; blocked after ${config.minRoundsBeforeBlocked} rounds (minRoundsBeforeBlocked)`
      })
    )
  ).pipe(Layer.provide(layerHandlers))
