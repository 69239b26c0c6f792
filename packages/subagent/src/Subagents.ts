/**
 * Subagents: agents that other agents start, each with a session of its own, that work as background jobs of their parent.
 *
 * @since 0.1.0
 */
import type { Agent, AgentError } from "@afterturn/agent/Agent"
import type { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import type { JobId } from "@afterturn/jobs/Job"
import type { Jobs } from "@afterturn/jobs/Jobs"
import type { StartError } from "@afterturn/jobs/JobsError"
import type { EventTypes } from "@afterturn/session-log/EventTypes"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError, SessionExists, SessionLog } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { make } from "./internal/service.js"
import type { SubagentConfig } from "./SubagentConfig.js"
import type { AgentNotFound, AgentUnavailable, DepthLimitReached, InvalidTask } from "./SubagentError.js"
import type { AgentNode } from "./SubagentTree.js"

export { AgentNotFound, AgentUnavailable, DepthLimitReached, InvalidTask } from "./SubagentError.js"

declare module "@afterturn/jobs/Job" {
  interface JobKindMap {
    readonly subagent: "subagent"
  }
}

/**
 * Work for a new agent. `cwd` is absolute, or relative to the parent's folder, which is the default.
 *
 * @since 0.1.0
 * @category models
 */
export interface Task {
  readonly description: string
  readonly prompt: string
  readonly cwd?: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Delegated {
  readonly agentId: SessionId
  readonly jobId: JobId
}

/**
 * Where a message went. `steered`: the child works, as that job, and reads it at its next step. `continued`: the child was not at work
 * and begins again, as that job. `to-parent`: into the parent's inbox, which it reads at its next step. `held`: there as well, but its
 * children's messages have woken it as often in a row as they may (`maxMessageWakes`), so that it is read with whatever turn comes.
 *
 * @since 0.1.0
 * @category models
 */
export type Sent =
  | { readonly delivery: "steered" | "continued"; readonly agentId: SessionId; readonly jobId: JobId }
  | { readonly delivery: "to-parent" | "held"; readonly agentId: SessionId }

/**
 * @since 0.1.0
 * @category models
 */
export interface Interrupted {
  readonly agentId: SessionId
  readonly answer: "interrupt-requested" | "not-running"
}

/**
 * Why a child may not come to work. No job is left then, and of a new child no session.
 *
 * @since 0.1.0
 * @category errors
 */
export type WorkError = StartError | AgentUnavailable | SessionExists | ReadError | AgentError

/**
 * @since 0.1.0
 * @category tags
 */
export class Subagents extends Context.Tag("@afterturn/subagent/Subagents")<
  Subagents,
  {
    /**
     * A new child with a session of its own, at work as a job of kind `subagent` that the parent owns. The job ends when the child is
     * quiet: no turn of it runs or is about to, and none of its own jobs does. Its last text is the job's final output.
     */
    readonly delegate: (
      parent: Agent,
      task: Task
    ) => Effect.Effect<Delegated, WorkError | DepthLimitReached | InvalidTask>
    /** A message to a child of the sender, whatever it does, or to its parent. */
    readonly send: (
      sender: Agent,
      to: string,
      message: string
    ) => Effect.Effect<Sent, WorkError | AgentNotFound | InvalidTask>
    /**
     * Asks an agent below the caller, at any depth, to stop; does not wait for it. Its job ends as `killed`; the child stays, and so does
     * what it has started. Messages that it has not read are taken back.
     */
    readonly interrupt: (
      caller: Agent,
      id: string
    ) => Effect.Effect<Interrupted, AgentNotFound | ReadError | AppendError>
    /** The tree below a session. */
    readonly below: (id: SessionId) => Effect.Effect<ReadonlyArray<AgentNode>, ReadError>
  }
>() {}

/**
 * Children live in this process, on the agents of this composition. Compose it where `Jobs` is composed: each agent that comes alive gets
 * a place for its children, and its disposal stops them.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  Subagents,
  never,
  Agents | AgentExtensions | Jobs | SessionLog | Projections | EventTypes | SubagentConfig
> = Layer.scoped(Subagents, make)
