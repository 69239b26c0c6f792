/** Agents that have the tool, over processes of the system or over fake ones. */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import type { Approval } from "@afterturn/agent/Approval"
import type { Outcome } from "@afterturn/agent/ToolPipeline"
import * as ToolPipeline from "@afterturn/agent/ToolPipeline"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as JobSpool from "@afterturn/jobs/JobSpool"
import * as Jobs from "@afterturn/jobs/Jobs"
import type { JobsOptions } from "@afterturn/jobs/JobsConfig"
import * as JobsConfig from "@afterturn/jobs/JobsConfig"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as Shell from "@afterturn/shell/Shell"
import type { ShellBackend } from "@afterturn/shell/ShellBackend"
import type { ShellOptions, ShellToolsOptions } from "@afterturn/shell/ShellConfig"
import * as ShellConfig from "@afterturn/shell/ShellConfig"
import * as ShellTools from "@afterturn/shell/ShellTools"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { layer as layerAgents } from "../../support/agents.js"
import * as FakeModel from "../../support/FakeModel.js"
import { owner, path } from "./processes.js"

export interface Options {
  readonly tools?: Partial<ShellToolsOptions>
  readonly shell?: Partial<ShellOptions>
  readonly jobs?: Partial<JobsOptions>
  readonly model?: FakeModel.FakeModel
  readonly approval?: Layer.Layer<Approval>
  readonly spool?: Layer.Layer<JobSpool.JobSpool>
  /** The jobs as the tool sees them. */
  readonly seen?: Layer.Layer<Jobs.Jobs, never, Jobs.Jobs>
}

const shell = (backend: Layer.Layer<ShellBackend>, options: Options | undefined) =>
  Shell.layer.pipe(
    Layer.provide(backend),
    Layer.provideMerge(ShellConfig.layer({ setEnvironment: { PATH: path }, ...options?.shell }))
  )

const nothing = Layer.context<never>()

/** The tool with jobs, their tools and their notices. */
export const layer = (backend: Layer.Layer<ShellBackend>, options?: Options) =>
  Layer.mergeAll(
    ShellTools.layer(options?.tools).pipe(Layer.provide(options?.seen ?? Layer.context<Jobs.Jobs>())),
    JobTools.layer(),
    JobDelivery.layer()
  ).pipe(
    Layer.provide(options?.approval ?? nothing),
    Layer.provideMerge(shell(backend, options)),
    Layer.provideMerge(Jobs.layerLocal),
    Layer.provideMerge(Layer.merge(JobsConfig.layer(options?.jobs), options?.spool ?? JobSpool.layerMemory())),
    Layer.provideMerge(layerAgents((options?.model ?? FakeModel.replies()).layer)),
    Layer.orDie
  )

/** The tool without jobs. */
export const layerForeground = (backend: Layer.Layer<ShellBackend>, options?: Options) =>
  ShellTools.layerForeground(options?.tools).pipe(
    Layer.provide(options?.approval ?? nothing),
    Layer.provideMerge(shell(backend, options)),
    Layer.provideMerge(layerAgents((options?.model ?? FakeModel.replies()).layer)),
    Layer.orDie
  )

export const newAgent = (options: { readonly cwd?: string } = { cwd: "/tmp" }) =>
  Effect.flatMap(Agents, (agents) => agents.create({ id: owner, ...options }))

/** What a model would be answered to a call outside a turn, on behalf of an agent or of nobody. */
export const call = (name: string, input: unknown, agent?: Agent): Effect.Effect<Outcome, never, ToolRegistry> =>
  Effect.gen(function* () {
    const registered = yield* Effect.flatMap(ToolRegistry, (registry) => registry.tools(agent))
    const tools = new Map(registered.map((tool) => [tool.tool.name, tool]))
    const { run } = ToolPipeline.prepare(tools, { callId: "call-1", name, input }, { maxResultBytes: 50_000 })
    return yield* agent === undefined ? run : Effect.provideService(run, CurrentAgent, agent)
  })

export const bash = (input: Record<string, unknown>, agent?: Agent) =>
  call("bash", { description: "Test", ...input }, agent)

/** The value of an outcome that succeeded. */
export const valueOf = (outcome: Outcome): Record<string, unknown> => {
  if (!outcome.ok) throw new Error(outcome.text)
  return outcome.value as Record<string, unknown>
}
