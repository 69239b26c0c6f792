// The peers' system, put together as their own hosts do, and the agents that it is measured with.
import { register } from "node:module"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import zlib from "node:zlib"
import { peersFolder } from "./folder.mjs"

Promise.withResolvers ??= function () {
  let settle
  const promise = new this((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle }
}

if (zlib.zstdCompress === undefined) {
  const parentURL = pathToFileURL(join(peersFolder, "package.json")).href
  register("./hooks.mjs", import.meta.url, { data: { parentURL } })
}

const many = 1_000_000_000

const peer = (name) => import(`@deepseek-ai/${name}`)

/**
 * `root` is the folder of the sessions' files; without it nothing is stored. `loop`: with a model that answers at once.
 * `projections`: folds of the session, which only a resume is asked for. `jobs`: without a limit of jobs at a time; `notices`: with the
 * tools and notices about them.
 */
export const start = async ({ jobs = false, loop = false, notices = false, projections = false, root } = {}) => {
  const { Context } = await peer("cordis")
  const context = new Context()
  await context.plugin((await peer("dsh-session")).SessionStore)
  await context.plugin((await peer("dsh-system-prompt")).SystemPrompt, {})
  await context.plugin((await peer("dsh-tools")).ToolRuntime, {})
  await context.plugin((await peer("dsh-agent")).AgentRegistry)
  if (root !== undefined) {
    const { JsonlSessionPersistence } = await peer("dsh-session-persistence-jsonl")
    await context.plugin(JsonlSessionPersistence, { root, compression: "none" })
  }
  await context.plugin(await peer("dsh-tool-todo"), { allowParallelInProgress: true })
  if (projections) {
    const projection = await peer("dsh-session-projection")
    await context.plugin(projection.default ?? projection, {})
  }
  if (jobs) {
    await context.plugin((await peer("dsh-jobs-local")).LocalJobRegistry, { maxConcurrentJobsPerOwner: many })
  }
  if (notices) await context.plugin(await peer("dsh-tool-jobs"), { maxConsecutiveWakes: many })
  if (!loop) return { context }
  const model = await addModel(context)
  return { context, model }
}

/** A model that answers what `answers` holds, then a text. */
const addModel = async (context) => {
  const { LlmAdapter, LlmRuntime } = await peer("dsh-llm")
  await context.plugin(LlmRuntime, {})
  await context.plugin((await peer("dsh-agent-loop")).AgentLoop, { agents: [] })
  class Model extends LlmAdapter {
    answers = []
    askedAt = 0
    async *stream() {
      this.askedAt = performance.now()
      const calls = this.answers.shift()
      if (calls === undefined) yield* text("All of it is done.")
      else for (const [index, call] of calls.entries()) yield* callParts(index, call)
      yield { type: "finish", reason: { kind: calls === undefined ? "stop" : "tool-calls" } }
    }
  }
  const model = new Model()
  context.llm.registerAdapter(["fake"], model)
  return model
}

const text = (said) => [
  { type: "block-start", index: 0, blockType: "text" },
  { type: "text-delta", index: 0, text: said },
  { type: "block-end", index: 0, block: { type: "text", text: said } }
]

const callParts = (index, { id, input, name }) => {
  const argumentsText = JSON.stringify(input)
  return [
    { type: "block-start", index, blockType: "tool-call" },
    { type: "tool-call-delta", index, id, name, argumentsDelta: argumentsText },
    { type: "block-end", index, block: { type: "tool-call", id, name, arguments: argumentsText } }
  ]
}

export const liveAgent = async (context, sessionId) =>
  (await context.agents.create({ sessionId, agentOptions: { provider: "fake", model: "m" } })).agent

export const resumeAgent = async (context, resumeSessionId) =>
  (await context.agents.resume({ resumeSessionId, agentOptions: { provider: "fake", model: "m" } })).agent

/** The least that the tools take for an agent: no loop around them. */
export const bareAgent = async (context, id) => {
  const { createScope } = await peer("dsh-scope")
  const agent = {
    id,
    session: context.sessions.create(id, { meta: { cwd: "/tmp" } }),
    status: "idle",
    options: {},
    inject: () => undefined,
    followup: () => undefined,
    whenIdle: async () => undefined
  }
  agent.scope = createScope(context, agent)
  agent.ctx = agent.scope.ctx.extend({ agent })
  context.agents.register(agent)
  return agent
}

export const userMessage = async (said) =>
  (await peer("dsh-llm")).createUserMessage({ content: [{ type: "text", text: said }], source: { kind: "user" } })

export const assistantMessage = async (said) =>
  (await peer("dsh-llm")).createAssistantMessage({
    content: [{ type: "text", text: said }],
    source: { provider: "fake", model: "m" }
  })

export const stop = ({ context }) => context.fiber.dispose()
