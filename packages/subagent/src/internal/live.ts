import type { Agent } from "@afterturn/agent/Agent"
import type { Agents } from "@afterturn/agent/Agents"
import type { JobId } from "@afterturn/jobs/Job"
import type { Jobs } from "@afterturn/jobs/Jobs"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { SubagentOptions } from "../SubagentConfig.js"

/**
 * A child that is alive. `run`: the job as which it works.
 */
export interface Resident {
  readonly id: SessionId
  readonly label: string
  readonly agent: Agent
  readonly scope: Scope.CloseableScope
  run: JobId | undefined
}

/**
 * The children of one live agent. What changes `residents` or a `run`, or relies on them for longer than a step, holds the lock.
 */
export interface Place {
  readonly agent: Agent
  /** Holds the fibers that look after children without a job. */
  readonly scope: Scope.Scope
  readonly lock: Effect.Semaphore
  readonly residents: Map<SessionId, Resident>
  /** Nothing is started any more. */
  closing: boolean
}

/**
 * What the functions of one composition share.
 */
export interface Runtime {
  readonly agents: Context.Tag.Service<Agents>
  readonly jobs: Context.Tag.Service<Jobs>
  readonly log: Context.Tag.Service<SessionLog>
  readonly projections: Context.Tag.Service<Projections>
  readonly options: SubagentOptions
  /** What children come alive in, rather than in the context of whoever made the call. */
  readonly context: Context.Context<never>
  readonly places: Map<SessionId, Place>
}
