/**
 * Carries an armed goal from round to round: each time its agent is quiet, it opens the next round, waits for running jobs, or stops
 * the goal and says why.
 *
 * @since 0.1.0
 */
import type { Agent, AgentError } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { AgentMessage, MessageSource } from "@afterturn/agent/AgentMessage"
import { text } from "@afterturn/agent/AgentMessage"
import { AgentExtensions } from "@afterturn/agent/Agents"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import { Wakes } from "@afterturn/agent/Wakes"
import { Projections } from "@afterturn/session-log/Projection"
import { seedLength } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Tool from "@effect/ai/Tool"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as EffectSchedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Goal } from "./Goal.js"
import { toRef } from "./Goal.js"
import { GoalConfig } from "./GoalConfig.js"
import type { GoalState } from "./GoalLog.js"
import * as GoalLog from "./GoalLog.js"
import type { Move } from "./GoalRounds.js"
import * as GoalRounds from "./GoalRounds.js"
import type { GoalsError } from "./Goals.js"
import { Goals } from "./Goals.js"
import * as GoalText from "./GoalText.js"

interface Runtime {
  readonly goals: Context.Tag.Service<Goals>
  readonly config: Context.Tag.Service<GoalConfig>
  readonly projections: Context.Tag.Service<Projections>
  readonly log: Context.Tag.Service<SessionLog>
  readonly wakes: Context.Tag.Service<Wakes>
  readonly registry: Context.Tag.Service<ToolRegistry>
}

interface Driver extends Runtime {
  readonly agent: Agent
  /** The last event before this process drove the session: how a turn ended until there is not this driver's to judge. */
  readonly sinceSeq: number
  /** Since when running jobs hold up the next round, in milliseconds since the epoch. */
  jobsSince: number | undefined
}

/** What a look ends with: nothing to do until something changes, which may be an event of the log or an instant. */
type Pending = { readonly afterSeq: number; readonly until: number } | undefined

/**
 * Drives every agent of the composition.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  never,
  never,
  Goals | GoalConfig | AgentExtensions | Projections | SessionLog | ToolRegistry | Wakes
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const runtime: Runtime = {
      goals: yield* Goals,
      config: yield* GoalConfig,
      projections: yield* Projections,
      log: yield* SessionLog,
      wakes: yield* Wakes,
      registry: yield* ToolRegistry
    }
    const extensions = yield* AgentExtensions
    yield* extensions.register((agent) => attach(runtime, agent))
  })
)

/**
 * Before the first turn: the session is disarmed, and rounds that an earlier process had queued are withdrawn; where the composition
 * says so, a goal that this very session has is armed again. One that a fork took over is its parent's to drive.
 */
const attach = (runtime: Runtime, agent: Agent): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { config, goals, projections } = runtime
    yield* goals.disarm(agent.id)
    yield* Effect.addFinalizer(() => goals.disarm(agent.id))
    yield* withdraw(runtime, agent, isRound)
    const { asOfSeq, value } = yield* projections.get(agent.id, GoalLog.projection)
    if (config.rearmOnResume && value.corrupt === null && value.changedSeq >= seedLength(agent.header)) {
      yield* goals.rearm(agent.id)
    }
    yield* run({ ...runtime, agent, sinceSeq: asOfSeq, jobsSince: undefined })
  }).pipe(
    // The agent lives without rounds: its goal is disarmed.
    Effect.catchAll((error) => Effect.logError(`the goal of session "${agent.id}" is not driven`, error))
  )

/** One fiber an agent. Signals that come while it looks make it look once more. */
const run = (driver: Driver): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { agent, goals } = driver
    const signals = yield* Mailbox.make<void>({ capacity: 1, strategy: "dropping" })
    const signal = Effect.asVoid(signals.offer(undefined))
    const watch = <A>(changes: Stream.Stream<A>) => Effect.forkScoped(Stream.runForEach(changes, () => signal))
    yield* watch(Stream.filter(goals.changes, (id) => id === agent.id))
    yield* watch(Stream.filter(agent.statusChanges, (status) => status === "idle"))
    yield* signal
    const signalled = Effect.asVoid(
      // The mailbox lives as long as this fiber.
      Effect.orDie(signals.take)
    )
    const drive = (pending: Pending): Effect.Effect<Pending> =>
      Effect.zipRight(
        pending === undefined ? signalled : Effect.raceFirst(signalled, comes(driver, pending)),
        look(driver)
      )
    yield* Effect.forkScoped(Effect.iterate(undefined as Pending, { while: () => true, body: drive }))
  })

/** The next event of the session, such as the end of a job, or the instant. */
const comes = ({ agent, log }: Driver, { afterSeq, until }: NonNullable<Pending>): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.raceFirst(
      Effect.sleep(Math.max(0, until - now)),
      log.changes(agent.id, { fromSeq: afterSeq + 1 }).pipe(
        Stream.take(1),
        Stream.runDrain,
        // The instant comes all the same.
        Effect.catchAll((error) =>
          Effect.zipRight(Effect.logWarning("the session cannot be followed while its jobs run", error), Effect.never)
        )
      )
    )
  )

