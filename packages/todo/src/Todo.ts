/**
 * The todo list of a session: written whole, read as a fold of the log.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { seedLength } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog, SessionLogCorrupt } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { TodoSettings } from "./TodoConfig.js"
import { TodoConfig } from "./TodoConfig.js"
import type { TodoCounts, TodoError, TodoItem } from "./TodoItem.js"
import type { TodoDiff } from "./TodoList.js"
import * as TodoList from "./TodoList.js"
import type { Todos, TodoVersion } from "./TodoLog.js"
import * as TodoLog from "./TodoLog.js"

/**
 * A list as it was accepted, contents trimmed.
 *
 * @since 0.1.0
 * @category models
 */
export interface TodoSummary {
  readonly todos: ReadonlyArray<TodoItem>
  readonly counts: TodoCounts
}

/**
 * The list at one point and what differs from the point before. `todos` is `null` once a turn cleared it; a list that was only
 * reordered has an empty diff.
 *
 * @since 0.1.0
 * @category models
 */
export interface TodoChange extends TodoDiff {
  /** The last event that is in it, -1 for none. */
  readonly asOfSeq: number
  readonly todos: Todos
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Todo extends Context.Tag("@afterturn/todo/Todo")<
  Todo,
  {
    /**
     * Replaces the list of a session: one `todo/write` event, durable when this returns; the last write wins. The list that is
     * there already is answered the same and not stored again. A list that is refused leaves everything as it was. The list is
     * validated as if it were of unknown origin.
     */
    readonly write: (
      sessionId: SessionId,
      todos: ReadonlyArray<TodoItem>
    ) => Effect.Effect<TodoSummary, TodoError | ReadError | AppendError>

    /** The present list; `null` when none was written since the last clear. */
    readonly get: (sessionId: SessionId) => Effect.Effect<Todos, ReadError>

    /**
     * Every list that the session showed, oldest first, with its turn and time; `null` where it was cleared. Those of the session
     * that this one was forked from come first, as `inherited`.
     */
    readonly history: (sessionId: SessionId) => Stream.Stream<TodoVersion, ReadError>

    /** The present list, as a change from nothing, then each change of it. Never ends by itself. */
    readonly changes: (sessionId: SessionId) => Stream.Stream<TodoChange, ReadError>
  }
>() {}

type Service = Context.Tag.Service<Todo>

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Todo, never, TodoConfig | SessionLog | Projections | EventTypes.EventTypes> =
  Layer.effect(
    Todo,
    Effect.gen(function* () {
      const settings = yield* TodoConfig
      const log = yield* SessionLog
      const projections = yield* Projections
      const projection = TodoLog.projection(settings.clearOn)
      return {
        write: write(settings, projections),
        get: (sessionId) => Effect.map(projections.get(sessionId, projection), ({ value }) => value),
        history: history(settings, log),
        changes: (sessionId) => Stream.mapAccum(projections.changes(sessionId, projection), noTodos, nextChange)
      }
    })
  ).pipe(
    // With the turn's events, so that a session can be read where no agent runs.
    Layer.provide(EventTypes.layerRegister(TodoLog.TodoWrite, AgentEvents.TurnStart, AgentEvents.TurnEnd))
  )

/** The list is compared and the event appended as one step, so a write that came between is never taken for the one shown. */
const write = (settings: TodoSettings, projections: Context.Tag.Service<Projections>): Service["write"] => {
  const projection = TodoLog.projection(settings.clearOn)
  return (sessionId, given) =>
    Effect.flatMap(
      Effect.suspend(() => TodoList.validate(given, settings)),
      (todos) => {
        const summary: TodoSummary = { todos, counts: TodoList.counts(todos) }
        const unchanged = Effect.succeed({ events: [], value: summary })
        const replaced = Effect.sync(() => ({ events: [TodoLog.TodoWrite.make({ todos })], value: summary }))
        return projections.decide(sessionId, projection, ({ value }) =>
          value !== null && TodoList.isSame(value, todos) ? unchanged : replaced
        )
      }
    )
}

const history =
  (settings: TodoSettings, log: Context.Tag.Service<SessionLog>): Service["history"] =>
  (sessionId) =>
    Stream.unwrap(
      Effect.map(log.header(sessionId), (header) => {
        const versionAt = TodoLog.versionAt(settings.clearOn, seedLength(header))
        const step = (state: TodoLog.VersionState, event: SessionEvent) =>
          Either.try({
            try: () => versionAt(state, event),
            catch: (error) =>
              new SessionLogCorrupt({ sessionId, seq: event.seq, reason: `event "${event.type}": ${String(error)}` })
          })
        return log.read(sessionId, { types: TodoLog.versionTypes }).pipe(
          Stream.mapAccumEffect(TodoLog.initialVersionState, step),
          Stream.filter((version) => version !== undefined)
        )
      })
    )

const noTodos: ReadonlyArray<TodoItem> = []

const nextChange = (
  before: ReadonlyArray<TodoItem>,
  { asOfSeq, value }: { readonly asOfSeq: number; readonly value: Todos }
): readonly [ReadonlyArray<TodoItem>, TodoChange] => {
  const after = value ?? noTodos
  return [after, { asOfSeq, todos: value, ...TodoList.diff(before, after) }]
}
