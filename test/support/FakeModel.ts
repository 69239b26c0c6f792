import { AgentModel } from "@afterturn/agent/AgentModel"
import type * as AiError from "@effect/ai/AiError"
import * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

/** One answer of the fake model, or what it does instead. */
export interface Reply {
  readonly text?: string
  readonly calls?: ReadonlyArray<{ readonly id?: string; readonly name: string; readonly input: unknown }>
  /** Parts as a provider would send them, in place of `text` and `calls`. */
  readonly parts?: ReadonlyArray<Response.StreamPartEncoded>
  readonly fail?: AiError.AiError
  /** Sends nothing and never ends. */
  readonly hang?: true
  /** Ends after its text, without a finish part. */
  readonly cut?: true
  /** Runs before the answer. */
  readonly first?: Effect.Effect<void>
}

/** A model that answers request N with `reply(N, prompt)`, and remembers what it was asked. */
export interface FakeModel {
  readonly requests: Array<LanguageModel.ProviderOptions>
  readonly prompts: Array<ReadonlyArray<Prompt.Message>>
  /** Done once request N (from 0) has arrived. */
  readonly asked: (request: number) => Effect.Effect<void>
  readonly layer: Layer.Layer<AgentModel>
}

export const make = (reply: (request: number, prompt: ReadonlyArray<Prompt.Message>) => Reply): FakeModel => {
  const requests: Array<LanguageModel.ProviderOptions> = []
  const prompts: Array<ReadonlyArray<Prompt.Message>> = []
  const arrivals = new Map<number, Deferred.Deferred<void>>()
  const arrival = (request: number) => {
    const known = arrivals.get(request) ?? Deferred.unsafeMake<void>(0 as never)
    arrivals.set(request, known)
    return known
  }
  const answer = (options: LanguageModel.ProviderOptions) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const request = requests.length
        requests.push(options)
        prompts.push(options.prompt.content)
        yield* Deferred.succeed(arrival(request), undefined)
        const made = reply(request, options.prompt.content)
        if (made.first !== undefined) yield* made.first
        if (made.fail !== undefined) return Stream.fail(made.fail)
        if (made.hang === true) return Stream.never
        return Stream.fromIterable(made.parts ?? partsOf(request, made))
      })
    )
  return {
    requests,
    prompts,
    asked: (request) => Effect.suspend(() => Deferred.await(arrival(request))),
    layer: Layer.effect(
      AgentModel,
      Effect.map(
        LanguageModel.make({
          generateText: () => Effect.dieMessage("the fake model only streams"),
          streamText: answer
        }),
        (model) => ({ route: "fake:model", model })
      )
    )
  }
}

/** A model that answers with these, one after the other, and `done` after that. */
export const replies = (...list: ReadonlyArray<Reply>): FakeModel =>
  make((request) => list[request] ?? { text: "done" })

const partsOf = (request: number, reply: Reply): ReadonlyArray<Response.StreamPartEncoded> => [
  ...(reply.text === undefined
    ? []
    : [
        { type: "text-start" as const, id: "t" },
        { type: "text-delta" as const, id: "t", delta: reply.text },
        { type: "text-end" as const, id: "t" }
      ]),
  ...(reply.calls ?? []).map((call, index) => ({
    type: "tool-call" as const,
    id: call.id ?? `call-${request}-${index}`,
    name: call.name,
    params: call.input
  })),
  ...(reply.cut === true ? [] : [finish(reply.calls === undefined ? "stop" : "tool-calls")])
]

export const finish = (reason: Response.FinishReason): Response.StreamPartEncoded => ({
  type: "finish",
  reason,
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
})
