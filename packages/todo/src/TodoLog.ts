/**
 * How a todo list stands in the log: its event, the fold that gives the present list, and the versions that it went through.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import type { Instant } from "@afterturn/session-log/Instant"
import * as Projection from "@afterturn/session-log/Projection"
import type { SessionEvent } from "@afterturn/session-log/SessionEvent"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { ClearOn } from "./TodoConfig.js"
import { TodoItem } from "./TodoItem.js"

/**
 * A list was written. It replaces the former one.
 *
 * @since 0.1.0
 * @category events
 */
export const TodoWrite = EventTypes.make("todo/write", Schema.Struct({ todos: Schema.Array(TodoItem) }))

/**
 * The present list, or `null` when none was written since the last clear.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Todos = Schema.NullOr(Schema.Array(TodoItem))

/**
 * @since 0.1.0
 * @category schemas
 */
export type Todos = typeof Todos.Type

/** Sources whose turns go on with the work that the list is about. */
const continuing: ReadonlySet<string> = new Set(["job-notice", "reminder", "goal-round"])

/** An append checks data against its type, so this throws only on an event that was stored damaged: its reader answers for that. */
const turnStart = (event: SessionEvent) => Either.getOrThrow(AgentEvents.TurnStart.decode(event))

const clears = (clearOn: ClearOn, event: SessionEvent): boolean =>
  event.type === AgentEvents.TurnStart.type && (clearOn === "every-turn" || !goesOn(turnStart(event)))

/** A call from outside does not tell whether the user has spoken: a client that has new work writes a new list. */
const goesOn = ({ by, source }: typeof AgentEvents.TurnStart.schema.Type): boolean =>
  by === "call" || continuing.has(source.kind)

const apply =
  (clearOn: ClearOn) =>
  (todos: Todos, event: SessionEvent): Todos => {
    if (event.type === TodoWrite.type) return Either.getOrThrow(TodoWrite.decode(event)).todos
    return clears(clearOn, event) ? null : todos
  }

/** Raised by two at a time: each policy has a version of its own, so that neither reads the other's snapshots. */
const versions: { readonly [Policy in ClearOn]: number } = { "every-turn": 1, "user-turn": 2 }

const make = (clearOn: ClearOn): Projection.Projection<Todos> =>
  Projection.make({
    key: "todos",
    version: versions[clearOn],
    schema: Todos,
    initial: null,
    types: [TodoWrite.type, AgentEvents.TurnStart.type],
    apply: apply(clearOn)
  })

const projections: { readonly [Policy in ClearOn]: Projection.Projection<Todos> } = {
  "every-turn": make("every-turn"),
  "user-turn": make("user-turn")
}

/**
 * The present list. A fork begins with none: its parent's is history.
 *
 * @since 0.1.0
 * @category projections
 */
export const projection = (clearOn: ClearOn): Projection.Projection<Todos> => projections[clearOn]

/**
 * A list that a session showed, from `seq` on: one that was written, or `null` from where it was cleared.
 *
 * @since 0.1.0
 * @category models
 */
export interface TodoVersion {
  readonly seq: number
  readonly time: Instant
  /** The turn in which it came to be; `null` outside a turn. */
  readonly turn: number | null
  readonly todos: Todos
  /** Whether it belongs to the session that this one was forked from. */
  readonly inherited: boolean
}

/**
 * The event types that `versionAt` looks at.
 *
 * @since 0.1.0
 * @category folds
 */
export const versionTypes: ReadonlyArray<string> = [
  TodoWrite.type,
  AgentEvents.TurnStart.type,
  AgentEvents.TurnEnd.type
]

/**
 * Where a reader of versions stands.
 *
 * @since 0.1.0
 * @category folds
 */
export interface VersionState {
  readonly todos: Todos
  readonly turn: number | null
  readonly inherited: boolean
}

/**
 * @since 0.1.0
 * @category folds
 */
export const initialVersionState: VersionState = { todos: null, turn: null, inherited: true }

/**
 * The state after an event, and the version that came to be with it, if one did. `seedLength` is that of the session's header.
 * Throws on an event whose data is not of its type.
 *
 * @since 0.1.0
 * @category folds
 */
export const versionAt = (clearOn: ClearOn, seedLength: number) => {
  const { apply: fold } = projection(clearOn)
  return (before: VersionState, event: SessionEvent): readonly [VersionState, TodoVersion | undefined] => {
    const inherited = event.seq < seedLength
    const start = before.inherited && !inherited ? { todos: null, turn: null } : before
    const turn = turnAfter(start.turn, event)
    const todos = fold(start.todos, event)
    const version = todos === start.todos ? undefined : { seq: event.seq, time: event.time, turn, todos, inherited }
    return [{ todos, turn, inherited }, version]
  }
}

const turnAfter = (turn: number | null, event: SessionEvent): number | null => {
  if (event.type === AgentEvents.TurnEnd.type) return null
  return event.type === AgentEvents.TurnStart.type ? turnStart(event).turn : turn
}
