import * as AgentMessage from "@afterturn/agent/AgentMessage"
import * as Effect from "effect/Effect"
import * as Support from "../support/agents.js"
import { declareAgentSeam } from "../support/contracts/AgentSeam.js"
import * as FakeModel from "../support/FakeModel.js"

const calls: Array<{ readonly name: string; readonly input: unknown }> = []

const model = FakeModel.make(() => {
  const call = calls.shift()
  return call === undefined ? { text: "done" } : { calls: [call] }
})

declareAgentSeam("the turn loop", {
  layer: Support.layer(model.layer),
  settle: (agent) => agent.whenIdle,
  act: (agent, name, input) =>
    Effect.gen(function* () {
      calls.push({ name, input })
      yield* Effect.orDie(agent.followup(AgentMessage.user(`call ${name}`)))
      yield* agent.whenIdle
    })
})
