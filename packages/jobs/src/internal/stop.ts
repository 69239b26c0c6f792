import * as Effect from "effect/Effect"
import * as PubSub from "effect/PubSub"
import { labelLine } from "../Job.js"
import { JobKillRequested } from "../JobEvents.js"
import type { JobRecord, Owner, Running, Runtime, StopRequest } from "./live.js"
import { didNotStop, goesOn, interrupt } from "./live.js"
import { settle } from "./settle.js"

/**
 * Asks jobs to end: the request is stored, they are `stopping`, their fibers interrupted, and the grace begins to run. Those that were
 * asked before, or have ended, are left alone. A store that fails keeps nothing from being stopped.
 */
export const stop = (
  runtime: Runtime,
  owner: Owner,
  jobs: ReadonlyArray<JobRecord>,
  request: StopRequest
): Effect.Effect<void> =>
  Effect.uninterruptible(
    Effect.suspend(() => {
      const asked = jobs.flatMap((job) => {
        const { running } = job
        if (running === undefined || running.decided !== undefined || running.killed) return []
        running.killed = true
        return [{ job, running }]
      })
      if (asked.length === 0) return Effect.void
      const reason = request.reason === undefined ? undefined : labelLine(request.reason)
      return record(runtime, owner, asked, { ...request, reason }).pipe(
        Effect.zipRight(Effect.forEach(asked, ({ job, running }) => halt(runtime, owner, job, running, reason))),
        Effect.zipRight(PubSub.publish(runtime.changes, owner.id))
      )
    })
  )

const record = (
  runtime: Runtime,
  owner: Owner,
  asked: ReadonlyArray<{ readonly job: JobRecord }>,
  { by, reason }: StopRequest
): Effect.Effect<unknown> =>
  owner.id === undefined
    ? Effect.void
    : Effect.catchAll(
        runtime.log.append(
          owner.id,
          asked.map(({ job }) => JobKillRequested.make({ id: job.id, ...(reason === undefined ? {} : { reason }), by }))
        ),
        (error) => Effect.logWarning(`jobs of session "${owner.id}" are stopped, which could not be stored`, error)
      )

/** The end that a job reached while the request was being stored stands. */
const halt = (
  runtime: Runtime,
  owner: Owner,
  job: JobRecord,
  running: Running,
  reason: string | undefined
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (running.decided !== undefined) return Effect.void
    job.status = "stopping"
    job.reason = reason
    return Effect.map(Effect.forkIn(outlast(runtime, owner, job, running), owner.helpers), (timer) => {
      running.timer = timer
      interrupt(running)
    })
  })

/** Settles a job that is still there when its grace is over. Whatever its fiber does later is dropped. */
const outlast = (runtime: Runtime, owner: Owner, job: JobRecord, running: Running): Effect.Effect<void> =>
  Effect.zipRight(
    Effect.interruptible(Effect.sleep(runtime.config.killGrace)),
    Effect.suspend(() => {
      if (running.decided !== undefined) return Effect.void
      goesOn(owner, running)
      return settle(runtime, owner, job, running, didNotStop)
    })
  )
