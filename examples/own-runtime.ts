/**
 * An agent runtime of one's own, for one that decides what to do elsewhere: it calls the session's tools and is handed, with each
 * answer, what waits. It keeps the contract of the agent seam, which is run over it at the end, so that every capability works with it.
 */
import type { Agent } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as ExternalAgent from "@afterturn/agent/ExternalAgent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as AgentContract from "@afterturn/testing/AgentContract"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import { Console, Duration, Effect, Layer } from "effect"

const route = "example:robot"

const host = ExternalAgent.layerRuntime({ quietPeriod: Duration.millis(1) }).pipe(
  Layer.provideMerge(SessionLog.layerMemory)
)

const runtime = TodoTools.layer.pipe(
  Layer.provideMerge(Todo.layer),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: false, clearOn: "user-turn" })),
  Layer.provideMerge(host)
)

const program = Effect.gen(function* () {
  const agents = yield* Agents
  const robots = yield* ExternalAgent.ExternalAgents
  const agent = yield* agents.create()
  yield* agent.inject(AgentMessage.text({ kind: "system" }, "The kettle is on."))
  const todos = [{ content: "Pour the tea", status: "in_progress" }]
  const answer = yield* robots.call(agent.id, { name: "todo_write", input: { todos }, route })
  yield* Console.log(answer.outcome.text)
  for (const message of answer.handed) yield* Console.log(`handed over: ${AgentMessage.toText(message.content)}`)
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(runtime)))

const call = (agent: Agent, name: string, input: unknown) =>
  Effect.flatMap(ExternalAgent.ExternalAgents, (robots) => Effect.orDie(robots.call(agent.id, { name, input, route })))

/** Takes what waits: any call does, also one of a tool that is not there. */
const takeAll = (agent: Agent): Effect.Effect<void, never, ExternalAgent.ExternalAgents> =>
  Effect.gen(function* () {
    const { handed } = yield* call(agent, "nothing", {})
    yield* agent.whenIdle
    if (handed.length > 0) yield* takeAll(agent)
  })

for (const { name, run } of AgentContract.cases<ExternalAgent.ExternalAgents>({
  layer: host,
  settle: takeAll,
  act: (agent, name, input) => Effect.asVoid(call(agent, name, input))
})) {
  await Effect.runPromise(run)
  console.log(`kept: ${name}`)
}

// output:
// 1 todo: 0 completed, 1 in progress, 0 pending.
// handed over: The kettle is on.
// kept: delivers each followup in a turn of its own, in order, and what was injected along with the first
// kept: stores what goes along with a message, on its condition, and takes out what it replaces
// kept: keeps notices and reminders when it is cancelled, and drops what the user had queued
// kept: runs maintenance alone, and delivers afterwards what came meanwhile
// kept: gives its tools the agent that calls, and answers what a handler does wrong
// kept: releases its extensions while the session may be written to, and its lease at the end
// kept: closes what a process left open when it died, answers its calls and delivers what waited
