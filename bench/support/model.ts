/** Models that answer at once: what is measured is everything around them. */
import { CurrentAgent } from "@afterturn/agent/Agent"
import { AgentModel } from "@afterturn/agent/AgentModel"
import * as Response from "@effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

export interface Call {
  readonly name: string
  readonly input: unknown
}

/**
 * Answers a request of an agent with calls, or with a text when there are none; `request` counts those of the agent. The parts are what
 * a provider's answer becomes once it is decoded: reading a wire format is the providers' work.
 */
export const layer = (answer: (request: number) => ReadonlyArray<Call>): Layer.Layer<AgentModel> => {
  const requests = new Map<string, number>()
  const parts = (agent: string): ReadonlyArray<Response.AnyPart> => {
    const request = requests.get(agent) ?? 0
    requests.set(agent, request + 1)
    const calls = answer(request)
    return calls.length === 0
      ? done
      : [...calls.map((call, index) => callPart(call, request, index)), finish("tool-calls")]
  }
  const onlyStreams = () => Effect.dieMessage("this model only streams")
  return Layer.succeed(AgentModel, {
    route: "bench:model",
    model: {
      generateText: onlyStreams,
      generateObject: onlyStreams,
      streamText: () => Stream.unwrap(Effect.map(CurrentAgent, ({ id }) => Stream.fromIterable(parts(id)))) as never
    }
  })
}

const callPart = (call: Call, request: number, index: number) =>
  Response.makePart("tool-call", {
    id: `call-${request}-${index}`,
    name: call.name,
    params: call.input,
    providerExecuted: false
  })

const finish = (reason: Response.FinishReason) =>
  Response.makePart("finish", {
    reason,
    usage: new Response.Usage({ inputTokens: 100, outputTokens: 10, totalTokens: 110 })
  })

const done = [
  Response.makePart("text-start", { id: "t" }),
  Response.makePart("text-delta", { id: "t", delta: "All of it is done." }),
  Response.makePart("text-end", { id: "t" }),
  finish("stop")
]
