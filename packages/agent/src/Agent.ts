/**
 * The seam that every capability programs against: the live driver of one session. Another runtime may provide it.
 *
 * @since 0.1.0
 */
import type { AlarmChange } from "@afterturn/session-log/SessionAlarms"
import type { EventInput, SessionEvent, SessionHeader } from "@afterturn/session-log/SessionEvent"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Stream from "effect/Stream"
import type { AgentMessage, NewMessage } from "./AgentMessage.js"

/**
 * The idle phase is taken: a turn runs or is about to, or other maintenance does.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentBusy extends Schema.TaggedError<AgentBusy>("@afterturn/agent/AgentBusy")("AgentBusy", {
  sessionId: SessionId
}) {
  override get message(): string {
    return `the agent of session "${this.sessionId}" is busy; try again when it is idle`
  }
}

/**
 * The agent was disposed, or another host took its session over.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentClosed extends Schema.TaggedError<AgentClosed>("@afterturn/agent/AgentClosed")("AgentClosed", {
  sessionId: SessionId
}) {
  override get message(): string {
    return `the agent of session "${this.sessionId}" is closed`
  }
}

/**
 * Why an agent may refuse a message. Nothing of it was stored then.
 *
 * @since 0.1.0
 * @category errors
 */
export type AgentError = AgentClosed | AppendError

/**
 * `running` from the moment a waking message is accepted until the agent is quiet again, and during maintenance. An agent that is
 * driven from outside cannot be woken: it runs while its turn is open, and is idle while messages wait for somebody to take them.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentStatus = "idle" | "running"

/**
 * What a spectator sees, in order: the model's text as it arrives, and each event that the agent stored. `Retry` says that the
 * request failed and is made again: the text of this step so far is void.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentOutput =
  | { readonly _tag: "Text" | "Reasoning"; readonly turn: number; readonly step: number; readonly delta: string }
  | { readonly _tag: "Retry"; readonly turn: number; readonly step: number; readonly message: string }
  | { readonly _tag: "Event"; readonly event: SessionEvent }

/**
 * What may go along with a message, in the same transaction: `events` to store; messages that it `replaces`, discarded where they
 * still wait; `alarms` of the session to set or clear; `expectedSeq`, the last seq on which the caller decided.
 *
 * @since 0.1.0
 * @category models
 */
export interface InsertOptions {
  readonly events?: ReadonlyArray<EventInput>
  readonly replaces?: ReadonlyArray<string>
  readonly alarms?: ReadonlyArray<AlarmChange>
  readonly expectedSeq?: number
}

/**
 * The live driver of one session. A message that was accepted is durable, and there is no instant at which it could strand: a
 * turn closes and looks at the inbox in one step.
 *
 * @since 0.1.0
 * @category models
 */
export interface Agent {
  readonly id: SessionId
  readonly header: SessionHeader
  /**
   * Whether messages that wait open turns by themselves. Else somebody outside drives the agent and takes them with an answer, at any
   * time: they need not wait for its idle phase.
   */
  readonly wakesItself: boolean
  readonly status: Effect.Effect<AgentStatus>
  /** The present status, then each change. */
  readonly statusChanges: Stream.Stream<AgentStatus>
  /** Queues a message as the only one of a later turn of its own, and wakes the agent. */
  readonly followup: (message: NewMessage, options?: InsertOptions) => Effect.Effect<AgentMessage, AgentError>
  /** Hands a message to the next step; wakes an idle agent. */
  readonly steer: (message: NewMessage, options?: InsertOptions) => Effect.Effect<AgentMessage, AgentError>
  /** Hands a message to the next step of whatever turn comes; does not wake an idle agent. */
  readonly inject: (message: NewMessage, options?: InsertOptions) => Effect.Effect<AgentMessage, AgentError>
  /**
   * Takes back the messages that wait and for which `which` holds, with `events` in the same transaction, also when there are none.
   * What a turn has claimed stays.
   */
  readonly withdraw: (
    which: (message: AgentMessage) => boolean,
    options?: Omit<InsertOptions, "replaces">
  ) => Effect.Effect<ReadonlyArray<AgentMessage>, AgentError>
  /**
   * Ends the running turn as `aborted` and waits for its end. Unless `keepInbox`, what the user and goal rounds had queued is
   * discarded; notices, reminders and messages of other agents always stay.
   */
  readonly cancel: (cause: string, options?: { readonly keepInbox?: boolean }) => Effect.Effect<void, AgentError>
  /** Waits until nothing runs and nothing waits that would open a turn. */
  readonly whenIdle: Effect.Effect<void>
  /**
   * Runs an effect in the idle phase; fails at once when that is taken. Waking messages that arrive meanwhile are stored and wait
   * until it ends.
   */
  readonly runMaintenance: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | AgentBusy, R>
  /** From now on; a spectator that falls 16,384 items behind misses the oldest. */
  readonly output: Stream.Stream<AgentOutput>
}

/**
 * The agent on whose behalf a tool runs. Absent outside an agent.
 *
 * @since 0.1.0
 * @category tags
 */
export class CurrentAgent extends Context.Tag("@afterturn/agent/CurrentAgent")<CurrentAgent, Agent>() {}

/**
 * Whether a person talks to this agent directly, rather than another agent.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isRoot = (agent: Agent): boolean => agent.header.delegationDepth === 0
