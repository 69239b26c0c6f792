import * as AgentEvents from "@afterturn/agent/AgentEvents"
import type { MessageSource } from "@afterturn/agent/AgentMessage"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { EventInput, SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { layer, Todo } from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import type { TodoItem } from "@afterturn/todo/TodoItem"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** The service on this log. */
export const layerOn = <More, E>(
  log: Layer.Layer<SessionLog | Projections | EventTypes | More, E>,
  options?: Partial<TodoConfig.TodoOptions>
) =>
  layer.pipe(
    Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: false, ...options })),
    Layer.provideMerge(log)
  )

/** The service on a log of its own, in memory. */
export const layerTodos = (options?: Partial<TodoConfig.TodoOptions>) => layerOn(layerMemory, options)

export const item = (content: string, status: TodoItem["status"] = "pending"): TodoItem => ({ content, status })

export const newSession = Effect.flatMap(SessionLog, (log) => Effect.map(log.create(), ({ id }) => id))

export const append = (id: SessionId, ...events: ReadonlyArray<EventInput>) =>
  Effect.flatMap(SessionLog, (log) => log.append(id, events))

export const start = (turn: number, source: MessageSource = { kind: "user" }) =>
  AgentEvents.TurnStart.make({ turn, source })

export const end = (turn: number, reason: AgentEvents.TurnEndReason = { kind: "completed" }) =>
  AgentEvents.TurnEnd.make({ turn, reason })

export const eventsOf = (id: SessionId) =>
  Effect.flatMap(SessionLog, (log) => Effect.map(Stream.runCollect(log.read(id)), Chunk.toReadonlyArray))

export const writesOf = (events: ReadonlyArray<SessionEvent>) => events.filter(({ type }) => type === "todo/write")

export const versionsOf = (id: SessionId) =>
  Effect.flatMap(Todo, (todo) => Effect.map(Stream.runCollect(todo.history(id)), Chunk.toReadonlyArray))

/** What a model may send: nothing is promised about it. */
export const untyped = (todos: unknown) => todos as ReadonlyArray<TodoItem>
