import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionHeader, SessionId } from "@afterturn/session-log/SessionEvent"
import type { Lease, SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Agent, AgentOutput, AgentStatus } from "../Agent.js"
import { isRoot } from "../Agent.js"
import * as AgentLog from "../AgentLog.js"
import type { AgentExtensions, Agents, ResumeError } from "../Agents.js"
import { closeOpenTurn } from "./closing.js"
import type { Live, Runtime } from "./live.js"
import * as LiveAgent from "./live.js"

/** How many items a spectator may fall behind before it misses some. */
const outputCapacity = 16_384

/**
 * What makes a runtime of the agent seam: everything but the driving is the same for all of them.
 */
export interface Host<R extends Runtime> {
  readonly runtime: R
  readonly projections: Context.Tag.Service<Projections>
  readonly leases: Context.Tag.Service<SessionLeases>
  readonly extensions: Context.Tag.Service<AgentExtensions>
  /** Whether messages that wait open turns by themselves. */
  readonly wakesItself: boolean
  /**
   * Takes an agent on, before its extensions come alive; the effect that it answers drives the agent until it is interrupted. What
   * the store refuses for good ends it, and closes the agent.
   */
  readonly drive: (live: Live<R>, agent: Agent) => Effect.Effect<Effect.Effect<void, AppendError>, never, Scope.Scope>
}

/**
 * The agents of a host.
 */
export const makeAgents = <R extends Runtime>(host: Host<R>): Context.Tag.Service<Agents> => {
  const agents = new Map<SessionId, Agent>()
  const list = Effect.sync(() => [...agents.values()])
  const { log } = host.runtime
  return {
    create: (options) => Effect.flatMap(log.create(options), (header) => bringToLife(host, agents, header)),
    resume: (id) => Effect.flatMap(log.header(id), ({ lastSeq: _, ...header }) => bringToLife(host, agents, header)),
    get: (id) => Effect.sync(() => agents.get(id)),
    list,
    roots: Effect.map(list, (all) => all.filter(isRoot))
  }
}

/**
 * The agent of a stored session. Finalizers run in reverse: the driver stops, extensions are released, the agent closes, what was
 * folded is kept for the next resume, the lease is given up.
 */
const bringToLife = <R extends Runtime>(
  host: Host<R>,
  agents: Map<SessionId, Agent>,
  header: SessionHeader
): Effect.Effect<Agent, ResumeError, Scope.Scope> =>
  Effect.gen(function* () {
    const lease = yield* host.leases.acquire(header.id)
    yield* Effect.addFinalizer(() => keepSnapshots(host, header.id))
    const live = yield* restore(host, header)
    const agent = makeAgent(live)
    yield* Effect.acquireRelease(
      Effect.sync(() => void agents.set(header.id, agent)),
      () =>
        Effect.zipRight(
          LiveAgent.close(live),
          Effect.sync(() => void agents.delete(header.id))
        )
    )
    const driver = yield* host.drive(live, agent)
    for (const extend of yield* host.extensions.all) yield* extend(agent)
    yield* Effect.forkScoped(supervise(live, driver, lease))
    yield* LiveAgent.locked(live, LiveAgent.refresh(live))
    return agent
  })

/** A snapshot is only a shortcut: without it the next resume folds more of the log. */
const keepSnapshots = <R extends Runtime>(host: Host<R>, id: SessionId): Effect.Effect<void> =>
  Effect.catchAll(host.projections.snapshot(id), (error) =>
    Effect.logWarning("no snapshot kept when the agent closed", error)
  )

/**
 * The live state of a session, from its log. A turn that is still open was interrupted by the end of its process: it is closed as
 * such, in one append.
 */
const restore = <R extends Runtime>(host: Host<R>, header: SessionHeader) =>
  Effect.gen(function* () {
    const { value: state } = yield* host.projections.get(header.id, AgentLog.state)
    const { value: counters } = yield* host.projections.get(header.id, AgentLog.counters)
    const { value: compacted } = yield* host.projections.get(header.id, AgentLog.compacted)
    const live: Live<R> = {
      id: header.id,
      header,
      runtime: host.runtime,
      wakesItself: host.wakesItself,
      lock: Effect.unsafeMakeSemaphore(1),
      latch: Effect.unsafeMakeLatch(false),
      available: Effect.unsafeMakeLatch(true),
      output: yield* PubSub.sliding<AgentOutput>(outputCapacity),
      status: yield* SubscriptionRef.make<AgentStatus>("idle"),
      state,
      counters,
      compacted,
      phase: { _tag: "idle" },
      turnStartSeq: -1,
      wake: false,
      history: undefined
    }
    if (state.open !== null)
      yield* LiveAgent.commit(live, closeOpenTurn(state.open, { kind: "interrupted" }, LiveAgent.drivenBy(live)))
    live.wake = wakesOnResume(live.state, state.open !== null)
    return live
  })

/**
 * Whether a resumed agent opens a turn for what waits: also when the turn that would have claimed it was interrupted.
 */
const wakesOnResume = (state: AgentLog.AgentState, interrupted: boolean): boolean =>
  state.nextTurn.length > 0 ||
  (interrupted && state.nextStep.length > 0) ||
  state.nextStep.some((message) => AgentLog.opensTurn("nextStep", message))

const makeAgent = (live: Live): Agent => ({
  id: live.id,
  header: live.header,
  wakesItself: live.wakesItself,
  status: SubscriptionRef.get(live.status),
  statusChanges: live.status.changes,
  followup: (message, options) => LiveAgent.insert(live, "nextTurn", true, message, options),
  steer: (message, options) => LiveAgent.insert(live, "nextStep", true, message, options),
  inject: (message, options) => LiveAgent.insert(live, "nextStep", false, message, options),
  withdraw: (which, options) => LiveAgent.withdraw(live, which, options),
  cancel: (cause, options) =>
    Effect.flatMap(LiveAgent.cancel(live, options?.keepInbox ?? false), (turn) =>
      turn === undefined
        ? Effect.void
        : Effect.zipRight(Deferred.succeed(turn.cancel, cause), Deferred.await(turn.ended))
    ),
  whenIdle: live.status.changes.pipe(
    Stream.filter((status) => status === "idle"),
    Stream.take(1),
    Stream.runDrain
  ),
  runMaintenance: (effect) => LiveAgent.maintenance(live, effect),
  output: Stream.fromPubSub(live.output)
})

/**
 * Runs the driver until the agent is disposed or its session is lost to another host. What the store refuses for good closes the
 * agent quietly; what the log holds is what the next host finds.
 */
const supervise = (live: Live, driver: Effect.Effect<void, AppendError>, lease: Lease): Effect.Effect<void> =>
  driver.pipe(
    Effect.raceFirst(Effect.flatMap(lease.lost, Effect.fail)),
    // Only a disposal leaves the agent open here: its extensions may still write while they are released.
    Effect.tapErrorCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.void
        : Effect.zipRight(
            Effect.logWarning(`the agent of session "${live.id}" stops driving it`, cause),
            LiveAgent.close(live)
          )
    ),
    // Nothing is lost: what failed was logged one line above.
    Effect.ignore
  )
