import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Compaction } from "@afterturn/agent/Compaction"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import { Todo } from "@afterturn/todo/Todo"
import type { TodoItem } from "@afterturn/todo/TodoItem"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as FakeModel from "../support/FakeModel.js"
import { layer, newAgent } from "./support/agents.js"
import { item } from "./support/todos.js"

const notice = AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "bash-1 completed")

const render = (todos: ReadonlyArray<TodoItem>) =>
  Effect.gen(function* () {
    const agent = yield* newAgent
    const todo = yield* Todo
    yield* todo.write(agent.id, todos)
    return yield* Effect.flatMap(SystemPrompt, (prompt) => prompt.render(agent))
  }).pipe(Effect.scoped, Effect.provide(layer(FakeModel.replies().layer, { clearOn: "user-turn" })))

const occurrences = (text: string, part: string) => text.split(part).length - 1

/** A request as the model reads it. */
const textOf = (model: FakeModel.FakeModel, request: number) => JSON.stringify(model.prompts[request])

describe("the section", () => {
  it.effect("states the list as a checklist", () =>
    Effect.gen(function* () {
      const prompt = yield* render([item("plan", "completed"), item("build", "in_progress"), item("test")])
      assert.include(prompt, "The todo list as this turn starts:\n[x] plan\n[~] build\n[ ] test")
    })
  )

  it.effect("is left out of a prompt without todos", () =>
    Effect.gen(function* () {
      assert.notInclude(yield* render([]), "todo")
    })
  )

  it.effect("shows whole todos of a long list and counts the rest", () =>
    Effect.gen(function* () {
      const long = Array.from({ length: 5 }, (_, n) => item(`${n}${"x".repeat(7_000)}`))
      const prompt = yield* render(long)
      assert.strictEqual(occurrences(prompt, "[ ] "), 2)
      assert.include(prompt, "\n(3 more, left out here)")
    })
  )

  it.scoped("is there in a turn that keeps the list and gone in one that clears it", () => {
    const call = { name: "todo_write", input: { todos: [item("a task of its own")] } }
    const model = FakeModel.replies({ calls: [call] }, { text: "begun" }, { text: "on with it" }, { text: "new task" })
    return Effect.gen(function* () {
      const agent = yield* newAgent
      for (const message of [AgentMessage.user("begin"), notice, AgentMessage.user("unrelated")]) {
        yield* agent.followup(message)
        yield* agent.whenIdle
      }
      assert.notInclude(textOf(model, 0), "The todo list")
      assert.notInclude(textOf(model, 1), "The todo list")
      assert.include(textOf(model, 2), "The todo list as this turn starts:\\n[ ] a task of its own")
      assert.notInclude(textOf(model, 3), "The todo list")
    }).pipe(Effect.provide(layer(model.layer, { clearOn: "user-turn" })))
  })

  it.scoped("shows the list once after the transcript that held it was summarized", () => {
    const list = [item("alpha", "completed"), item("beta"), item("gamma"), item("delta")]
    const call = { name: "todo_write", input: { todos: list } }
    const model = FakeModel.replies({ calls: [call] }, { text: "x".repeat(1000) }, { text: "on with it" })
    const summarizer = Layer.succeed(Compaction, {
      summarize: () => Effect.succeed({ summary: "work is under way", kept: [] })
    })
    return Effect.gen(function* () {
      const todo = yield* Todo
      const agent = yield* newAgent
      yield* agent.followup(AgentMessage.user("begin"))
      yield* agent.whenIdle
      yield* agent.followup(notice)
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* todo.get(agent.id), list)
      assert.include(textOf(model, 2), "work is under way")
      for (const { content } of list) assert.strictEqual(occurrences(textOf(model, 2), content), 1, content)
    }).pipe(
      Effect.provide(layer(Layer.merge(model.layer, summarizer), { clearOn: "user-turn" }, { maxHistoryTokens: 50 }))
    )
  })

  it.effect("is left out when the list cannot be read, and the turn goes on", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.scoped(newAgent)
      const prompt = yield* SystemPrompt
      // A session that does not exist stands for any that cannot be read.
      const text = yield* prompt.render({ ...agent, id: `${agent.id}-gone` as typeof agent.id })
      assert.notInclude(text, "todo")
      assert.include(text, "this turn starts")
    }).pipe(Effect.provide(layer(FakeModel.replies().layer)))
  )
})
