/**
 * One life of the session that is killed again and again: resumes it on a real file, gives its agent messages while turns run,
 * and says on stdout what was acknowledged. `Orders` come as the only argument.
 */
import { writeSync } from "node:fs"
import type { Agent } from "@afterturn/agent/Agent"
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as NodeHost from "@afterturn/session-log/Host/Node"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import { SessionStore } from "@afterturn/session-log/SessionStore"
import * as SqliteStore from "@afterturn/session-log/SessionStore/Sqlite"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { random } from "../support/random.js"
import type { Orders, Saying } from "./protocol.js"

const orders = JSON.parse(process.argv[2] ?? "") as Orders
const session = SessionId.make(orders.session)

/** Straight to the pipe: a buffer would die with the process. */
const say = (saying: Saying): void => {
  const line = Buffer.from(`${JSON.stringify(saying)}\n`)
  for (let written = 0; written < line.length; ) written += writeSync(1, line, written)
}

const die = (): void => {
  process.kill(process.pid, "SIGKILL")
}

let commits = 0

/** The store, telling of each commit that it answers for; this is where a life may be ordered to end. */
const watched = (store: (typeof SessionStore)["Service"]): (typeof SessionStore)["Service"] => ({
  ...store,
  commit: (requests) =>
    Effect.suspend(() => {
      const commit = ++commits
      const isLast = orders.death?.commit === commit
      if (isLast && orders.death?.when === "before") die()
      return Effect.map(store.commit(requests), (results) => {
        if (isLast) die()
        results.forEach((result, index) => {
          const request = requests[index]
          if (result._tag !== "committed" || request?.sessionId !== session) return
          const events = request.events.map(({ data, type }) => ({ type, data }))
          say({ _tag: "committed", firstSeq: result.firstSeq, events })
        })
        return results
      })
    })
})

const store = Layer.map(SqliteStore.layer({ filename: orders.filename }), (context) =>
  Context.add(context, SessionStore, watched(Context.get(context, SessionStore)))
)

/** A tool that takes its time, so that lives end in the middle of one. */
const pause = Toolkit.make(Tool.make("pause", { description: "Waits for some milliseconds.", success: Schema.String }))

const pauseTool = ToolRegistry.layerToolkit(pause, { package: "bench", requires: [], writes: [] }).pipe(
  Layer.provide(pause.toLayer({ pause: () => Effect.as(Effect.sleep("4 millis"), "rested") }))
)

const todos = (...statuses: ReadonlyArray<string>) => ({
  todos: statuses.map((status, index) => ({ content: `step ${index + 1}`, status }))
})

const model = ScriptedModel.layer(
  {
    rules: [
      { on: "system", repeat: true, steps: [{ text: "Noted." }] },
      {
        on: "any",
        repeat: true,
        steps: [
          { text: "Let me plan.", calls: [{ tool: "todo_write", input: todos("in_progress", "pending") }] },
          {
            calls: [
              { tool: "pause", input: {} },
              { tool: "todo_write", input: todos("completed", "in_progress") },
              { tool: "no_such_tool", input: {} }
            ]
          },
          { calls: [{ tool: "todo_write", input: todos("completed", "completed") }] },
          { text: "All of it is done." }
        ]
      }
    ]
  },
  { deltaDelay: "1 millis" }
)

const runtime = Layer.mergeAll(TodoTools.layer, pauseTool).pipe(
  Layer.provideMerge(Todo.layer),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: true, clearOn: "user-turn" })),
  Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" })),
  Layer.provideMerge(model),
  Layer.provideMerge(SessionLog.layerOver(store, { snapshotEvery: 20 })),
  Layer.provide(NodeHost.layer)
)

const chance = random(orders.seed)

const sources: readonly [AgentMessage.MessageSource, ...ReadonlyArray<AgentMessage.MessageSource>] = [
  { kind: "user" },
  { kind: "agent", sessionId: SessionId.make("another") },
  { kind: "job-notice", jobs: ["bash-1"] }
]

/** Every way into the inbox, by every kind of sender whose messages are kept in a different way. */
const send = (agent: Agent, text: string) => {
  const message = AgentMessage.text(chance.pick(sources), text)
  const way = chance.pick([
    agent.followup,
    agent.followup,
    agent.steer,
    () => agent.inject(AgentMessage.text({ kind: "system" }, text))
  ])
  return Effect.map(way(message), ({ id }) => say({ _tag: "accepted", id, text }))
}

const work = Effect.fnUntraced(function* (agent: Agent) {
  for (let number = 1; number <= orders.messages; number++) {
    yield* send(agent, `message ${number} of life ${orders.life}`)
    yield* Effect.sleep(chance.below(25))
  }
  yield* agent.whenIdle
  say({ _tag: "quiet" })
  // For the parent to kill.
  yield* Effect.never
})

const finish = Effect.fnUntraced(function* (agent: Agent) {
  const text = "the last message"
  const { id } = yield* agent.followup(AgentMessage.user(text))
  say({ _tag: "accepted", id, text })
  yield* agent.whenIdle
})

const program = Effect.gen(function* () {
  const agents = yield* Agents
  const log = yield* SessionLog.SessionLog
  const agent = (yield* log.exists(session)) ? yield* agents.resume(session) : yield* agents.create({ id: session })
  say({ _tag: "alive" })
  yield* orders.last === true ? finish(agent) : work(agent)
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(runtime)))
say({ _tag: "quiet" })
