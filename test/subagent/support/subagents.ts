/** Agents that delegate, over a scripted model, with work that takes time on the test's clock. */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import type { Outcome } from "@afterturn/agent/ToolPipeline"
import * as ToolPipeline from "@afterturn/agent/ToolPipeline"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import { Jobs, layer as layerJobs } from "@afterturn/jobs/Jobs"
import type { JobsOptions } from "@afterturn/jobs/JobsConfig"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Host from "@afterturn/session-log/Host"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { layer as layerLog, layerMemory } from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import type { SubagentOptions } from "@afterturn/subagent/SubagentConfig"
import * as SubagentConfig from "@afterturn/subagent/SubagentConfig"
import { SubagentRun } from "@afterturn/subagent/SubagentEvents"
import { layer as layerSubagents, Subagents } from "@afterturn/subagent/Subagents"
import * as SubagentTools from "@afterturn/subagent/SubagentTools"
import type * as Script from "@afterturn/testing/Script"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Support from "../../support/agents.js"

export const root = "root" as SessionId

/** `work` takes minutes; `work_in_background` is a job that does. */
const toolkit = Toolkit.make(
  Tool.make("work", {
    parameters: { minutes: Schema.Number },
    success: Schema.String
  }),
  Tool.make("work_in_background", {
    parameters: { minutes: Schema.Number },
    success: Schema.Struct({ job_id: Schema.String })
  })
)

const workTools = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
  Layer.provide(
    toolkit.toLayer(
      Effect.map(Jobs, (jobs) => ({
        work: ({ minutes }: { readonly minutes: number }) =>
          Effect.as(Effect.sleep(Duration.minutes(minutes)), `worked for ${minutes} minutes`),
        work_in_background: ({ minutes }: { readonly minutes: number }) =>
          Effect.gen(function* () {
            const agent = Option.getOrThrow(yield* Effect.serviceOption(CurrentAgent))
            const { id } = yield* jobs.start(
              Job.make({ kind: "work", label: `${minutes} minutes`, owner: agent.id }, () =>
                Effect.as(Effect.sleep(Duration.minutes(minutes)), "worked")
              )
            )
            return { job_id: id }
          }).pipe(Effect.orDie)
      }))
    )
  )
)

export interface Options {
  readonly script?: Script.Definition
  readonly jobs?: Partial<JobsOptions>
  readonly subagents?: Partial<SubagentOptions>
  /** `false`: nobody delivers notices. */
  readonly delivery?: Partial<JobDelivery.DeliveryOptions> | false
}

const capabilities = (options: Options | undefined) =>
  Layer.mergeAll(
    SubagentTools.layer,
    JobTools.layer(),
    options?.delivery === false ? Layer.empty : JobDelivery.layer(options?.delivery),
    workTools
  ).pipe(
    Layer.provideMerge(layerSubagents),
    Layer.provideMerge(Layer.merge(layerJobs(options?.jobs), SubagentConfig.layer(options?.subagents))),
    Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "Europe/Berlin" })),
    Layer.provideMerge(ScriptedModel.layer(options?.script ?? { otherwise: [{ text: "done" }] }))
  )

/** All of it on a log in memory. */
export const layer = (options?: Options) => capabilities(options).pipe(Layer.provideMerge(layerMemory), Layer.orDie)

/**
 * A host over a store that others share. Closing its scope is an orderly end; leaving it open and making another that knows this one to be
 * dead is a crash.
 */
export const makeHost = (
  store: (typeof SessionStore)["Service"],
  pid: number,
  options?: Options & { readonly dead?: ReadonlySet<number> }
) =>
  capabilities(options).pipe(
    Layer.provideMerge(layerLog({ pollInterval: Duration.infinity, leaseTtl: Duration.infinity })),
    Layer.provide(
      Layer.succeed(Host.Host, {
        self: { host: "machine", bootId: "boot", pid, startedAt: "0" },
        isDead: (other) => Effect.succeed(options?.dead?.has(other.pid) ?? false)
      })
    ),
    Layer.provideMerge(Layer.merge(EventTypes.layer, Layer.succeed(SessionStore, store))),
    Layer.orDie,
    Layer.build
  )

