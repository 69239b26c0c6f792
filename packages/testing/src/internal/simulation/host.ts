/** A host of the simulation: one process over the shared store, from its boot to its end. */
import type { Agent } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Host from "@afterturn/session-log/Host"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { KitServices, SimulatedHost } from "../../SimulationScenario.js"
import type { CountedFibers } from "./fibers.js"
import type { Gate } from "./gate.js"
import { guarded } from "./gate.js"
import type { Provider } from "./model.js"
import * as Model from "./model.js"
import * as Recorded from "./recorded.js"
import type { Stage } from "./stage.js"

export interface LiveHost<R> {
  readonly name: string
  readonly pid: number
  readonly gate: Gate
  readonly provider: Provider
  readonly scope: Scope.CloseableScope
  readonly context: Context.Context<Agents | R | KitServices>
  readonly fibers: CountedFibers
  /** Hears what it logs. */
  readonly heard: Layer.Layer<never>
  /** What this host's driver has opened. */
  readonly sessions: Map<SessionId, Scope.CloseableScope>
}

/** Times are long, so that a day has few of them: what matters is their order. */
const timing: SessionLog.SessionLogOptions = {
  pollInterval: "5 minutes",
  leaseTtl: "10 minutes",
  heartbeatInterval: "4 minutes",
  pageEvents: 32,
  snapshotEvery: 40
}

/** The services of a host, ready for its composition. */
export const hostLayer = <R>(
  stage: Stage<R>,
  host: SimulatedHost,
  gate: Gate,
  provider: Provider
): Layer.Layer<Agents | R | KitServices, unknown> => {
  const machine = Layer.succeed(Host.Host, {
    self: { host: "simulated", bootId: "boot", pid: host.pid, startedAt: `${host.pid}` },
    isDead: (holder) => Effect.sync(() => stage.sharesMachine && !stage.alive.has(holder.pid))
  })
  const log = SessionLog.layer(timing).pipe(
    Layer.provide(machine),
    Layer.provideMerge(Layer.merge(EventTypes.layer, Layer.succeed(SessionStore, guarded(gate, stage.store))))
  )
  return stage.world
    .host(host)
    .pipe(
      Layer.provideMerge(Model.layer("simulated", provider, (text) => stage.answer(text), stage.coverage)),
      Layer.provideMerge(Recorded.layer(stage.promised)),
      Layer.provideMerge(log)
    )
}

/** The agent of a session on a host: the one that lives there, or one that begins or resumes it. */
export const openSession = <R>(stage: Stage<R>, host: LiveHost<R>, id: SessionId) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const present = yield* agents.get(id)
    if (present !== undefined) return present
    const scope = yield* Scope.fork(host.scope, host.scope.strategy)
    const begun = yield* Effect.flatMap(SessionLog.SessionLog, (log) => log.exists(id))
    const agent: Agent = yield* (begun ? agents.resume(id) : agents.create({ id, cwd: "/simulated" })).pipe(
      Scope.extend(scope),
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause)))
    )
    host.sessions.set(id, scope)
    yield* Scope.extend(listen(stage, agent), scope)
    return agent
  })

/** What subscribers hear is a promise as well. */
const listen = <R>(stage: Stage<R>, agent: Agent) =>
  Effect.forkScoped(
    Stream.runForEach(agent.output, (item) =>
      Effect.sync(() => {
        if (item._tag === "Event") stage.promised.announced.push({ session: agent.id, event: Recorded.raw(item.event) })
      })
    )
  )

/**
 * Does something as a host: until it is done, or the host has died. What is refused is counted, what breaks is kept as a fault of the
 * program.
 */
export const within = <R, A, E>(
  stage: Stage<R>,
  host: LiveHost<R>,
  what: string,
  effect: Effect.Effect<A, E, Agents | R | KitServices>
): Effect.Effect<void> =>
  host.fibers.counted(effect).pipe(
    Effect.provide(host.heard),
    Effect.provide(host.context),
    Effect.raceFirst(Effect.zipRight(Deferred.await(host.gate.died), Effect.interrupt)),
    Effect.exit,
    Effect.flatMap((exit) =>
      Effect.sync(() => {
        if (host.gate.isDead) stage.coverage.count("driver", "died meanwhile")
        else if (Exit.isSuccess(exit)) stage.coverage.count("driver", `${what} done`)
        else stage.refused(what, exit.cause)
      })
    )
  )
