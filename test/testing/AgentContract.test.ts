import type { Agent } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import * as AgentContract from "@afterturn/testing/AgentContract"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

/** The turn loop, whose agents a fault was built into. */
const broken = (fault: (agent: Agent) => Partial<Agent>): AgentContract.Runtime => {
  const agents = Layer.effect(
    Agents,
    Effect.map(Agents, (real) => ({
      ...real,
      create: (options?: Parameters<typeof real.create>[0]) =>
        Effect.map(real.create(options), (agent) => ({ ...agent, ...fault(agent) }))
    }))
  )
  return {
    layer: Layer.provideMerge(agents, Support.layer(FakeModel.replies().layer)),
    settle: (agent) => agent.whenIdle,
    act: () => Effect.void
  }
}

const run = (runtime: AgentContract.Runtime, name: RegExp) => {
  const found = AgentContract.cases(runtime).filter((each) => name.test(each.name))
  assert.lengthOf(found, 1)
  return Effect.exit(found[0]?.run ?? Effect.void)
}

describe("AgentContract", () => {
  it.effect("holds for a runtime that keeps it", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        (yield* run(
          broken(() => ({})),
          /^delivers each followup/
        ))._tag,
        "Success"
      )
    })
  )

  it.effect("finds a runtime that wakes for what only waits, refuses nothing or runs two maintenances", () =>
    Effect.gen(function* () {
      const wakes = broken((agent) => ({ inject: agent.steer }))
      assert.strictEqual((yield* run(wakes, /^delivers each followup/))._tag, "Failure")
      const careless = broken((agent) => ({ inject: (message) => agent.inject(message) }))
      assert.strictEqual((yield* run(careless, /^stores what goes along/))._tag, "Failure")
      const crowded = broken(() => ({ runMaintenance: (effect) => effect }))
      assert.strictEqual((yield* run(crowded, /^runs maintenance alone/))._tag, "Failure")
    })
  )
})
