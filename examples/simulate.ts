/**
 * Testing an agent of one's own against bad days: a composition, what people ask of it, and a promise. Each seed is another day with a store
 * that fails, a provider that fails, and processes that die at any write. See the README of `@afterturn/testing`.
 */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as Simulation from "@afterturn/testing/Simulation"
import type { Scenario } from "@afterturn/testing/SimulationScenario"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoConfig from "@afterturn/todo/TodoConfig"
import * as TodoTools from "@afterturn/todo/TodoTools"
import { Console, Effect, Layer } from "effect"

const host = TodoTools.layer.pipe(
  Layer.provideMerge(Todo.layer),
  Layer.provideMerge(TodoConfig.layer({ allowParallelInProgress: true, clearOn: "every-turn" })),
  Layer.provideMerge(AgentLoop.layerRuntime())
)

const shopping: Scenario<Todo.Todo> = {
  name: "shopping",
  world: Effect.succeed({ host: () => host }),
  start: () => "2026-01-01T08:00:00.000Z",
  // What a person says, as what the model makes of it.
  say: (dice) => [
    {
      calls: [
        { tool: "todo_write", input: { todos: [{ content: `Buy ${dice.pick(["tea", "rice"])}`, status: "pending" }] } }
      ]
    },
    { text: "It is on the list." }
  ],
  // A promise of this agent's own, beside those that every session keeps.
  checks: {
    "one thing at a time": ({ sessions }) =>
      sessions.flatMap(({ events, id }) =>
        events
          .filter(({ data, type }) => type === "todo/write" && data.todos.length > 1)
          .map(({ seq }) => ({ session: id, seq, problem: "the list has more than one thing on it" }))
      )
  }
}

const program = Effect.gen(function* () {
  for (const seed of [1, 2, 3]) {
    const outcome = yield* Simulation.run(shopping, { seed })
    const shown = outcome.findings.length === 0 ? outcome : yield* Simulation.shrink(shopping, outcome)
    yield* Console.log(shown.findings.length === 0 ? `seed ${seed}: all holds` : Simulation.toText(shown))
  }
})

await Effect.runPromise(program)

// output:
// seed 1: all holds
// seed 2: all holds
// seed 3: all holds
