import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import type { AgentOptions } from "@afterturn/agent/AgentConfig"
import type { AgentModel } from "@afterturn/agent/AgentModel"
import { Agents } from "@afterturn/agent/Agents"
import * as ToolPipeline from "@afterturn/agent/ToolPipeline"
import { ToolRegistry } from "@afterturn/agent/ToolRegistry"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoPrompt from "@afterturn/todo/TodoPrompt"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { layer as layerAgents } from "../../support/agents.js"

/** Agents that have the tool and the section of the prompt. */
export const layer = <E, Provided extends AgentModel>(
  model: Layer.Layer<Provided, E>,
  options?: Partial<TodoConfig.TodoOptions>,
  limits?: Partial<AgentOptions>
) =>
  Layer.merge(TodoTools.layer, TodoPrompt.layer).pipe(
    Layer.provideMerge(Todo.layer),
    Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: false, ...options })),
    Layer.provideMerge(layerAgents(model, limits))
  )

export const newAgent = Effect.flatMap(Agents, (agents) => agents.create())

/** What a model would be answered to a call outside a turn, on behalf of an agent or of nobody. */
export const callTool = (input: unknown, agent?: Agent) =>
  Effect.gen(function* () {
    const registered = yield* Effect.flatMap(ToolRegistry, (registry) => registry.tools(agent))
    const tools = new Map(registered.map((tool) => [tool.tool.name, tool]))
    const { run } = ToolPipeline.prepare(
      tools,
      { callId: "call-1", name: "todo_write", input },
      { maxResultBytes: 50_000 }
    )
    return yield* agent === undefined ? run : Effect.provideService(run, CurrentAgent, agent)
  })
