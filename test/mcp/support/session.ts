/** A session with todo list and jobs that is served over the protocol, on a memory log. */
import { Agents } from "@afterturn/agent/Agents"
import * as ExternalAgent from "@afterturn/agent/ExternalAgent"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import type { McpOptions } from "@afterturn/mcp/McpConfig"
import * as McpPrompts from "@afterturn/mcp/McpPrompts"
import * as McpServer from "@afterturn/mcp/McpServer"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory } from "@afterturn/session-log/SessionLog"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import { Client } from "@modelcontextprotocol/client"
import { InMemoryTransport } from "@modelcontextprotocol/server"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const id = "s1" as SessionId

const prompt: McpPrompts.McpPrompt = {
  name: "todo",
  title: "Todo",
  description: "about todos",
  tool: "todo_write",
  argument: { name: "item", description: "what" },
  text: (agent, item) => Effect.succeed(`${agent.id}: ${item}`)
}

const withoutTool: McpPrompts.McpPrompt = { ...prompt, name: "missing", tool: "not_composed" }

export const layer = Layer.mergeAll(
  TodoTools.layer,
  JobTools.layer(),
  JobDelivery.layer(),
  McpPrompts.layerPrompt(Effect.succeed(prompt)),
  McpPrompts.layerPrompt(Effect.succeed(withoutTool))
).pipe(
  Layer.provideMerge(Layer.mergeAll(Todo.layer, Jobs.layer(), McpPrompts.layer)),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: true, clearOn: "user-turn" })),
  Layer.provideMerge(ExternalAgent.layerRuntime({ introduction: "A test session." })),
  Layer.provideMerge(layerMemory),
  Layer.orDie
)

/** The server of a new session. */
export const served = (options?: Partial<McpOptions>) =>
  Effect.flatMap(
    Effect.flatMap(Agents, (agents) => agents.create({ id })),
    (agent) => Effect.map(McpServer.make(agent, options), (server) => ({ agent, server }))
  )

/** A client of an earlier revision on a connection in memory. */
export const connect = (server: McpServer.McpServer) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const [near, far] = InMemoryTransport.createLinkedPair()
      const connection = await server.connect({ era: "legacy", isLasting: true })
      await connection.connect(far)
      const client = new Client({ name: "tester", version: "1" })
      await client.connect(near)
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

/** A job of the session that runs until it is let go. */
export const startJob = Effect.gen(function* () {
  const jobs = yield* Jobs.Jobs
  const done = yield* Deferred.make<void>()
  const job = yield* jobs.start(
    Job.make({ kind: "work", label: "work", owner: id }, (context) =>
      Effect.zipRight(context.write("hello\n"), Deferred.await(done))
    )
  )
  return { id: job.id, end: Deferred.succeed(done, undefined) }
})

/** Lets what runs beside the test go on until a condition holds; a turn of the event loop at a time, whatever clock there is. */
export const eventually = <E, R>(holds: Effect.Effect<boolean, E, R>): Effect.Effect<void, E, R> =>
  Effect.flatMap(holds, (done) =>
    done
      ? Effect.void
      : Effect.zipRight(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          Effect.suspend(() => eventually(holds))
        )
  )
