/**
 * The ledger of what can wake a session: capabilities contribute to it without knowing one another.
 *
 * @since 0.1.0
 */
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { Instant } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { InboxList } from "./AgentEvents.js"
import * as AgentEvents from "./AgentEvents.js"
import * as AgentLog from "./AgentLog.js"
import type { AgentMessage } from "./AgentMessage.js"
import { toText } from "./AgentMessage.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * Something that can open a turn, or says whether one can be opened. `kind` tells what it is; others than those known here may
 * come: a reader passes over what it does not know.
 *
 * - `inbox`: a message that waits
 * - `job`: a job that runs; its end makes a notice
 * - `notice`: a job that ended, of which nobody has been told and no waiting message tells
 * - `wake-budget`: how many more turns notices may open
 * - `reminder`: a reminder, `at` its next instant
 * - `goal`: a goal, with the rounds and the budget that it has left
 *
 * `summary` is one line for a person, `at` the instant at which it is due, `detail` the facts as JSON.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Wake = Schema.Struct({
  kind: Schema.NonEmptyString,
  id: optional(Schema.String),
  summary: Schema.String,
  at: optional(Instant),
  detail: Schema.Record({ key: Schema.String, value: Schema.Unknown })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Wake = typeof Wake.Type

/**
 * What a capability knows of a session's wakes. It reads projections, so that it also answers for a session that no host holds.
 *
 * @since 0.1.0
 * @category models
 */
export type WakeSource = (id: SessionId) => Effect.Effect<ReadonlyArray<Wake>, ReadError>

/**
 * @since 0.1.0
 * @category tags
 */
export class Wakes extends Context.Tag("@afterturn/agent/Wakes")<
  Wakes,
  {
    /** Adds a source while the scope is open. */
    readonly contribute: (source: WakeSource) => Effect.Effect<void, never, Scope.Scope>
    /** What can wake a session, in the order in which sources came, the inbox first. */
    readonly of: WakeSource
  }
>() {}

/**
 * The messages that wait in the inbox, until capabilities contribute theirs.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Wakes, never, Projections | EventTypes.EventTypes> = Layer.effect(
  Wakes,
  Effect.map(Projections, (projections) => {
    const inbox: WakeSource = (id) => Effect.map(projections.get(id, AgentLog.state), ({ value }) => waiting(value))
    const sources = new Set<WakeSource>([inbox])
    return {
      contribute: (source) =>
        Effect.asVoid(
          Effect.acquireRelease(
            Effect.sync(() => {
              // A function of its own, so that one that is contributed twice is two.
              const added: WakeSource = (id) => source(id)
              sources.add(added)
              return added
            }),
            (added) => Effect.sync(() => sources.delete(added))
          )
        ),
      of: (id) =>
        Effect.map(
          Effect.forEach([...sources], (source) => source(id)),
          (wakes) => wakes.flat()
        )
    }
  })
).pipe(
  // With what the inbox folds, so that a session can be read where no agent runs.
  Layer.provide(EventTypes.layerRegister(...AgentEvents.all))
)

/**
 * Contributes a source for as long as the layer lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSource = <E, R>(make: Effect.Effect<WakeSource, E, R>): Layer.Layer<never, E, R | Wakes> =>
  Layer.scopedDiscard(Effect.flatMap(Effect.all([Wakes, make]), ([wakes, source]) => wakes.contribute(source)))

const waiting = (state: AgentLog.AgentState): ReadonlyArray<Wake> =>
  (["nextTurn", "nextStep"] as const).flatMap((list) => state[list].map((message) => inboxWake(list, message)))

const inboxWake = (list: InboxList, message: AgentMessage): Wake => ({
  kind: "inbox",
  id: message.id,
  summary: `${message.source.kind}: ${firstLine(toText(message.content))}`,
  detail: { list, source: message.source, opensTurn: AgentLog.opensTurn(list, message) }
})

const maxLine = 80

const firstLine = (text: string): string => {
  const [line = ""] = text.trim().split(/\r?\n/, 1)
  const characters = Array.from(line)
  return characters.length > maxLine ? `${characters.slice(0, maxLine - 1).join("")}…` : line
}
