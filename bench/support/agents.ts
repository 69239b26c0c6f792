/** Live agents with a todo list, over each store. */
import type { AgentOptions } from "@afterturn/agent/AgentConfig"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import type { AgentModel } from "@afterturn/agent/AgentModel"
import type { Agents } from "@afterturn/agent/Agents"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import { layerMemory } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { Durability } from "./raw.js"

export type Store = SessionLog | Projections | SessionLeases | EventTypes | SessionStore

export type Runtime = ManagedRuntime.ManagedRuntime<Agents | Store, unknown>

export const memory: Layer.Layer<Store> = layerMemory

export const sqlite = (filename: string, durability: Durability) => layerSqlite({ filename, durability })

/** Agents as a host composes them. Turns of a bench are longer than those of people. */
export const openAgents = <E>(
  store: Layer.Layer<Store, E>,
  model: Layer.Layer<AgentModel>,
  options?: Partial<AgentOptions>
): Runtime =>
  ManagedRuntime.make(
    TodoTools.layer.pipe(
      Layer.provideMerge(Todo.layer),
      Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: true, clearOn: "user-turn" })),
      Layer.provideMerge(AgentLoop.layerRuntime({ maxStepsPerTurn: 1_000_000, timeZone: "UTC", ...options })),
      Layer.provideMerge(model),
      Layer.provideMerge(store)
    )
  )