/** What the store refuses for now is tried again; what another change made stale is decided again at once. */
const look = (driver: Driver): Effect.Effect<Pending> =>
  attempt(driver).pipe(
    Effect.retry({ while: isStale }),
    Effect.retry({
      schedule: EffectSchedule.exponential("100 millis").pipe(
        EffectSchedule.union(EffectSchedule.spaced("30 seconds"))
      ),
      while: (error) => error._tag === "SessionStoreError"
    }),
    Effect.catchAll((error) =>
      error._tag === "AgentClosed"
        ? Effect.succeed(undefined)
        : Effect.as(Effect.logWarning(`the goal of session "${driver.agent.id}" rests`, error), undefined)
    )
  )

const isStale = ({ _tag }: GoalsError | AgentError): boolean =>
  _tag === "SessionConflict" || _tag === "StaleGoal" || _tag === "NoGoal" || _tag === "GoalTransition"

const attempt = (driver: Driver): Effect.Effect<Pending, GoalsError | AgentError> =>
  Effect.gen(function* () {
    const { agent, goals } = driver
    const goal = yield* goals.get(agent.id)
    if (goal?.activation !== "armed") {
      driver.jobsSince = undefined
      yield* withdraw(driver, agent, isRound)
      return undefined
    }
    // One that an edit has overtaken.
    yield* withdraw(driver, agent, (message) => isRound(message) && message.source.revision !== goal.revision)
    const { asOfSeq, value } = yield* driver.projections.get(agent.id, GoalLog.projection)
    // A message that wakes makes the agent run from the moment it is stored: whatever else is stored now changes the log.
    if ((yield* agent.status) === "running" || value.goal?.revision !== goal.revision) return undefined
    return yield* act(driver, goal, value, asOfSeq, yield* decide(driver, goal, value))
  })

const decide = (driver: Driver, goal: Goal, state: GoalState): Effect.Effect<Move, GoalsError> =>
  Effect.gen(function* () {
    const { agent, config, registry, wakes } = driver
    const now = yield* Clock.currentTimeMillis
    // An end that nobody has told the agent of yet is about to be told.
    const busy = (yield* wakes.of(agent.id)).some(({ kind }) => kind === "job" || kind === "notice")
    driver.jobsSince = busy ? (driver.jobsSince ?? now) : undefined
    const idle = new Set(config.idleTools)
    for (const { tool } of yield* registry.tools(agent)) {
      if (Context.get(tool.annotations as Context.Context<never>, Tool.Readonly)) idle.add(tool.name)
    }
    return GoalRounds.next({
      goal,
      usage: GoalLog.usageAt(state, now),
      work: state.work,
      lastTurn: state.lastTurn !== null && state.lastTurn.seq > driver.sinceSeq ? state.lastTurn : null,
      now,
      jobsSince: driver.jobsSince,
      maxJobWait: config.maxJobWait,
      noProgressRounds: config.noProgressRounds,
      isProgress: (tool) => !idle.has(tool)
    })
  })

const act = (
  driver: Driver,
  goal: Goal,
  state: GoalState,
  asOfSeq: number,
  move: Move
): Effect.Effect<Pending, GoalsError | AgentError> => {
  const { agent, goals } = driver
  switch (move._tag) {
    case "Rest":
      return Effect.succeed(undefined)
    case "Wait":
      return Effect.succeed({ afterSeq: asOfSeq, until: move.until })
    case "Pause":
      return Effect.as(goals.pause(agent.id, toRef(goal)), undefined)
    case "Block":
      return Effect.as(goals.block(agent.id, toRef(goal), move.reason), undefined)
    case "Open": {
      driver.jobsSince = undefined
      const source: MessageSource = {
        kind: "goal-round",
        goalId: goal.id,
        revision: goal.revision,
        round: move.round
      }
      const body = GoalText.round(goal, move.round, state.operation)
      return Effect.as(agent.followup(text(source, body), { expectedSeq: asOfSeq }), undefined)
    }
  }
}

type Round = AgentMessage & { readonly source: Extract<MessageSource, { readonly kind: "goal-round" }> }

const isRound = (message: AgentMessage): message is Round => message.source.kind === "goal-round"

/** Takes rounds back that wait and that nobody should claim any more. */
const withdraw = (
  { projections }: Pick<Runtime, "projections">,
  agent: Agent,
  which: (message: AgentMessage) => boolean
): Effect.Effect<void, AgentError | GoalsError> =>
  Effect.flatMap(projections.get(agent.id, AgentLog.state), ({ value: { nextStep, nextTurn } }) =>
    [...nextStep, ...nextTurn].some(which) ? Effect.asVoid(agent.withdraw(which)) : Effect.void
  )
