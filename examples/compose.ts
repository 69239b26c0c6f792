/**
 * Composing the layers in a program of one's own: an agent with a todo list, on an SQLite file, that is still there when the
 * program runs again. Replace the script by any `LanguageModel` of `@effect/ai`: `AgentModel.layer("anthropic:NAME")`.
 */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as SessionLog from "@afterturn/session-log/SessionLog/Sqlite"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import { Console, Effect, Layer } from "effect"

const model = ScriptedModel.layer({
  rules: [
    {
      on: "user",
      steps: [
        { calls: [{ tool: "todo_write", input: { todos: [{ content: "Feed the cat", status: "in_progress" }] } }] },
        { text: "I am on it." }
      ]
    }
  ],
  otherwise: [{ text: "Nothing left to do." }]
})

const runtime = TodoTools.layer.pipe(
  Layer.provideMerge(Todo.layer),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: false, clearOn: "user-turn" })),
  Layer.provideMerge(AgentLoop.layerRuntime({ introduction: "You are a helpful assistant." })),
  Layer.provideMerge(model),
  Layer.provideMerge(SessionLog.layerSqlite({ filename: "sessions.db" }))
)

const program = Effect.gen(function* () {
  const agents = yield* Agents
  const agent = yield* agents.create({ title: "A first session" })
  yield* agent.followup(AgentMessage.user("The cat is hungry."))
  yield* agent.whenIdle
  const todo = yield* Todo.Todo
  yield* Console.log(yield* todo.get(agent.id))
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(runtime)))

// output:
// [ { content: 'Feed the cat', status: 'in_progress' } ]
