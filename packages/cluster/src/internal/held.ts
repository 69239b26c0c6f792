import type { Agent } from "@afterturn/agent/Agent"
import type { ResumeError } from "@afterturn/agent/Agents"
import { Agents } from "@afterturn/agent/Agents"
import * as Instants from "@afterturn/session-log/Instant"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as EffectSchedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as SynchronizedRef from "effect/SynchronizedRef"
import type { EntityOptions } from "../SessionEntity.js"

/** Set while a session was let go with something under way: it needs a runner. */
export const unsettledKey = "unsettled"

interface Open {
  readonly agent: Agent
  readonly scope: Scope.CloseableScope
}

/** The agent of an entity: opened when somebody needs it, closed with the entity's scope. */
export interface Held {
  /** Uses the live agent. One that turns out to be closed is opened anew, once. */
  readonly use: <A, E extends { readonly _tag: string }, R>(
    body: (agent: Agent) => Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E | ResumeError, R>
  /** Says whether something is under way, for the moment at which the entity is closed. */
  unsettled: boolean
}

interface Services {
  readonly agents: Context.Tag.Service<Agents>
  readonly alarms: Context.Tag.Service<SessionAlarms>
  readonly log: Context.Tag.Service<SessionLog>
}

export const make = (
  id: SessionId,
  options: EntityOptions,
  opened: (agent: Agent) => Effect.Effect<void, never, Scope.Scope>
) =>
  Effect.gen(function* () {
    const services: Services = { agents: yield* Agents, alarms: yield* SessionAlarms, log: yield* SessionLog }
    const state = yield* SynchronizedRef.make<Open | undefined>(undefined)
    const close = (open: Open | undefined) => (open === undefined ? Effect.void : Scope.close(open.scope, Exit.void))
    const held: Held = {
      unsettled: false,
      use: (body) =>
        Effect.flatMap(current, (open) =>
          Effect.catchIf(body(open.agent), isClosed, () =>
            Effect.zipRight(
              drop(open),
              Effect.flatMap(current, (anew) => body(anew.agent))
            )
          )
        )
    }
    const current = SynchronizedRef.modifyEffect(state, (present) =>
      present === undefined
        ? Effect.map(openAgent(services, id, options, opened), (open) => [open, open] as const)
        : Effect.succeed([present, present] as const)
    )
    const drop = (stale: Open) =>
      SynchronizedRef.updateEffect(state, (present) =>
        present === stale ? Effect.as(close(stale), undefined) : Effect.succeed(present)
      )
    yield* Effect.addFinalizer(() =>
      Effect.flatMap(SynchronizedRef.getAndSet(state, undefined), (open) =>
        Effect.zipRight(close(open), held.unsettled ? leaveAlarm(services, id) : Effect.void)
      )
    )
    return held
  })

const isClosed = ({ _tag }: { readonly _tag: string }): boolean => _tag === "AgentClosed" || _tag === "LeaseLost"

/** A holder that is dead or frozen keeps the lease until it expires. */
const openAgent = (
  { agents, alarms, log }: Services,
  id: SessionId,
  { patience }: EntityOptions,
  opened: (agent: Agent) => Effect.Effect<void, never, Scope.Scope>
): Effect.Effect<Open, ResumeError> =>
  Effect.flatMap(Scope.make(), (scope) =>
    Effect.gen(function* () {
      const agent = yield* agents.resume(id).pipe(
        Effect.retry({
          while: ({ _tag }) => _tag === "SessionLeased",
          schedule: EffectSchedule.spaced("250 millis").pipe(EffectSchedule.upTo(patience))
        })
      )
      if ((yield* alarms.of(id)).some(({ key }) => key === unsettledKey)) {
        yield* log.append(id, [], { alarms: [{ key: unsettledKey, dueAt: null }] })
      }
      yield* opened(agent)
      return { agent, scope }
    }).pipe(
      Scope.extend(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
  )

const leaveAlarm = ({ log }: Services, id: SessionId): Effect.Effect<void> =>
  Effect.flatMap(Instants.now, (now) => log.append(id, [], { alarms: [{ key: unsettledKey, dueAt: now }] })).pipe(
    // Somebody else drives it already, or finds it by its lease.
    Effect.catchAll((error) => Effect.logDebug("no alarm was left for the session's next runner", error))
  )
