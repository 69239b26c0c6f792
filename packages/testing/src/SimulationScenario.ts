/**
 * What a simulation plays: the composition under test, what people and the model do in it, and what has to hold.
 *
 * @since 0.1.0
 */
import type { AgentModel } from "@afterturn/agent/AgentModel"
import type { Agents } from "@afterturn/agent/Agents"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLeases } from "@afterturn/session-log/SessionLeases"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import type { SessionStore } from "@afterturn/session-log/SessionStore"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Dice } from "./Dice.js"
import type { Evidence, Violation } from "./SimulationCheck.js"
import type { Reply } from "./SimulationStep.js"

/**
 * A host of a simulation, which is one process from its boot to its end.
 *
 * @since 0.1.0
 * @category models
 */
export interface SimulatedHost {
  readonly name: string
  /** Another one after each boot. */
  readonly pid: number
  /** What the process does to the world once this is `false` must have no effect: it has died, and does not know it yet. */
  readonly isAlive: () => boolean
  /** Dice of this host's own. */
  readonly dice: Dice
  /** Counts something that was met, for the coverage that is printed. */
  readonly count: (kind: string, what: string) => void
}

/**
 * What the kit provides a host's composition with.
 *
 * @since 0.1.0
 * @category models
 */
export type KitServices =
  | AgentModel
  | EventTypes
  | Projections
  | SessionAlarms
  | SessionLeases
  | SessionLog
  | SessionStore

/**
 * An action that steps name: something that a person does beside talking. What it answers is not looked at; the log is.
 *
 * @since 0.1.0
 * @category models
 */
export type Action<R> = (session: SessionId, input: unknown) => Effect.Effect<unknown, unknown, R>

/**
 * The world outside of the hosts, in one run: what outlives a process.
 *
 * @since 0.1.0
 * @category models
 */
export interface World<R> {
  /** The composition of one host. It is built anew at each boot. */
  readonly host: (host: SimulatedHost) => Layer.Layer<Agents | R, unknown, KitServices>
  /** What is left after all hosts have ended in order, in words: processes, files. Default: nothing. */
  readonly leftovers?: Effect.Effect<ReadonlyArray<string>>
}

/**
 * How a person and the model are made up. Each gets dice of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scenario<R> {
  readonly name: string
  readonly world: Effect.Effect<World<R>, never, Scope.Scope>
  /** The first instant, as UTC text. */
  readonly start: (dice: Dice) => string
  /** What a person asks for, as what the model makes of it. */
  readonly say: (dice: Dice, start: string) => ReadonlyArray<Reply>
  /** What the model makes of a message that no person wrote: a notice, a reminder, a round. `undefined`: it just says something. */
  readonly answer?: (text: string, dice: Dice) => ReadonlyArray<Reply> | undefined
  readonly actions?: { readonly [name: string]: Action<R> }
  /** An action and its input. */
  readonly act?: (dice: Dice) => { readonly action: string; readonly input: unknown }
  /** What the services say of a session at the end, by name: checks compare it with the log. */
  readonly observe?: (session: SessionId) => Effect.Effect<Readonly<Record<string, unknown>>, unknown, R>
  /** What has to hold beside what every session has to. Default: nothing. */
  readonly checks?: { readonly [name: string]: (evidence: Evidence) => ReadonlyArray<Violation> }
}
