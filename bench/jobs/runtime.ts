/** Agents with jobs, over each store. */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import type { AgentModel } from "@afterturn/agent/AgentModel"
import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import { Jobs, layerLocal } from "@afterturn/jobs/Jobs"
import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import * as JobTools from "@afterturn/jobs/JobTools"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import type { Store } from "../support/agents.js"
import * as Model from "../support/model.js"

export type Runtime = ManagedRuntime.ManagedRuntime<Agents | Jobs | Store, unknown>

interface Options {
  readonly model?: Layer.Layer<AgentModel>
  /** Owners are told of ends. */
  readonly notices?: boolean
  /** Bytes of output, of all jobs that have ended, that memory keeps. Default 64 MiB. */
  readonly keptOutput?: number
}

const many = 1_000_000

export const openJobs = <E>(store: Layer.Layer<Store, E>, options?: Options): Runtime =>
  ManagedRuntime.make(
    Layer.merge(
      JobTools.layer(),
      options?.notices === true ? JobDelivery.layer({ maxConsecutiveWakes: many }) : Layer.empty
    ).pipe(
      Layer.provideMerge(layerLocal),
      Layer.provideMerge(Layer.merge(JobsConfig.layer(), spool(options?.keptOutput))),
      Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" })),
      Layer.provideMerge(options?.model ?? Model.layer(() => [])),
      Layer.provideMerge(store)
    )
  )

const spool = (maxTotalBytes: number | undefined) =>
  JobSpool.layerMemory(maxTotalBytes === undefined ? {} : { maxTotalBytes })

/** Uses a new agent, which is gone with its jobs after that. */
export const withAgent = <A>(
  runtime: Runtime,
  use: (owner: SessionId) => Effect.Effect<A, unknown, Agents | Jobs | Store>
): Promise<A> =>
  runtime.runPromise(
    Effect.scoped(Effect.flatMap(Agents, (agents) => Effect.flatMap(agents.create(), ({ id }) => use(id))))
  )

/** Starts a job that has nothing to do, and waits for its end. */
export const runOne = (owner: SessionId, label = "nothing to do") =>
  Effect.flatMap(Jobs, (jobs) =>
    Effect.flatMap(jobs.start(Job.make({ kind: "bash", label, owner }, () => Effect.succeed("ok"))), ({ id }) =>
      jobs.wait(id, "1 minute", owner)
    )
  )
