/**
 * Puts the parts together: the one place that knows which capabilities the command has.
 *
 * @since 0.1.0
 */
import type { AgentConfig, AgentOptions } from "@afterturn/agent/AgentConfig"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import { AgentModel, InvalidModelRoute, parseRoute } from "@afterturn/agent/AgentModel"
import type { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import type { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import type { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import type { InvalidScript } from "@afterturn/testing/Script"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as Todo from "@afterturn/todo/Todo"
import type { TodoConfig } from "@afterturn/todo/TodoConfig"
import * as TodoPrompt from "@afterturn/todo/TodoPrompt"
import * as TodoTools from "@afterturn/todo/TodoTools"
import type { FileSystem } from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Store } from "./Compose/Store.js"
import { storeLayer } from "./Compose/Store.js"
import { todoConfig } from "./Compose/Todo.js"

export { type Store, storeLayer } from "./Compose/Store.js"
export { todoConfig } from "./Compose/Todo.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface AgentLayerOptions {
  /** The database file; made when there is none. */
  readonly db: string
  /** The model, such as `scripted:FILE`. */
  readonly route: string
  /** Limits that differ from the defaults, and how the system prompt begins. */
  readonly agent?: Partial<AgentOptions> & { readonly introduction?: string }
  /** How a scripted model speaks. */
  readonly scripted?: Pick<ScriptedModel.ScriptedModelOptions, "deltaDelay" | "deltaLength">
}

/**
 * Agents and what they are made of.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentServices =
  | Agents
  | AgentConfig
  | AgentExtensions
  | AgentModel
  | Store
  | SystemPrompt
  | Todo.Todo
  | TodoConfig
  | ToolRegistry

/**
 * Why there may be no agents. The model comes first: when it is the reason, the database was not touched.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentLayerError = InvalidModelRoute | InvalidScript | ScriptedModel.ScriptUnreadable | SessionStoreError

const introduction =
  "You are Afterturn, an agent that a person talks to in a terminal. You keep working between their messages: what you start " +
  "goes on after your turn, and you are told about it. Be brief and concrete."

/**
 * Agents on a database file, with every capability of the command.
 *
 * @since 0.1.0
 * @category layers
 */
export const agentLayer = (options: AgentLayerOptions): Layer.Layer<AgentServices, AgentLayerError, FileSystem> =>
  Layer.unwrapEffect(
    Effect.map(loadModel(options), (model) =>
      Layer.mergeAll(TodoTools.layer, TodoPrompt.layer).pipe(
        Layer.provideMerge(Todo.layer),
        Layer.provideMerge(todoConfig),
        Layer.provideMerge(AgentLoop.layerRuntime({ introduction, ...options.agent })),
        Layer.provideMerge(model),
        Layer.provideMerge(storeLayer(options.db))
      )
    )
  )

/** Reads what the model needs before anything else is opened. */
const loadModel = ({
  route,
  scripted
}: AgentLayerOptions): Effect.Effect<
  Layer.Layer<AgentModel, never, Projections>,
  InvalidModelRoute | InvalidScript | ScriptedModel.ScriptUnreadable,
  FileSystem
> =>
  Effect.gen(function* () {
    const { name, provider } = yield* parseRoute(route)
    if (provider !== "scripted") {
      return yield* new InvalidModelRoute({
        route,
        reason: `this release has no ${provider} models; expected scripted:FILE`
      })
    }
    const script = yield* ScriptedModel.load(name)
    return Layer.effect(AgentModel, ScriptedModel.fromScript(script, { name, ...scripted }))
  })