/** Lets all fibers run that need no time. */
export const settle = TestClock.adjust(Duration.zero)

export const create = (options: { readonly cwd?: string } = { cwd: "/srv" }) =>
  Effect.flatMap(Agents, (agents) => agents.create({ id: root, ...options }))

/** Says something as the user, and lets run what needs no time. */
export const say = (agent: Agent, text: string) => Effect.zipRight(agent.followup(AgentMessage.user(text)), settle)

/** What a model would be answered to a call outside a turn. */
export const call = (
  agent: Agent | undefined,
  name: string,
  input: unknown
): Effect.Effect<Outcome, never, ToolRegistry.ToolRegistry> =>
  Effect.gen(function* () {
    const registered = yield* Effect.flatMap(ToolRegistry.ToolRegistry, (registry) => registry.tools(agent))
    const tools = new Map(registered.map((tool) => [tool.tool.name, tool]))
    const { run } = ToolPipeline.prepare(tools, { callId: "call-1", name, input }, { maxResultBytes: 50_000 })
    return yield* agent === undefined ? run : Effect.provideService(run, CurrentAgent, agent)
  })

/** Delegates outside a turn; the child is live when this answers. */
export const delegate = (
  parent: Agent,
  prompt: string,
  more?: { readonly description?: string; readonly cwd?: string }
) =>
  Effect.gen(function* () {
    const subagents = yield* Subagents
    const { agentId, jobId } = yield* subagents.delegate(parent, { description: prompt, prompt, ...more })
    const agent = yield* liveAgent(agentId)
    return { agentId, jobId, agent }
  })

const liveAgent = (id: SessionId): Effect.Effect<Agent, never, Agents> =>
  Effect.flatMap(Agents, (agents) =>
    Effect.map(agents.get(id), (agent) => Option.getOrThrow(Option.fromNullable(agent)))
  )

export const isAlive = (id: SessionId) =>
  Effect.flatMap(Agents, (agents) => Effect.map(agents.get(id), (agent) => agent !== undefined))

export const get = (jobId: string, owner: SessionId = root) => Effect.flatMap(Jobs, (jobs) => jobs.get(jobId, owner))

export const output = (jobId: string, owner: SessionId = root) =>
  Effect.flatMap(Jobs, (jobs) => Effect.map(jobs.read(jobId, owner), ({ output }) => output))

/** The subagents that a session has started, by id, in order. */
export const childIds = (id: SessionId = root) =>
  Effect.map(Support.dataOf(id, SubagentRun), (runs) => [...new Set(runs.map(({ agentId }) => agentId))])

/** What opened the turns of a session. */
export const turns = (id: SessionId = root) =>
  Effect.map(Support.dataOf(id, AgentEvents.TurnStart), (starts) => starts.map(({ source }) => source.kind))

/** The notices that turns of a session have claimed: the jobs of each. */
export const told = (id: SessionId = root) =>
  Effect.map(Support.dataOf(id, AgentEvents.UserMessage), (messages) =>
    messages.flatMap(({ source }) => (source.kind === "job-notice" ? [source.jobs] : []))
  )

/** What a session's model has read, beside results. */
export const heard = (id: SessionId) =>
  Effect.map(Support.dataOf(id, AgentEvents.UserMessage), (messages) =>
    messages.map(({ content }) => AgentMessage.toText(content))
  )

/** A rule for subagents: what is answered to a task that says this. */
export const task = (match: string, ...steps: ReadonlyArray<NonNullable<Script.Definition["otherwise"]>[number]>) => ({
  on: "agent" as const,
  match,
  steps
})

export const works = (minutes: number) => ({ calls: [{ tool: "work", input: { minutes } }] })

export const delegates = (prompt: string) => ({ tool: "subagent", input: { description: prompt, prompt } })
