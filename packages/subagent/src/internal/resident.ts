import type { Agent } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { ResumeError } from "@afterturn/agent/Agents"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionExists } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { AgentUnavailable } from "../SubagentError.js"
import type { Place, Resident, Runtime } from "./live.js"

/**
 * A child to be: one that is there, or a new one with its folder.
 */
export type ChildRef =
  | { readonly _tag: "Known"; readonly id: SessionId; readonly label: string }
  | { readonly _tag: "New"; readonly label: string; readonly cwd: string | undefined }

export type BringUpError = ResumeError | SessionExists | AgentUnavailable

/**
 * Brings a child to life, in a scope of its own. Hold the lock.
 */
export const bringUp = (runtime: Runtime, place: Place, child: ChildRef): Effect.Effect<Resident, BringUpError> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const alive: Effect.Effect<Agent, BringUpError, Scope.Scope> =
      child._tag === "Known" ? runtime.agents.resume(child.id) : create(runtime, place, child)
    // Its fibers must be such that an interruption reaches them, from wherever it is called.
    const agent = yield* Effect.interruptible(
      Effect.mapInputContext(alive, (_: Context.Context<never>) => Context.add(runtime.context, Scope.Scope, scope))
    ).pipe(
      Effect.onError((cause) => Scope.close(scope, Exit.failCause(cause))),
      Effect.mapError((error) =>
        error._tag === "SessionLeased" && child._tag === "Known"
          ? new AgentUnavailable({ code: "agent_unavailable", agentId: child.id, reason: error.message })
          : error
      )
    )
    const resident: Resident = { id: agent.id, label: child.label, agent, scope, run: undefined }
    place.residents.set(agent.id, resident)
    return resident
  }).pipe(Effect.uninterruptible)

const create = ({ agents }: Runtime, { agent: parent }: Place, child: Extract<ChildRef, { readonly _tag: "New" }>) =>
  agents.create({
    title: child.label,
    parent: parent.id,
    delegationDepth: parent.header.delegationDepth + 1,
    ...(child.cwd === undefined ? {} : { cwd: child.cwd })
  })

/**
 * Disposes a child's agent: it is resumed when somebody has something to say to it. Hold the lock.
 */
export const putDown = (place: Place, resident: Resident): Effect.Effect<void> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      place.residents.delete(resident.id)
      return Scope.close(resident.scope, Exit.void)
    })
  )

/**
 * Whether somebody has said something to an agent since those messages were seen.
 */
export const wasAddressed = ({ projections }: Runtime, id: SessionId, seen: ReadonlySet<string>) =>
  Effect.map(projections.get(id, AgentLog.state), ({ value }) =>
    (["nextTurn", "nextStep"] as const).some((list) =>
      value[list].some((message) => !seen.has(message.id) && AgentLog.opensTurn(list, message))
    )
  )
