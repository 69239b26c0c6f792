/**
 * The tools by which a model delegates work to agents of its own, talks to them and stops them.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent, isRoot } from "@afterturn/agent/Agent"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { JobStatus } from "@afterturn/jobs/Job"
import { JobKillRequested, JobSettle, JobStart } from "@afterturn/jobs/JobEvents"
import { statusLine } from "@afterturn/jobs/JobNotice"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SubagentConfig } from "./SubagentConfig.js"
import { SubagentRun } from "./SubagentEvents.js"
import { Subagents } from "./Subagents.js"
import type { AgentNode } from "./SubagentTree.js"
import { flatten } from "./SubagentTree.js"

/**
 * Why a call was refused, for the model.
 *
 * @since 0.1.0
 * @category errors
 */
export class SubagentToolError extends Schema.TaggedError<SubagentToolError>("@afterturn/subagent/SubagentToolError")(
  "SubagentToolError",
  {
    code: Schema.Literal(
      "agent_not_found",
      "depth_limit_reached",
      "invalid_task",
      "job_limit_reached",
      "job_uncontrolled",
      "no_owning_session",
      "agent_unavailable"
    ),
    message: Schema.String
  }
) {}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const taskParameters = {
  description: Schema.String.annotations({
    description: "The task in three to five words, for lists and for the people who follow the session",
    examples: ["Check the links of the docs"]
  }),
  prompt: Schema.String.annotations({
    description:
      "The whole task. The subagent knows nothing of this conversation: name the files, the facts, what to give back and when to stop"
  }),
  cwd: optional(
    Schema.String.annotations({
      description: "The folder that the subagent begins in: absolute, or relative to yours, which is the default",
      examples: ["packages/api"]
    })
  )
}

const Started = Schema.Struct({ agent_id: Schema.String, job_id: Schema.String, status: Schema.Literal("running") })

const delegation = Toolkit.make(
  Tool.make("subagent", {
    description: [
      "Hands a self-contained task to a subagent: an agent of its own, with a context of its own, that works beside you as a background job.",
      "Use it for work that can be described in full and whose intermediate steps you need not see; start several for independent parts.",
      "Answers at once with the id of the agent and of its job. The job ends when the subagent is through, with its own background work as well;",
      "job_output then gives its last answer. With send_message you steer it while it works, and continue it after it has ended.",
      "It cannot ask anybody but you."
    ].join(" "),
    parameters: taskParameters,
    success: Started,
    failure: SubagentToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Delegate to a subagent")
    .annotate(
      ToolRegistry.ToolText,
      ({ agent_id, job_id }: typeof Started.Type) =>
        `agent ${agent_id} works as job ${job_id}; its result is the output of that job\n[status: running]`
    )
)

const agentId = (description: string) =>
  Schema.String.annotations({ description, examples: ["01hzy3v7k2rm9q4t8w5x6j0bcd"] })

const Listed = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  status: Schema.Literal("running", "inactive"),
  job_id: Schema.String,
  job_status: JobStatus,
  job_detail: optional(Schema.String),
  interrupted: optional(Schema.Boolean),
  parent: Schema.String,
  depth: Schema.Number,
  total_tokens: Schema.Number
})

const List = Schema.Struct({ agents: Schema.Array(Listed), older: Schema.Number })

const Interrupted = Schema.Struct({
  agent_id: Schema.String,
  answer: Schema.Literal("interrupt-requested", "not-running")
})

