/** Models that answer at once: what is measured is everything around them. */
import { CurrentAgent } from "@afterturn/agent/Agent"
import { AgentModel } from "@afterturn/agent/AgentModel"
import * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Response from "@effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

export interface Call {
  readonly name: string
  readonly input: unknown
}

/** Answers a request of an agent with calls, or with a text when there are none; `request` counts those of the agent. */
export const layer = (answer: (request: number) => ReadonlyArray<Call>): Layer.Layer<AgentModel> => {
  const requests = new Map<string, number>()
  const parts = (agent: string): ReadonlyArray<Response.StreamPartEncoded> => {
    const request = requests.get(agent) ?? 0
    requests.set(agent, request + 1)
    const calls = answer(request)
    return calls.length === 0
      ? done
      : [...calls.map((call, index) => callPart(call, request, index)), finish("tool-calls")]
  }
  return Layer.effect(
    AgentModel,
    Effect.map(
      LanguageModel.make({
        generateText: () => Effect.dieMessage("this model only streams"),
        streamText: () => Stream.unwrap(Effect.map(CurrentAgent, ({ id }) => Stream.fromIterable(parts(id)))) as never
      }),
      (model) => ({ route: "bench:model", model })
    )
  )
}

const callPart = (call: Call, request: number, index: number): Response.StreamPartEncoded => ({
  type: "tool-call",
  id: `call-${request}-${index}`,
  name: call.name,
  params: call.input
})

const finish = (reason: Response.FinishReason): Response.StreamPartEncoded => ({
  type: "finish",
  reason,
  usage: { inputTokens: 100, outputTokens: 10, totalTokens: 110 }
})

const done: ReadonlyArray<Response.StreamPartEncoded> = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "All of it is done." },
  { type: "text-end", id: "t" },
  finish("stop")
]
