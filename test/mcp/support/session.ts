/** A session with todo list and jobs that is served over the protocol, on a memory log. */

import { Agents } from "@afterturn/agent/Agents"
import * as Approval from "@afterturn/agent/Approval"
import * as ExternalAgent from "@afterturn/agent/ExternalAgent"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as GoalConfig from "@afterturn/goals/GoalConfig"
import * as GoalDriver from "@afterturn/goals/GoalDriver"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import * as Goals from "@afterturn/goals/Goals"
import * as GoalTools from "@afterturn/goals/GoalTools"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import type { McpOptions } from "@afterturn/mcp/McpConfig"
import * as McpInbox from "@afterturn/mcp/McpInbox"
import * as McpPrompts from "@afterturn/mcp/McpPrompts"
import * as McpQuestions from "@afterturn/mcp/McpQuestions"
import * as McpServer from "@afterturn/mcp/McpServer"
import * as ReminderDelivery from "@afterturn/schedule/ReminderDelivery"
import * as Schedule from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import * as ScheduleTools from "@afterturn/schedule/ScheduleTools"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory } from "@afterturn/session-log/SessionLog"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import type { CallToolResult, ElicitResult } from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/client"
import { InMemoryTransport } from "@modelcontextprotocol/server"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"

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

const runtime = (options?: Partial<ExternalAgent.ExternalOptions>) =>
  Layer.provideMerge(ExternalAgent.layerRuntime({ introduction: "A test session.", ...options }), layerMemory)

const capabilities = Layer.mergeAll(
  TodoTools.layer,
  JobTools.layer(),
  JobDelivery.layer(),
  McpPrompts.layerPrompt(Effect.succeed(prompt)),
  McpPrompts.layerPrompt(Effect.succeed(withoutTool))
).pipe(
  Layer.provideMerge(Layer.mergeAll(Todo.layer, Jobs.layer(), McpPrompts.layer)),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: true, clearOn: "user-turn" }))
)

export const layer = capabilities.pipe(Layer.provideMerge(runtime()), Layer.orDie)

const Guarded = Toolkit.make(
  Tool.make("guarded", {
    description: "asks before it runs",
    parameters: { action: Schema.String },
    success: Schema.String
  })
)

/** With a tool that asks for approval, and answers what came of it. */
export const layerAsking = ToolRegistry.layerToolkit(Guarded, { package: "test", requires: [], writes: [] }).pipe(
  Layer.provide(
    Guarded.toLayer(
      Effect.map(Approval.Approval, (approval) => ({
        guarded: ({ action }: { readonly action: string }) =>
          Effect.map(approval.decide({ tool: "guarded", action }), (decision) =>
            decision._tag === "allowed" ? "ran" : decision.reason
          )
      }))
    )
  ),
  Layer.provide(Approval.layer({ policy: "ask", ask: McpQuestions.ask })),
  Layer.provideMerge(capabilities),
  Layer.provideMerge(runtime()),
  Layer.orDie
)

/** With reminders and goals as well. */
export const layerDriven = (options?: Partial<ExternalAgent.ExternalOptions>) =>
  Layer.mergeAll(ReminderDelivery.layer, ScheduleTools.layer(), GoalDriver.layer, GoalTools.layer).pipe(
    Layer.provide(Layer.merge(Schedule.layer, Goals.layer)),
    Layer.provide(Layer.mergeAll(ScheduleConfig.layer(), GoalConfig.layer(), GoalReferee.layerNone)),
    Layer.provideMerge(capabilities),
    Layer.provideMerge(runtime(options)),
    Layer.orDie
  )

/** The server of a new session. */
export const served = (options?: Partial<McpOptions>) =>
  Effect.flatMap(
    Effect.flatMap(Agents, (agents) => agents.create({ id })),
    (agent) => Effect.map(McpServer.make(agent, options), (server) => ({ agent, server }))
  )

/** A client of an earlier revision on a connection in memory. `answer` is what its user says to a form. */
export const connect = (server: McpServer.McpServer, answer?: AnswerForm) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const [near, far] = InMemoryTransport.createLinkedPair()
      const connection = await server.connect({ era: "legacy", isLasting: true })
      await connection.connect(far)
      const client = makeClient("legacy", answer)
      await client.connect(near)
      return client
    }),
    (client) => Effect.promise(() => client.close())
  )

export type AnswerForm = (form: { readonly message: string }) => Promise<ElicitResult>

/** A client that offers to ask its user where there is an answer. */
export const makeClient = (mode: "auto" | "legacy", answer?: AnswerForm): Client => {
  const capabilities = answer === undefined ? {} : { elicitation: {} }
  const client = new Client({ name: "tester", version: "1" }, { capabilities, versionNegotiation: { mode } })
  if (answer !== undefined) client.setRequestHandler("elicitation/create", ({ params }) => answer(params))
  return client
}

/** A call of a tool; a fiber that is interrupted cancels it. */
export const call = (client: Client, name: string, input: Record<string, unknown> = {}, options?: object) =>
  Effect.promise((signal) =>
    client.callTool({ name, arguments: input }, { signal, timeout: 3_600_000, ...options })
  ) as Effect.Effect<CallToolResult>

export const texts = (result: CallToolResult) =>
  result.content.map((block) => (block.type === "text" ? block.text : block.type))

/** What is announced to a client, as it comes. */
export const announcements = (client: Client): ReadonlyArray<string> => {
  const heard: Array<string> = []
  client.setNotificationHandler("notifications/message", ({ params }) => void heard.push(String(params.data)))
  return heard
}

/** The messages that wait, as the resource tells them. */
export const inbox = (client: Client) =>
  Effect.map(
    Effect.promise(() => client.readResource({ uri: McpInbox.uri })),
    ({ contents }) =>
      JSON.parse((contents[0] as { readonly text: string }).text).waiting as ReadonlyArray<{
        readonly source: Record<string, unknown>
        readonly opensTurn: boolean
        readonly text: string
      }>
  )

/** Waits until something sleeps on the test's clock for exactly so long. */
export const sleepsUntil = (millis: number) =>
  eventually(Effect.map(TestClock.sleeps(), (all) => Chunk.some(all, (instant) => instant === millis)))

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
