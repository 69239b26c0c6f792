/**
 * The goal of a session: at most one at a time, changed by who knows its present state, kept as a fold of the log.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Stream from "effect/Stream"
import type { BlockedReason, Goal, GoalEdit, GoalRef, NewGoal } from "./Goal.js"
import type { GoalConfig } from "./GoalConfig.js"
import type { CorruptGoalLog, GoalError } from "./GoalError.js"
import { GoalChange } from "./GoalEvents.js"
import type { GoalReferee } from "./GoalReferee.js"
import { make } from "./internal/service.js"

export {
  CompletionRefused,
  CorruptGoalLog,
  type GoalError,
  GoalExhausted,
  GoalExists,
  GoalTransition,
  InvalidGoal,
  NoGoal,
  StaleGoal
} from "./GoalError.js"

/**
 * Why a verb may fail. Nothing was stored then.
 *
 * @since 0.1.0
 * @category errors
 */
export type GoalsError = GoalError | ReadError | AppendError

type Verb<Rest extends ReadonlyArray<unknown>, A = Goal> = (
  sessionId: SessionId,
  ref: GoalRef,
  ...rest: Rest
) => Effect.Effect<A, GoalsError>

/**
 * @since 0.1.0
 * @category tags
 */
export class Goals extends Context.Tag("@afterturn/goals/Goals")<
  Goals,
  {
    /** A new goal, active and armed. A goal that is not complete has to be finished or cleared first. */
    readonly create: (sessionId: SessionId, spec: NewGoal) => Effect.Effect<Goal, GoalsError>
    /** Changes the objective, the cap or a budget, and neither phase nor activation. */
    readonly edit: Verb<[changes: GoalEdit]>
    /** Stops and disarms an active goal until somebody resumes it. */
    readonly pause: Verb<[]>
    /** Makes a goal active and arms it, while its budgets have something left. */
    readonly resume: Verb<[]>
    /** Ends a goal, once the referee agrees. */
    readonly complete: Verb<[]>
    /** Stops and disarms an active goal for a reason. */
    readonly block: Verb<[reason: BlockedReason]>
    /** Takes a goal away, whatever its phase. */
    readonly clear: Verb<[], GoalRef>
    /** Takes back the permission to open rounds. Writes nothing. */
    readonly disarm: (sessionId: SessionId) => Effect.Effect<void>
    /** Gives an active goal the permission to open rounds. Writes nothing; for a host that goes on with a session it drove before. */
    readonly rearm: (sessionId: SessionId) => Effect.Effect<void, ReadError>
    /** The goal, if there is one. */
    readonly get: (sessionId: SessionId) => Effect.Effect<Goal | undefined, CorruptGoalLog | ReadError>
    /** Sessions whose goal or activation may have changed through this service, from now on. */
    readonly changes: Stream.Stream<SessionId>
  }
>() {}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Goals, never, GoalConfig | GoalReferee | Projections | EventTypes.EventTypes> =
  Layer.scoped(Goals, make).pipe(
    // With what the goal folds, so that a session can be read where no agent runs.
    Layer.provide(EventTypes.layerRegister(GoalChange, ...AgentEvents.all))
  )
