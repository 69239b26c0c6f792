/**
 * The agents that live in this process.
 *
 * @since 0.1.0
 */
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type {
  AppendError,
  CreateOptions,
  ReadError,
  SessionExists,
  SessionLeased
} from "@afterturn/session-log/SessionLog"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Agent } from "./Agent.js"

/**
 * Why a session may refuse to come alive.
 *
 * @since 0.1.0
 * @category errors
 */
export type ResumeError = ReadError | AppendError | SessionLeased

/**
 * @since 0.1.0
 * @category tags
 */
export class Agents extends Context.Tag("@afterturn/agent/Agents")<
  Agents,
  {
    /**
     * A new session and its agent. Closing the scope disposes the agent: its turn ends as `aborted`, its extensions are released
     * (jobs cancelled and awaited), its lease is given up. The session stays.
     */
    readonly create: (
      options?: CreateOptions
    ) => Effect.Effect<Agent, SessionExists | SessionStoreError | ResumeError, Scope.Scope>
    /**
     * The agent of a stored session that no host drives. A turn that its last process left open is closed as `interrupted`
     * first; messages that wait open their turns.
     */
    readonly resume: (id: SessionId) => Effect.Effect<Agent, ResumeError, Scope.Scope>
    /** The live agent of a session in this process. */
    readonly get: (id: SessionId) => Effect.Effect<Agent | undefined>
    /** The live agents of this process, oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Agent>>
    /** Those of them that people talk to: delegation depth 0. */
    readonly roots: Effect.Effect<ReadonlyArray<Agent>>
  }
>() {}

/**
 * What a capability adds to every agent: runs when the agent comes alive, before its first turn; its finalizers run when the agent
 * is disposed, while the session may still be written to.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentExtension = (agent: Agent) => Effect.Effect<void, never, Scope.Scope>

/**
 * The extensions of this composition.
 *
 * @since 0.1.0
 * @category tags
 */
export class AgentExtensions extends Context.Tag("@afterturn/agent/AgentExtensions")<
  AgentExtensions,
  {
    readonly register: (extension: AgentExtension) => Effect.Effect<void>
    /** In order of registration. */
    readonly all: Effect.Effect<ReadonlyArray<AgentExtension>>
  }
>() {}

/**
 * No extensions, until capabilities register theirs.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerExtensions: Layer.Layer<AgentExtensions> = Layer.sync(AgentExtensions, () => {
  const extensions: Array<AgentExtension> = []
  return {
    register: (extension) => Effect.sync(() => void extensions.push(extension)),
    all: Effect.sync(() => [...extensions])
  }
})
