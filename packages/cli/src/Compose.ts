/**
 * Puts the parts together: the one place that knows which capabilities the command has.
 *
 * @since 0.1.0
 */
import type { AgentConfig, AgentOptions } from "@afterturn/agent/AgentConfig"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentModel from "@afterturn/agent/AgentModel"
import type { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import * as Approval from "@afterturn/agent/Approval"
import * as Compaction from "@afterturn/agent/Compaction"
import * as ExternalAgent from "@afterturn/agent/ExternalAgent"
import type { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import type { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import type { Wakes } from "@afterturn/agent/Wakes"
import type { GoalConfig } from "@afterturn/goals/GoalConfig"
import * as GoalDriver from "@afterturn/goals/GoalDriver"
import * as GoalPrompt from "@afterturn/goals/GoalPrompt"
import type { Goals } from "@afterturn/goals/Goals"
import * as GoalTools from "@afterturn/goals/GoalTools"
import * as GoalWakes from "@afterturn/goals/GoalWakes"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import type { JobSpool } from "@afterturn/jobs/JobSpool"
import * as Jobs from "@afterturn/jobs/Jobs"
import type { JobsConfig } from "@afterturn/jobs/JobsConfig"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as JobWakes from "@afterturn/jobs/JobWakes"
import * as McpInbox from "@afterturn/mcp/McpInbox"
import * as ReminderDelivery from "@afterturn/schedule/ReminderDelivery"
import * as ReminderWakes from "@afterturn/schedule/ReminderWakes"
import type { Schedule } from "@afterturn/schedule/Schedule"
import type { ScheduleConfig } from "@afterturn/schedule/ScheduleConfig"
import * as SchedulePrompt from "@afterturn/schedule/SchedulePrompt"
import * as ScheduleTools from "@afterturn/schedule/ScheduleTools"
import type { SessionLogOptions } from "@afterturn/session-log/SessionLog"
import type { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as ShellTools from "@afterturn/shell/ShellTools"
import * as SubagentConfig from "@afterturn/subagent/SubagentConfig"
import * as Subagents from "@afterturn/subagent/Subagents"
import * as SubagentTools from "@afterturn/subagent/SubagentTools"
import type { Terminals } from "@afterturn/terminal/Terminals"
import * as TerminalTools from "@afterturn/terminal/TerminalTools"
import * as Todo from "@afterturn/todo/Todo"
import type { TodoConfig } from "@afterturn/todo/TodoConfig"
import * as TodoPrompt from "@afterturn/todo/TodoPrompt"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as LanguageModel from "@effect/ai/LanguageModel"
import type { FileSystem } from "@effect/platform/FileSystem"
import type { Path } from "@effect/platform/Path"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { GoalsLayerOptions } from "./Compose/Goals.js"
import { goalsLayer } from "./Compose/Goals.js"
import { jobsConfig, shell, spoolLayer } from "./Compose/Jobs.js"
import type { ModelLayerError, ModelOptions } from "./Compose/Model.js"
import { load as loadModel } from "./Compose/Model.js"
import { scheduleLayer } from "./Compose/Schedule.js"
import { serveCommands } from "./Compose/Serve.js"
import type { Store } from "./Compose/Store.js"
import { emptyStoreLayer, storeLayer } from "./Compose/Store.js"
import { terminals } from "./Compose/Terminals.js"
import { todoConfig } from "./Compose/Todo.js"

export { jobsReader, outputFolder, spoolLayer } from "./Compose/Jobs.js"
export { type Store, storeLayer } from "./Compose/Store.js"
export { todoConfig } from "./Compose/Todo.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface AgentLayerOptions extends ModelOptions {
  /** The database file; made when there is none. */
  readonly db: string
  /** Limits that differ from the defaults, and how the system prompt begins. */
  readonly agent?: Partial<AgentOptions> & { readonly introduction?: string }
  /** Who decides what the agent may do. Default: nobody is there to ask, so that it may do nothing that has to be approved. */
  readonly approval?: Parameters<typeof Approval.layer>[0]
  /** What differs about goals. */
  readonly goals?: GoalsLayerOptions
  /** What differs about the session log. */
  readonly log?: SessionLogOptions
}

/**
 * Agents and what they are made of.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentServices =
  | Agents
  | AgentConfig
  | AgentExtensions
  | AgentModel.AgentModel
  | Approval.Approval
  | GoalConfig
  | Goals
  | Jobs.Jobs
  | JobsConfig
  | JobSpool
  | Schedule
  | ScheduleConfig
  | Store
  | SystemPrompt
  | Terminals
  | Todo.Todo
  | TodoConfig
  | ToolRegistry
  | Wakes

/**
 * Why there may be no agents. The model comes first: when it is the reason, the database was not touched.
 *
 * @since 0.1.0
 * @category models
 */
export type AgentLayerError = ModelLayerError | SessionStoreError

const introduction =
  "You are Afterturn, an agent that a person talks to in a terminal. You keep working between their messages: what you start " +
  "goes on after your turn, and you are told about it. Be brief and concrete."

/**
 * Agents on a database file, with every capability of the command. The output of their jobs is kept beside that file.
 *
 * @since 0.1.0
 * @category layers
 */
export const agentLayer = (
  options: AgentLayerOptions
): Layer.Layer<AgentServices | SqlClient, AgentLayerError, FileSystem | Path> =>
  Layer.unwrapEffect(
    Effect.map(loadModel(options), (model) =>
      capabilities(options).pipe(
        Layer.provideMerge(AgentLoop.layerRuntime({ introduction, ...options.agent })),
        // A script reads no history, and could not summarize one.
        Layer.provideMerge(options.route.startsWith("scripted:") ? Layer.empty : Compaction.layer(options.agent)),
        Layer.provideMerge(model),
        Layer.provideMerge(storeLayer(options.db, options.log))
      )
    )
  )

/**
 * The tools that agents have here, booted as they are for an agent, on a store in memory and without a model.
 *
 * @since 0.1.0
 * @category layers
 */
export const toolsLayer: Layer.Layer<ToolRegistry, never, FileSystem | Path> = Layer.suspend(() =>
  capabilities({ db: ":memory:" }).pipe(
    Layer.provideMerge(AgentLoop.layerRuntime()),
    Layer.provide(AgentModel.layer("none").pipe(Layer.provide(mute))),
    Layer.provide(emptyStoreLayer)
  )
)

/** A model that nobody may ask. */
const mute = Layer.effect(
  LanguageModel.LanguageModel,
  LanguageModel.make({
    generateText: () => Effect.dieMessage("there is no model here"),
    streamText: () => Stream.dieMessage("there is no model here")
  })
)

const externalIntroduction =
  "Afterturn keeps a session for you in a durable log: what you put there with these tools outlives your connection. Beside its result a " +
  "tool may give you a second text, with a message for the session: a job has ended, a reminder is due, a goal has its next round. Act " +
  `on it. Nobody can call you between your calls: while something is under way, look at ${McpInbox.uri} or call a tool now and then.`

/**
 * @since 0.1.0
 * @category models
 */
export interface ExternalLayerOptions extends Partial<ExternalAgent.ExternalOptions> {
  /** The database file; made when there is none. */
  readonly db: string
  /** Whether commands may run. */
  readonly approval: Parameters<typeof Approval.layer>[0]
  /** Whether there is a tool that runs commands at all. */
  readonly bash: boolean
}

/**
 * The same capabilities for agents that a client outside drives: there is no model, and so nobody whom they could delegate to.
 *
 * @since 0.1.0
 * @category layers
 */
export const externalLayer = ({
  approval,
  bash,
  db,
  ...external
}: ExternalLayerOptions): Layer.Layer<
  Exclude<AgentServices, AgentModel.AgentModel> | ExternalAgent.ExternalAgents,
  SessionStoreError,
  FileSystem | Path
> =>
  capabilities({ approval, db, bash, subagents: false }).pipe(
    Layer.provideMerge(ExternalAgent.layerRuntime({ introduction: externalIntroduction, ...external })),
    Layer.provideMerge(storeLayer(db))
  )

const capabilities = ({
  approval,
  bash,
  db,
  goals,
  subagents
}: Pick<AgentLayerOptions, "approval" | "db" | "goals"> & {
  readonly bash?: boolean
  readonly subagents?: boolean
}) =>
  Layer.mergeAll(
    TodoTools.layer,
    TodoPrompt.layer,
    jobTools,
    bash === false ? Layer.empty : Layer.merge(shellTools, TerminalTools.layer()),
    subagents === false ? Layer.empty : subagentTools,
    JobDelivery.layer(),
    JobWakes.layer(),
    ReminderDelivery.layer,
    ReminderWakes.layer,
    ScheduleTools.layer(),
    SchedulePrompt.layer,
    GoalDriver.layer,
    GoalTools.layer,
    GoalPrompt.layer,
    GoalWakes.layer,
    serveCommands
  ).pipe(
    Layer.provideMerge(Layer.merge(scheduleLayer, goalsLayer(goals))),
    Layer.provideMerge(Layer.mergeAll(Todo.layer, Jobs.layerLocal, terminals, Approval.layer(approval ?? askNobody))),
    Layer.provideMerge(Layer.mergeAll(todoConfig, jobsConfig, spoolLayer(db)))
  )

const askNobody = { policy: "ask" } as const

const subagentTools = SubagentTools.layer.pipe(
  Layer.provide(Subagents.layer),
  Layer.provide(SubagentConfig.layer()),
  // The defaults are known to be fine.
  Layer.orDie
)

const jobTools = JobTools.layer().pipe(
  // The defaults are known to be fine.
  Layer.orDie
)

const shellTools = ShellTools.layer().pipe(
  Layer.provide(shell),
  // The defaults are known to be fine.
  Layer.orDie
)
