/**
 * The reference runtime of the agent seam: a turn loop over `@effect/ai`.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionHeader, SessionId } from "@afterturn/session-log/SessionEvent"
import type { Lease } from "@afterturn/session-log/SessionLeases"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import type { Agent, AgentOutput, AgentStatus } from "./Agent.js"
import { isRoot } from "./Agent.js"
import type { AgentOptions } from "./AgentConfig.js"
import { AgentConfig, layer as layerConfig } from "./AgentConfig.js"
import * as AgentEvents from "./AgentEvents.js"
import * as AgentLog from "./AgentLog.js"
import { AgentModel } from "./AgentModel.js"
import type { ResumeError } from "./Agents.js"
import { AgentExtensions, Agents, layerExtensions } from "./Agents.js"
import { Compaction } from "./Compaction.js"
import { closeOpenTurn } from "./internal/closing.js"
import * as LiveAgent from "./internal/live.js"
import type { TurnFailure } from "./internal/turn.js"
import { runTurn } from "./internal/turn.js"
import { layer as layerSystemPrompt, SystemPrompt } from "./SystemPrompt.js"
import { layer as layerRegistry, ToolRegistry } from "./ToolRegistry.js"
import type { Wakes } from "./Wakes.js"
import { layer as layerWakes } from "./Wakes.js"

/** How many items a spectator may fall behind before it misses some. */
const outputCapacity = 16_384

interface Host {
  readonly runtime: LiveAgent.Runtime
  readonly projections: Context.Tag.Service<Projections>
  readonly leases: Context.Tag.Service<SessionLeases>
  readonly extensions: Context.Tag.Service<AgentExtensions>
  readonly agents: Map<SessionId, Agent>
}

/**
 * Agents that run their turns here.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  Agents,
  never,
  | SessionLog
  | Projections
  | SessionLeases
  | EventTypes.EventTypes
  | ToolRegistry
  | SystemPrompt
  | AgentModel
  | AgentConfig
  | AgentExtensions
> = Layer.effect(
  Agents,
  Effect.gen(function* () {
    const types = yield* EventTypes.EventTypes
    yield* types.register(...AgentEvents.all)
    const host: Host = {
      runtime: {
        log: yield* SessionLog,
        types,
        registry: yield* ToolRegistry,
        systemPrompt: yield* SystemPrompt,
        model: yield* AgentModel,
        compaction: Option.getOrUndefined(yield* Effect.serviceOption(Compaction)),
        config: yield* AgentConfig
      },
      projections: yield* Projections,
      leases: yield* SessionLeases,
      extensions: yield* AgentExtensions,
      agents: new Map()
    }
    const list = Effect.sync(() => [...host.agents.values()])
    return {
      create: (options) => Effect.flatMap(host.runtime.log.create(options), (header) => bringToLife(host, header)),
      resume: (id) =>
        Effect.flatMap(host.runtime.log.header(id), ({ lastSeq: _, ...header }) => bringToLife(host, header)),
      get: (id) => Effect.sync(() => host.agents.get(id)),
      list,
      roots: Effect.map(list, (agents) => agents.filter(isRoot))
    }
  })
)

/**
 * The whole runtime, with registries that capabilities add to. What stays open is where sessions are stored and which model answers.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerRuntime = (
  options?: Partial<AgentOptions> & { readonly introduction?: string }
): Layer.Layer<
  Agents | ToolRegistry | SystemPrompt | AgentExtensions | AgentConfig | Wakes,
  never,
  SessionLog | Projections | SessionLeases | EventTypes.EventTypes | AgentModel
> => {
  const { introduction, ...limits } = options ?? {}
  return layer.pipe(
    Layer.provideMerge(layerSystemPrompt(introduction === undefined ? {} : { introduction })),
    Layer.provideMerge(Layer.mergeAll(layerConfig(limits), layerRegistry, layerExtensions, layerWakes))
  )
}

/**
 * The agent of a stored session. Finalizers run in reverse: the driver stops, extensions are released, the agent closes, what was
 * folded is kept for the next resume, the lease is given up.
 */
const bringToLife = (host: Host, header: SessionHeader): Effect.Effect<Agent, ResumeError, Scope.Scope> =>
  Effect.gen(function* () {
    const lease = yield* host.leases.acquire(header.id)
    yield* Effect.addFinalizer(() => keepSnapshots(host, header.id))
    const live = yield* restore(host, header)
    const agent = makeAgent(live)
    yield* Effect.acquireRelease(
      Effect.sync(() => void host.agents.set(header.id, agent)),
      () =>
        Effect.zipRight(
          LiveAgent.close(live),
          Effect.sync(() => void host.agents.delete(header.id))
        )
    )
    for (const extend of yield* host.extensions.all) yield* extend(agent)
    yield* Effect.forkScoped(drive(live, agent, lease))
    yield* LiveAgent.locked(live, LiveAgent.refresh(live))
    return agent
  })

