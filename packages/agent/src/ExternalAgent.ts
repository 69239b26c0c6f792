/**
 * A runtime of the agent seam whose agent is somebody outside: a connected client that decides what to do and calls the tools of the
 * session. There is no model here. A call opens a turn, or joins the open one; a quiet period ends it. Nothing can wake such an
 * agent: what waits for it is handed over with the result of its next call.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { AgentError } from "./Agent.js"
import { AgentClosed } from "./Agent.js"
import type { AgentOptions } from "./AgentConfig.js"
import { AgentConfig, layer as layerConfig } from "./AgentConfig.js"
import * as AgentEvents from "./AgentEvents.js"
import type { AgentMessage } from "./AgentMessage.js"
import { AgentExtensions, Agents, layerExtensions } from "./Agents.js"
import * as External from "./internal/external.js"
import { makeAgents } from "./internal/host.js"
import type { SystemPrompt } from "./SystemPrompt.js"
import { layer as layerSystemPrompt } from "./SystemPrompt.js"
import type { Outcome } from "./ToolPipeline.js"
import { layer as layerRegistry, ToolRegistry } from "./ToolRegistry.js"
import type { Wakes } from "./Wakes.js"
import { layer as layerWakes } from "./Wakes.js"

/**
 * A call as it came from outside. `route` names who made it, as the route of a model does.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExternalCall {
  readonly name: string
  readonly input: unknown
  readonly route: string
}

/**
 * What a call came to.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExternalAnswer {
  readonly outcome: Outcome
  /** Messages that this answer delivers: they are claimed, and the client must be shown them. */
  readonly handed: ReadonlyArray<AgentMessage>
  /** How many messages wait for a later answer. */
  readonly waiting: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ExternalOptions {
  /** How long after the last call a turn ends. Default 1 minute. */
  readonly quietPeriod: Duration.Duration
  /**
   * Whose word a turn stands for that a call opens. `user`: that of the person whom the client serves, who may then set goals. `none`:
   * nobody's. Default `user`.
   */
  readonly authority: "user" | "none"
}

/**
 * How the outside drives agents.
 *
 * @since 0.1.0
 * @category tags
 */
export class ExternalAgents extends Context.Tag("@afterturn/agent/ExternalAgents")<
  ExternalAgents,
  {
    /**
     * Runs one call of a tool as the session's agent. What the caller gets wrong is an outcome, as for a model. Calls may run side by
     * side. Interrupting one cancels it, and nothing is handed over with it.
     *
     * What waits for a next step is handed over with any answer. A message that waits for a turn of its own is handed over when no
     * other call runs: it ends the turn that calls had opened, and opens its own. While the turn of a message is open, later ones
     * wait for its end.
     */
    readonly call: (id: SessionId, call: ExternalCall) => Effect.Effect<ExternalAnswer, AgentError>
  }
>() {}

/**
 * Agents that are driven from outside. A message that was handed over and not yet followed by a call is handed over again when the
 * agent is disposed, or its process dies, before the quiet period was over.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<ExternalOptions>
): Layer.Layer<
  Agents | ExternalAgents,
  never,
  SessionLog | Projections | SessionLeases | EventTypes.EventTypes | ToolRegistry | AgentConfig | AgentExtensions
> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const types = yield* EventTypes.EventTypes
      yield* types.register(...AgentEvents.all)
      const live = new Map<SessionId, External.External>()
      const settings = {
        quietPeriod: options?.quietPeriod ?? Duration.minutes(1),
        source: { kind: options?.authority === "none" ? ("system" as const) : ("user" as const) }
      }
      const agents = makeAgents({
        runtime: { log: yield* SessionLog, types, registry: yield* ToolRegistry, config: yield* AgentConfig },
        projections: yield* Projections,
        leases: yield* SessionLeases,
        extensions: yield* AgentExtensions,
        wakesItself: false,
        drive: (state, agent) =>
          Effect.flatMap(External.make(state, agent, settings), (external) =>
            Effect.as(
              Effect.acquireRelease(
                Effect.sync(() => live.set(agent.id, external)),
                () => Effect.sync(() => live.delete(agent.id))
              ),
              External.drive(external)
            )
          )
      })
      return Context.make(Agents, agents).pipe(
        Context.add(ExternalAgents, {
          call: (id, call) =>
            Effect.suspend(() => {
              const external = live.get(id)
              return external === undefined ? new AgentClosed({ sessionId: id }) : External.call(external, call)
            })
        })
      )
    })
  )

/**
 * The whole runtime, with registries that capabilities add to. What stays open is where sessions are stored.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerRuntime = (
  options?: Partial<ExternalOptions> & Partial<AgentOptions> & { readonly introduction?: string }
): Layer.Layer<
  Agents | ExternalAgents | ToolRegistry | SystemPrompt | AgentExtensions | AgentConfig | Wakes,
  never,
  SessionLog | Projections | SessionLeases | EventTypes.EventTypes
> => {
  const { authority, introduction, quietPeriod, ...limits } = options ?? {}
  return layer({
    ...(authority === undefined ? {} : { authority }),
    ...(quietPeriod === undefined ? {} : { quietPeriod })
  }).pipe(
    Layer.provideMerge(layerSystemPrompt(introduction === undefined ? {} : { introduction })),
    Layer.provideMerge(Layer.mergeAll(layerConfig(limits), layerRegistry, layerExtensions, layerWakes))
  )
}
