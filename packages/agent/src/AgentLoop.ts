/**
 * The reference runtime of the agent seam: a turn loop over `@effect/ai`.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Agent } from "./Agent.js"
import type { AgentOptions } from "./AgentConfig.js"
import { AgentConfig, layer as layerConfig } from "./AgentConfig.js"
import * as AgentEvents from "./AgentEvents.js"
import { AgentModel } from "./AgentModel.js"
import { AgentExtensions, Agents, layerExtensions } from "./Agents.js"
import { Compaction } from "./Compaction.js"
import { errorReason } from "./internal/failure.js"
import { makeAgents } from "./internal/host.js"
import type { Live } from "./internal/live.js"
import * as LiveAgent from "./internal/live.js"
import type { LoopRuntime, TurnFailure } from "./internal/turn.js"
import { runTurn } from "./internal/turn.js"
import { layer as layerSystemPrompt, SystemPrompt } from "./SystemPrompt.js"
import { chatSpan } from "./Telemetry.js"
import { layer as layerRegistry, ToolRegistry } from "./ToolRegistry.js"
import type { Wakes } from "./Wakes.js"
import { layer as layerWakes } from "./Wakes.js"

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
    const model = yield* AgentModel
    const runtime: LoopRuntime = {
      log: yield* SessionLog,
      types,
      registry: yield* ToolRegistry,
      systemPrompt: yield* SystemPrompt,
      model,
      chat: chatSpan(model.route),
      compaction: Option.getOrUndefined(yield* Effect.serviceOption(Compaction)),
      config: yield* AgentConfig
    }
    return makeAgents({
      runtime,
      projections: yield* Projections,
      leases: yield* SessionLeases,
      extensions: yield* AgentExtensions,
      wakesItself: true,
      drive: (live, agent) => Effect.succeed(drive(live, agent))
    })
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
 * The driver: opens turns while something asks for them.
 */
const drive = (live: Live<LoopRuntime>, agent: Agent): Effect.Effect<void, AppendError> =>
  Effect.forever(Effect.zipRight(live.latch.await, openAndRun(live, agent)))

const openAndRun = Effect.fnUntraced(function* (live: Live<LoopRuntime>, agent: Agent) {
  const turn = live.counters.turn + 1
  const phase = {
    _tag: "turn" as const,
    turn,
    cancel: yield* Deferred.make<string | undefined>(),
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
  live: Live<LoopRuntime>,
  agent: Agent,
  phase: Extract<LiveAgent.Phase, { readonly _tag: "turn" }>
): Effect.Effect<void, AppendError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        Effect.ensuring(
          Effect.interruptible(runTurn(live, agent, phase.turn)),
          Deferred.succeed(phase.cancel, undefined)
        )
      )
      const waited = yield* Effect.exit(restore(Deferred.await(phase.cancel)))
      const exit = yield* Fiber.interrupt(fiber)
      const reason = endReason(waited, exit)
      if (reason === undefined) return
      const close = LiveAgent.closeTurn(live, phase.turn, reason)
      const closeOnce = Effect.catchAll(close, (error) =>
        Effect.logWarning("the turn could not be closed in the log", error)
      )
      // The agent may be disposed while its turn is cancelled: before the turn's end is stored, or begun to be.
      if (Exit.isSuccess(waited)) {
        return yield* Effect.onInterrupt(restore(LiveAgent.untilStored(close)), () => closeOnce)
      }
      yield* closeOnce
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
    onSome: errorReason
  })
