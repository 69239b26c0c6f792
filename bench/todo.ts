/** `todo_write` through the whole pipeline of a live agent: read the call, log it, write the list, log the result. */
import { join } from "node:path"
import type { Agent } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Effect from "effect/Effect"
import type { Runtime } from "./support/agents.js"
import { memory, openAgents, sqlite } from "./support/agents.js"
import type { Measured, Sides } from "./support/measure.js"
import { interleave, measure, speedup } from "./support/measure.js"
import type { Call } from "./support/model.js"
import * as Model from "./support/model.js"
import { Peers } from "./support/peers.js"
import { Report, rounds } from "./support/report.js"
import { scratchFolder } from "./support/scratch.js"

/** What one side does in a round: agents take a turn each, one after the other, and make so many calls in it. */
interface Shape {
  readonly agents: number
  readonly calls: number
  readonly callsPerStep: number
  readonly toolConcurrency: number
}

/** One answer of the model with many calls: the pipeline, and almost nothing of the loop around it. */
const oneByOne: Shape = { agents: 2, calls: 96, callsPerStep: 96, toolConcurrency: 1 }
const together: Shape = { ...oneByOne, toolConcurrency: 8 }
/** As a model works: call, read the result, call again. */
const stepByStep: Shape = { agents: 2, calls: 24, callsPerStep: 1, toolConcurrency: 8 }

const todos = (items: number, call: number) => ({
  todos: Array.from({ length: items }, (_, index) => ({
    content: `${call}-${index}: do what this step of the plan says before the next`,
    status: index < items / 2 ? "completed" : "pending"
  }))
})

/** A model that makes its calls, so many in a step, then says that it is done. */
const caller = (items: number, { calls, callsPerStep }: Shape) =>
  Model.layer((request) => {
    const made = request * callsPerStep
    return made >= calls
      ? []
      : Array.from(
          { length: callsPerStep },
          (_, index): Call => ({ name: "todo_write", input: todos(items, made + index) })
        )
  })

interface Side {
  readonly shape: Shape
  readonly runtime: Runtime
}

/** Fresh agents each round, so that histories stay short; making them is not measured. */
const round = ({ runtime, shape }: Side): Promise<Measured> =>
  runtime.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const agents = yield* Agents
        const made = yield* Effect.all(Array.from({ length: shape.agents }, () => agents.create()))
        const work = Effect.forEach(made, takeTurn, { discard: true })
        return yield* Effect.promise(() => measure(shape.agents * shape.calls, () => runtime.runPromise(work)))
      })
    )
  )

const takeTurn = (agent: Agent) => Effect.zipRight(agent.followup(AgentMessage.user("go on")), agent.whenIdle)

const compare = async (report: Report, peers: Peers | undefined, items: number): Promise<void> => {
  const folder = scratchFolder("todo")
  const sides: Record<string, Side> = {}
  for (const durability of [undefined, "normal", "full"] as const) {
    for (const [name, shape] of Object.entries({
      "one by one": oneByOne,
      "8 at a time": together,
      "one a step": stepByStep
    })) {
      const where = durability === undefined ? "in memory" : `SQLite ${durability.toUpperCase()}`
      const store = durability === undefined ? memory : sqlite(join(folder, `${durability} ${name}.db`), durability)
      const { toolConcurrency } = shape
      sides[`${where}, ${name}`] = { shape, runtime: openAgents(store, caller(items, shape), { toolConcurrency }) }
    }
  }
  const ours = Object.fromEntries(Object.entries(sides).map(([name, side]) => [name, () => round(side)]))
  const found = await interleave(rounds, { ...(peers === undefined ? {} : peerSides(peers, items)), ...ours })
  report.compare(`todo_write calls a second, ${items} items`, found, peers === undefined ? undefined : durablePeer)
  for (const { runtime } of Object.values(sides)) await runtime.dispose()
  if (peers === undefined) return
  for (const name of ["SQLite NORMAL, one by one", "SQLite NORMAL, 8 at a time", "SQLite FULL, 8 at a time"]) {
    const faster = speedup(found[name] ?? [], found[durablePeer] ?? [])
    report.aim(`${items} items, ${name}: ≥ 5 × the peers' durable calls`, faster, (it) => it >= 5)
  }
}

const durablePeer = "peers: without a loop, flushed after each call"

const peerSides = (peers: Peers, items: number): Sides => ({
  "peers: without a loop, in memory": () => peers.measure("todo", { count: 200, flush: false, items }),
  [durablePeer]: () => peers.measure("todo", { count: 60, flush: true, items }),
  "peers: one a step of their loop, flushed after the turn": () =>
    peers.measure("todoTurns", { turns: 4, callsPerTurn: 24, items })
})

const report = new Report("todo")
const peers = await Peers.start(report)
await compare(report, peers, 10)
await compare(report, peers, 100)
report.note(
  "The peers' flush is a disk sync, as a commit is under FULL; NORMAL survives the end of the process, not a power loss. A call " +
    "of ours is three commits, one after the other: tool/call, todo/write, tool/result; a call of theirs without a loop is one event."
)
peers?.stop()
report.print()