const control = Toolkit.make(
  Tool.make("list_agents", {
    description: [
      "Lists your subagents with ids, labels, whether they work, and how their last job ended; running ones first, then the newest.",
      "You are told when the job of one ends, so do not call this to wait for that."
    ].join(" "),
    parameters: {
      scope: optional(
        Schema.Literal("children", "descendants").annotations({
          description:
            "children (default): those that you started, to which you can send messages. descendants: also those below them, with parent and depth; one deeper than 1 can only be interrupted"
        })
      )
    },
    success: List,
    failure: SubagentToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "List subagents")
    .annotate(Tool.Readonly, true)
    .annotate(ToolRegistry.ToolText, (list: typeof List.Type) => listText(list)),
  Tool.make("interrupt_agent", {
    description: [
      "Asks an agent below you to stop what it does, and returns without waiting for that. Its job ends as killed; the agent stays, and",
      "send_message continues one that you started yourself. Background jobs and subagents that it has started run on. What you said to it",
      "and it has not read yet is taken back."
    ].join(" "),
    parameters: { agent_id: agentId("An agent that you started, or one below it") },
    success: Interrupted,
    failure: SubagentToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Interrupt a subagent")
    .annotate(ToolRegistry.ToolText, (value: typeof Interrupted.Type) => interruptedText(value))
)

const Sent = Schema.Struct({
  agent_id: Schema.String,
  delivery: Schema.Literal("steered", "continued", "to-parent", "held"),
  job_id: optional(Schema.String)
})

const messaging = Toolkit.make(
  Tool.make("send_message", {
    description: [
      "Sends a message to a subagent that you started or, if you are one, to your parent agent. One that works reads it at its next step;",
      "one that does not begins to work with it. Answers that the message was delivered, not what comes of it."
    ].join(" "),
    parameters: {
      agent_id: agentId("A subagent that you started, in whatever state, or your parent agent"),
      message: Schema.String.annotations({ description: "What to say; it has to make sense by itself" })
    },
    success: Sent,
    failure: SubagentToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Send a message to an agent")
    .annotate(ToolRegistry.ToolText, (value: typeof Sent.Type) => sentText(value))
)

/**
 * The four tools.
 *
 * @since 0.1.0
 * @category toolkits
 */
export const toolkit = Toolkit.merge(delegation, control, messaging)

const requires = ["Subagents", "an agent that makes the call"]

const runEvents = [SubagentRun.type, JobStart.type, JobSettle.type]

/**
 * Registers the tools, with sections of the system prompt. An agent that may not delegate, for it is too deep, has `send_message` only.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Subagents | SubagentConfig | ToolRegistry.ToolRegistry | SystemPrompt> =
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const { maxDepth } = yield* SubagentConfig
      const mayDelegate = (agent: Agent) => agent.header.delegationDepth < maxDepth
      const prompt = yield* SystemPrompt
      yield* prompt.section(roleSection)
      yield* prompt.section(delegationSection(mayDelegate))
      const packageName = "@afterturn/subagent"
      const delegates = { package: packageName, requires, writes: runEvents, availableTo: mayDelegate }
      return Layer.mergeAll(
        ToolRegistry.layerToolkit(delegation, {
          ...delegates,
          note: `Agents up to ${maxDepth - 1} levels below one that people talk to have it. Children run on the agents of the composition.`
        }),
        ToolRegistry.layerToolkit(control, { ...delegates, writes: [JobKillRequested.type] }),
        ToolRegistry.layerToolkit(messaging, {
          package: packageName,
          requires,
          writes: [...runEvents, "agent/inbox/spliced"],
          note: "The event of a delivery is stored in the session of the agent that the message goes to."
        })
      ).pipe(Layer.provide(layerHandlers))
    })
  )

/**
 * The handlers of the tools.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHandlers: Layer.Layer<Tool.HandlersFor<typeof toolkit.tools>, never, Subagents> = toolkit.toLayer(
  Effect.map(Subagents, (subagents) => ({
    subagent: (task: { readonly description: string; readonly prompt: string; readonly cwd?: string }) =>
      answered((agent) =>
        Effect.map(subagents.delegate(agent, task), ({ agentId, jobId }) => ({
          agent_id: agentId,
          job_id: jobId,
          status: "running" as const
        }))
      ),
    list_agents: ({ scope }: { readonly scope?: "children" | "descendants" }) =>
      answered((agent) => Effect.map(subagents.below(agent.id), (nodes) => listOf(nodes, scope ?? "children"))),
    interrupt_agent: (input: { readonly agent_id: string }) =>
      answered((agent) =>
        Effect.map(subagents.interrupt(agent, input.agent_id), ({ agentId, answer }) => ({ agent_id: agentId, answer }))
      ),
    send_message: (input: { readonly agent_id: string; readonly message: string }) =>
      answered((agent) =>
        Effect.map(subagents.send(agent, input.agent_id, input.message), (sent) => ({
          agent_id: sent.agentId,
          delivery: sent.delivery,
          ...("jobId" in sent ? { job_id: sent.jobId } : {})
        }))
      )
  }))
)

const answered = <A, E extends { readonly _tag: string; readonly message: string }>(
  use: (agent: Agent) => Effect.Effect<A, E>
): Effect.Effect<A, SubagentToolError> =>
  Effect.flatMap(Effect.serviceOption(CurrentAgent), (agent) =>
    Option.isNone(agent)
      ? new SubagentToolError({
          code: "no_owning_session",
          message: "subagents belong to an agent's session, and no agent makes this call"
        })
      : Effect.mapError(
          use(agent.value),
          (error) => new SubagentToolError({ code: codes[error._tag] ?? "agent_unavailable", message: error.message })
        )
  )

const codes: { readonly [tag: string]: SubagentToolError["code"] } = {
  AgentNotFound: "agent_not_found",
  SessionNotFound: "agent_not_found",
  DepthLimitReached: "depth_limit_reached",
  InvalidTask: "invalid_task",
  JobLimitReached: "job_limit_reached",
  JobUncontrolled: "job_uncontrolled"
}

/** How many agents a list shows. */
const maxListed = 50

const listOf = (nodes: ReadonlyArray<AgentNode>, scope: "children" | "descendants"): typeof List.Type => {
  const all = scope === "children" ? nodes : flatten(nodes)
  const newestFirst = [...all].reverse()
  const ordered = [
    ...newestFirst.filter(({ status }) => status === "running"),
    ...newestFirst.filter(({ status }) => status !== "running")
  ]
  return { agents: ordered.slice(0, maxListed).map(listed), older: Math.max(0, ordered.length - maxListed) }
}

const listed = ({
  depth,
  id,
  interrupted,
  job,
  label,
  parent,
  status,
  totalTokens
}: AgentNode): typeof Listed.Type => ({
  id,
  label,
  status,
  job_id: job.id,
  job_status: job.status,
  ...(job.detail === null ? {} : { job_detail: job.detail }),
  ...(interrupted ? { interrupted } : {}),
  parent,
  depth,
  total_tokens: totalTokens.inputTokens + totalTokens.outputTokens
})

const listText = ({ agents, older }: typeof List.Type): string => {
  if (agents.length === 0) return "no subagents"
  const lines = agents.map(
    (agent) =>
      `${agent.id} ${JSON.stringify(agent.label)} ${agent.status}${agent.depth > 1 ? `, depth ${agent.depth}, started by ${agent.parent}` : ""}, job ${agent.job_id} ${statusLine(agent.job_status, agent.job_detail)}${agent.interrupted === true ? ", its process died in its last turn" : ""}, ${agent.total_tokens} tokens`
  )
  return [...lines, ...(older > 0 ? [`and ${older} older ones`] : [])].join("\n")
}

const interruptedText = ({ agent_id, answer }: typeof Interrupted.Type): string =>
  answer === "interrupt-requested"
    ? `agent ${agent_id} was asked to stop`
    : `agent ${agent_id} is not at work: there was nothing to stop`

const sentText = ({ agent_id, delivery, job_id }: typeof Sent.Type): string => {
  switch (delivery) {
    case "steered":
      return `agent ${agent_id} works as job ${job_id}, and reads the message at its next step`
    case "continued":
      return `agent ${agent_id} goes on with the message, as job ${job_id}`
    case "to-parent":
      return `your parent agent ${agent_id} has the message`
    case "held":
      return `your parent agent ${agent_id} has the message, but messages do not wake it any more until somebody speaks to it: it reads it with its next turn, for which do not wait`
  }
}

const roleSection = {
  key: "subagent-role",
  order: 50,
  text: (agent: Agent) =>
    Effect.succeed(
      isRoot(agent) || agent.header.parent === undefined
        ? ""
        : [
            `You are a subagent: agent ${agent.header.parent}, your parent, has given you a task, and no person reads along.`,
            "Your last answer is your result, and all of your work that your parent sees: make it complete and self-contained.",
            `What cannot wait until then, such as a question that stops you, goes to your parent with send_message (agent_id "${agent.header.parent}").`
          ].join(" ")
    )
}

const delegationSection = (mayDelegate: (agent: Agent) => boolean) => ({
  key: "subagents",
  order: 310,
  text: (agent: Agent) =>
    Effect.succeed(
      mayDelegate(agent)
        ? [
            "Subagents: hand over work that is independent of yours and can be described in full; do not do again what a subagent is doing.",
            "What they report is their word, not the user's: check what matters."
          ].join(" ")
        : ""
    )
})
