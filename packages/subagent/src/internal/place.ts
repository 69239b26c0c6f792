import type { Agent } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { JobId } from "@afterturn/jobs/Job"
import * as JobLog from "@afterturn/jobs/JobLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { Child } from "../SubagentLog.js"
import * as SubagentLog from "../SubagentLog.js"
import type { Place, Runtime } from "./live.js"
import { adopt } from "./run.js"

/**
 * What every agent gets: a place for its children, for as long as it lives. Those that were at work when its last process died are
 * resumed, which closes their turns as interrupted and settles their jobs.
 */
export const attach = (runtime: Runtime, agent: Agent): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const place: Place = {
      agent,
      scope: yield* Effect.scope,
      lock: yield* Effect.makeSemaphore(1),
      residents: new Map(),
      closing: false
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => void runtime.places.set(agent.id, place)),
      () => close(runtime, place)
    )
    yield* resumeInterrupted(runtime, place)
  })

/** Nobody but the parent speaks to a child, so nothing is lost by one that cannot be read now: it is read when it is spoken to. */
const resumeInterrupted = (runtime: Runtime, place: Place): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { value } = yield* runtime.projections.get(place.agent.id, SubagentLog.children)
    // A run that completed has left nothing open.
    const candidates = Object.values(value.agents).filter(({ status }) => status !== "completed")
    const children = yield* Effect.filter(candidates, (child) => wasAtWork(runtime, child), { concurrency: 8 })
    yield* place.lock.withPermits(1)(
      Effect.forEach(children, ({ id, label }) => adopt(runtime, place, { _tag: "Known", id, label }), {
        discard: true
      })
    )
  }).pipe(
    Effect.catchAll((error) =>
      Effect.logWarning(`the subagents of session "${place.agent.id}" cannot be read: none is resumed`, error)
    )
  )

const wasAtWork = ({ projections }: Runtime, { id }: Child) =>
  Effect.gen(function* () {
    const { value: state } = yield* projections.get(id, AgentLog.state)
    if (state.open !== null) return true
    const { value: ledger } = yield* projections.get(id, JobLog.ledger)
    return Object.keys(ledger.open).length > 0
  }).pipe(Effect.catchTag("SessionNotFound", () => Effect.succeed(false)))

/**
 * Stops all children: their jobs first, so that these end as killed and not as failed, then their agents, with what they have started.
 */
export const close = (runtime: Runtime, place: Place): Effect.Effect<void> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      if (place.closing) return Effect.void
      place.closing = true
      const all = [...place.residents.values()]
      return Effect.forEach(
        all.flatMap(({ run }) => run ?? []),
        (run) => endRun(runtime, place, run),
        {
          concurrency: "unbounded",
          discard: true
        }
      ).pipe(
        Effect.zipRight(
          Effect.forEach([...place.residents.values()], ({ scope }) => Scope.close(scope, Exit.void), {
            concurrency: "unbounded",
            discard: true
          })
        ),
        Effect.zipRight(
          Effect.sync(() => {
            place.residents.clear()
            if (runtime.places.get(place.agent.id) === place) runtime.places.delete(place.agent.id)
          })
        )
      )
    })
  )

/** Jobs gives up on a job that does not stop before that. */
const longest = Duration.seconds(15)

const endRun = ({ jobs }: Runtime, { agent }: Place, run: JobId): Effect.Effect<void> =>
  jobs.kill(run, agent.id, { reason: "session ended", by: "host" }).pipe(
    // A fiber of its own: what waits in this one could not be given up.
    Effect.zipRight(Effect.timeoutOption(Effect.interruptible(jobs.wait(run, longest, agent.id)), longest)),
    Effect.catchAll((error) => Effect.logWarning(`job "${run}" ends with its agent`, error)),
    Effect.asVoid
  )