/** A snapshot is only a shortcut: without it the next resume folds more of the log. */
const keepSnapshots = (host: Host, id: SessionId): Effect.Effect<void> =>
  Effect.catchAll(host.projections.snapshot(id), (error) =>
    Effect.logWarning("no snapshot kept when the agent closed", error)
  )

/**
 * The live state of a session, from its log. A turn that is still open was interrupted by the end of its process: it is closed as
 * such, in one append.
 */
const restore = Effect.fnUntraced(function* (host: Host, header: SessionHeader) {
  const { value: state } = yield* host.projections.get(header.id, AgentLog.state)
  const { value: counters } = yield* host.projections.get(header.id, AgentLog.counters)
  const live: LiveAgent.Live = {
    id: header.id,
    header,
    runtime: host.runtime,
    lock: Effect.unsafeMakeSemaphore(1),
    latch: Effect.unsafeMakeLatch(false),
    output: yield* PubSub.sliding<AgentOutput>(outputCapacity),
    status: yield* SubscriptionRef.make<AgentStatus>("idle"),
    state,
    counters,
    phase: { _tag: "idle" },
    turnStartSeq: -1,
    wake: false,
    history: undefined
  }
  if (state.open !== null) yield* LiveAgent.commit(live, closeOpenTurn(state.open, { kind: "interrupted" }))
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

const makeAgent = (live: LiveAgent.Live): Agent => ({
  id: live.id,
  header: live.header,
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
 * The driver: opens turns while something asks for them, until the agent is disposed or its session is lost to another host. What
 * the store refuses for good closes the agent quietly; what the log holds is what the next host finds.
 */
const drive = (live: LiveAgent.Live, agent: Agent, lease: Lease): Effect.Effect<void> =>
  Effect.forever(Effect.zipRight(live.latch.await, openAndRun(live, agent))).pipe(
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

const openAndRun = Effect.fnUntraced(function* (live: LiveAgent.Live, agent: Agent) {
  const turn = live.counters.turn + 1
  const phase = {
    _tag: "turn" as const,
    turn,
    cancel: yield* Deferred.make<string>(),
    ended: yield* Deferred.make<void>(),
    // Only a person's cancel empties the inbox; a disposed agent leaves it to the next resume.
    keepInbox: true
  }
  const opened = yield* LiveAgent.untilStored(LiveAgent.openTurn(live, phase))
  if (opened) yield* Effect.ensuring(runOpened(live, agent, phase), Deferred.succeed(phase.ended, undefined))
})

/**
 * However the turn's fiber ends, the turn is closed in the log, and not before that fiber has stored what it must: a result that a
 * handler gave goes in first. A disposed agent that cannot write leaves the rest to the next resume.
 */
const runOpened = (
  live: LiveAgent.Live,
  agent: Agent,
  phase: Extract<LiveAgent.Phase, { readonly _tag: "turn" }>
): Effect.Effect<void, AppendError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.interruptible(runTurn(live, agent, phase.turn)))
      const waited = yield* Effect.exit(
        restore(Effect.raceFirst(Effect.as(Fiber.await(fiber), undefined), Deferred.await(phase.cancel)))
      )
      const exit = yield* Fiber.interrupt(fiber)
      const reason = endReason(waited, exit)
      if (reason === undefined) return
      const close = LiveAgent.closeTurn(live, phase.turn, reason)
      if (Exit.isSuccess(waited)) return yield* restore(LiveAgent.untilStored(close))
      yield* Effect.catchAll(close, (error) => Effect.logWarning("the turn could not be closed in the log", error))
      return yield* Effect.interrupt
    })
  )

/** Why the turn's fiber is over; `undefined`: it has closed the turn itself. */
const endReason = (
  waited: Exit.Exit<string | undefined>,
  exit: Exit.Exit<void, TurnFailure>
): AgentEvents.TurnEndReason | undefined => {
  if (Exit.isFailure(waited)) return { kind: "aborted", cause: AgentEvents.disposedCause }
  if (waited.value !== undefined) return { kind: "aborted", cause: waited.value }
  return Exit.isSuccess(exit) ? undefined : failureReason(exit.cause)
}

const failureReason = (cause: Cause.Cause<TurnFailure>): AgentEvents.TurnEndReason =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => ({
      kind: "error",
      error: { code: "internal_error", message: Cause.pretty(cause).slice(0, 2_000) }
    }),
    onSome: (error) => ({ kind: "error", error: { code: failureCode(error), message: error.message } })
  })

const failureCode = (error: TurnFailure): string => {
  if (error instanceof SessionStoreError) return `store_${error.reason.replaceAll("-", "_")}`
  return error._tag === "ModelError" ? error.code : snakeCase(error._tag)
}

const snakeCase = (tag: string): string => tag.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()
