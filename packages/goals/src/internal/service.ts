import { format } from "@afterturn/session-log/Instant"
import type { Projected } from "@afterturn/session-log/Projection"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Goal, GoalRecord, GoalRef } from "../Goal.js"
import { toRef } from "../Goal.js"
import { GoalConfig } from "../GoalConfig.js"
import type { GoalRuleError } from "../GoalError.js"
import { CompletionRefused, CorruptGoalLog } from "../GoalError.js"
import { GoalChange } from "../GoalEvents.js"
import type { GoalState } from "../GoalLog.js"
import * as GoalLog from "../GoalLog.js"
import { GoalReferee } from "../GoalReferee.js"
import type { Present } from "../GoalRules.js"
import * as GoalRules from "../GoalRules.js"
import type { Goals, GoalsError } from "../Goals.js"

type Service = Context.Tag.Service<Goals>

/** How far a listener may fall behind: what it misses are only hints to look again. */
const hintCapacity = 1_024

interface Runtime {
  readonly projections: Context.Tag.Service<Projections>
  readonly config: Context.Tag.Service<GoalConfig>
  readonly referee: Context.Tag.Service<GoalReferee>
  /** The goal that a session may open rounds for, from a revision on: what came before was disarmed. */
  readonly armed: Map<SessionId, GoalRef>
  readonly changes: PubSub.PubSub<SessionId>
}

export const make: Effect.Effect<Service, never, GoalConfig | GoalReferee | Projections | Scope.Scope> = Effect.gen(
  function* () {
    const runtime: Runtime = {
      projections: yield* Projections,
      config: yield* GoalConfig,
      referee: yield* GoalReferee,
      armed: new Map(),
      changes: yield* PubSub.sliding<SessionId>(hintCapacity)
    }
    yield* Effect.addFinalizer(() => PubSub.shutdown(runtime.changes))
    return makeService(runtime)
  }
)

const makeService = (runtime: Runtime): Service => {
  const { config } = runtime
  const update = verb(runtime)
  return {
    create: (id, spec) => update(id, "create", (present, now) => GoalRules.create(present, spec, config, now)),
    edit: (id, ref, changes) =>
      update(id, "edit", (present, now) => GoalRules.edit(present, ref, changes, config, now)),
    pause: (id, ref) => update(id, "pause", (present, now) => GoalRules.pause(present, ref, now)),
    resume: (id, ref) => update(id, "resume", (present, now) => GoalRules.resume(present, ref, now)),
    complete: (id, ref) =>
      Effect.zipRight(
        judge(runtime, id, ref),
        update(id, "complete", (present, now) => GoalRules.complete(present, ref, now))
      ),
    block: (id, ref, reason) => update(id, "block", (present, now) => GoalRules.block(present, ref, reason, now)),
    clear: (id, ref) => clear(runtime, id, ref),
    disarm: (id) =>
      Effect.suspend(() => (runtime.armed.delete(id) ? PubSub.publish(runtime.changes, id) : Effect.void)),
    rearm: (id) =>
      Effect.flatMap(runtime.projections.get(id, GoalLog.projection), ({ value: { goal } }) =>
        goal?.phase === "active" ? arm(runtime, id, goal) : Effect.void
      ),
    get: (id) =>
      Effect.flatMap(runtime.projections.get(id, GoalLog.projection), ({ value }) =>
        value.corrupt === null
          ? Effect.map(Clock.currentTimeMillis, (now) =>
              value.goal === null ? undefined : seen(runtime, id, value.goal, value, now)
            )
          : corrupt(id, value.corrupt)
      ),
    changes: Stream.fromPubSub(runtime.changes)
  }
}

/** Arms from this state on. Adding is enough: a goal that is not active is never armed, and only a resume makes it active again. */
const arm = (runtime: Runtime, id: SessionId, goal: GoalRecord): Effect.Effect<void> =>
  Effect.suspend(() => {
    runtime.armed.set(id, toRef(goal))
    return PubSub.publish(runtime.changes, id)
  })

const isArmed = ({ armed }: Runtime, id: SessionId, goal: GoalRecord): boolean => {
  const from = armed.get(id)
  return goal.phase === "active" && from?.id === goal.id && from.revision <= goal.revision
}

const seen = (runtime: Runtime, id: SessionId, goal: GoalRecord, state: GoalState, now: number): Goal => ({
  ...goal,
  activation: isArmed(runtime, id, goal) ? "armed" : "disarmed",
  usage: GoalLog.usageAt(state, now)
})

const corrupt = (
  sessionId: SessionId,
  fault: NonNullable<GoalState["corrupt"]>
): Effect.Effect<never, CorruptGoalLog> => new CorruptGoalLog({ sessionId, ...fault })

type Operation = "create" | "edit" | "pause" | "resume" | "complete" | "block"

/** Decides on the present state and appends in the same step: the reference holds for the very state that is changed. */
const verb =
  (runtime: Runtime) =>
  (
    id: SessionId,
    operation: Operation,
    rule: (present: Present, now: string) => Either.Either<GoalRecord, GoalRuleError>
  ): Effect.Effect<Goal, GoalsError> =>
    // What is stored is armed, also when the caller is interrupted.
    Effect.uninterruptible(
      Effect.gen(function* () {
        const decided = yield* runtime.projections.decide(id, GoalLog.projection, ({ value }: Projected<GoalState>) =>
          Effect.gen(function* () {
            if (value.corrupt !== null) return yield* corrupt(id, value.corrupt)
            const now = yield* Clock.currentTimeMillis
            const goal = yield* rule(GoalLog.present(value), format(now))
            const usage = operation === "create" ? GoalLog.initial.usage : GoalLog.usageAt(value, now)
            return {
              events: [GoalChange.make({ version: 1, operation, goal })],
              value: { goal, usage }
            }
          })
        )
        const { goal, usage } = decided
        if (operation === "create" || operation === "resume") yield* arm(runtime, id, goal)
        else yield* PubSub.publish(runtime.changes, id)
        return { ...goal, usage, activation: isArmed(runtime, id, goal) ? "armed" : "disarmed" } as const
      })
    )

const clear = (runtime: Runtime, id: SessionId, ref: GoalRef): Effect.Effect<GoalRef, GoalsError> =>
  runtime.projections
    .decide(id, GoalLog.projection, ({ value }: Projected<GoalState>) =>
      Effect.gen(function* () {
        if (value.corrupt !== null) return yield* corrupt(id, value.corrupt)
        const tombstone = yield* GoalRules.clear(GoalLog.present(value), ref)
        return { events: [GoalChange.make({ version: 1, operation: "clear", tombstone })], value: tombstone }
      })
    )
    .pipe(
      Effect.tap(() => PubSub.publish(runtime.changes, id)),
      Effect.uninterruptible
    )

/** Asks the referee about the state that is to be completed. What changes meanwhile makes the completion stale, not the verdict wrong. */
const judge = (runtime: Runtime, id: SessionId, ref: GoalRef): Effect.Effect<void, GoalsError> =>
  Effect.gen(function* () {
    const { value } = yield* runtime.projections.get(id, GoalLog.projection)
    if (value.corrupt !== null) return yield* corrupt(id, value.corrupt)
    // What the rules refuse needs no verdict.
    yield* GoalRules.complete(GoalLog.present(value), ref, value.goal?.updatedAt ?? "")
    const { goal } = value
    if (goal === null) return
    const verdict = yield* runtime.referee.judge(id, goal)
    if (!verdict.agrees) return yield* new CompletionRefused({ current: toRef(goal), reason: verdict.reason })
  })
