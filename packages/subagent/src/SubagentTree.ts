/**
 * The agents below a session, as the logs have them: also for a session that no process drives.
 *
 * @since 0.1.0
 */
import type { JobId, JobStatus } from "@afterturn/jobs/Job"
import { isTerminal } from "@afterturn/jobs/Job"
import type { Instant } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import type { Child, Progress } from "./SubagentLog.js"
import * as SubagentLog from "./SubagentLog.js"

/**
 * Tokens of model requests, as far as providers said.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tokens {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * A subagent and those below it. `depth` counts from 1 for a child of the session that was asked about. `running`: it works.
 * `interrupted`: its process died in its last turn. `tokens` are its own, `totalTokens` with those of all below it.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentNode {
  readonly id: SessionId
  readonly parent: SessionId
  readonly depth: number
  readonly label: string
  readonly status: "running" | "inactive"
  readonly interrupted: boolean
  readonly startedAt: Instant
  readonly runs: number
  readonly turns: number
  readonly job: { readonly id: JobId; readonly status: JobStatus; readonly detail: string | null }
  readonly tokens: Tokens
  readonly totalTokens: Tokens
  readonly children: ReadonlyArray<AgentNode>
}

/** How many sessions are read at a time. */
const concurrency = 8

/**
 * The tree below a session, in the order in which agents came. A session that was removed is left out, with what was below it.
 *
 * @since 0.1.0
 * @category reading
 */
export const below = (
  parent: SessionId,
  options?: { readonly isRunning?: (id: SessionId) => Effect.Effect<boolean> }
): Effect.Effect<ReadonlyArray<AgentNode>, ReadError, Projections> =>
  Effect.flatMap(Projections, (projections) => level(projections, parent, 1, options?.isRunning ?? nobody))

const nobody = () => Effect.succeed(false)

const level = (
  projections: (typeof Projections)["Service"],
  parent: SessionId,
  depth: number,
  isRunning: (id: SessionId) => Effect.Effect<boolean>
): Effect.Effect<ReadonlyArray<AgentNode>, ReadError> =>
  Effect.gen(function* () {
    const { value } = yield* projections.get(parent, SubagentLog.children)
    const node = Effect.fnUntraced(function* (child: Child) {
      const progress = yield* projections.get(child.id, SubagentLog.progress)
      const children = yield* level(projections, child.id, depth + 1, isRunning)
      return [nodeOf(parent, depth, child, progress.value, yield* isRunning(child.id), children)]
    })
    const nodes = yield* Effect.forEach(
      Object.values(value.agents),
      (child) => Effect.catchTag(node(child), "SessionNotFound", () => Effect.succeed([])),
      { concurrency }
    )
    return nodes.flat()
  })

const nodeOf = (
  parent: SessionId,
  depth: number,
  { detail, id, job, label, runs, startedAt, status }: Child,
  { end, inputTokens, outputTokens, turns }: Progress,
  isRunning: boolean,
  children: ReadonlyArray<AgentNode>
): AgentNode => ({
  id,
  parent,
  depth,
  label,
  status: isRunning || !isTerminal(status) ? "running" : "inactive",
  interrupted: end?.reason.kind === "interrupted",
  startedAt,
  runs,
  turns,
  job: { id: job, status, detail },
  tokens: { inputTokens, outputTokens },
  totalTokens: sum([{ inputTokens, outputTokens }, ...children.map(({ totalTokens }) => totalTokens)]),
  children
})

/**
 * @since 0.1.0
 * @category accessors
 */
export const sum = (all: ReadonlyArray<Tokens>): Tokens => ({
  inputTokens: all.reduce((total, { inputTokens }) => total + inputTokens, 0),
  outputTokens: all.reduce((total, { outputTokens }) => total + outputTokens, 0)
})

/**
 * A tree as a row, each agent before those below it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const flatten = (nodes: ReadonlyArray<AgentNode>): ReadonlyArray<AgentNode> =>
  nodes.flatMap((node) => [node, ...flatten(node.children)])
