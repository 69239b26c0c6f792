/** A model whose answers are in what it is told, so that it answers the same after a crash. */
import { AgentModel } from "@afterturn/agent/AgentModel"
import * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { toAiError } from "../../ScriptStep.js"
import type { Reply } from "../../SimulationStep.js"
import { callParts, finishPart, textParts, wholeParts } from "../responseParts.js"
import type { Coverage } from "./coverage.js"

/** Failures of the provider that a step has asked for. */
export interface Provider {
  left: number
  status: number
}

/** What the model makes of a message that carries no answers. */
export type Answer = (text: string) => ReadonlyArray<Reply>

const marker = "Simulated: "

/** What a person says so that the model answers this. */
export const asking = (replies: ReadonlyArray<Reply>): string => `${marker}${JSON.stringify(replies)}`

export const layer = (name: string, provider: Provider, answer: Answer, coverage: Coverage): Layer.Layer<AgentModel> =>
  Layer.effect(
    AgentModel,
    Effect.gen(function* () {
      const streamText = ({ prompt }: LanguageModel.ProviderOptions) =>
        Stream.suspend(() => {
          if (provider.left > 0) {
            provider.left--
            coverage.count("provider", String(provider.status))
            return Stream.fail(toAiError(name, provider.status === 0 ? {} : { status: provider.status }))
          }
          const parts = partsOf(prompt, replyTo(prompt, answer))
          return Stream.rechunk(Stream.fromIterable([...parts, finishPart(prompt, parts)]), 1)
        })
      const model = yield* LanguageModel.make({
        streamText,
        generateText: (options) => Effect.map(Stream.runCollect(streamText(options)), wholeParts)
      })
      return { route: name, model }
    })
  )

/** The answer that is due: the last words that were said, and how many answers came since. */
const replyTo = ({ content }: Prompt.Prompt, answer: Answer): Reply => {
  const last = content.findLastIndex(({ role }) => role === "user")
  const first = content.findLastIndex(({ role }, index) => index < last && role !== "user") + 1
  const said = content.slice(first, last + 1).flatMap(textsOf)
  const plan = said.findLast((text) => text.includes(marker))
  const replies = plan === undefined ? answer(said.join("\n")) : repliesIn(plan)
  const given = content.slice(last + 1).filter(({ role }) => role === "assistant").length
  return replies[given] ?? { text: "Done." }
}

const textsOf = (message: Prompt.Message): ReadonlyArray<string> =>
  typeof message.content === "string"
    ? [message.content]
    : message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))

const repliesIn = (text: string): ReadonlyArray<Reply> => {
  const from = text.indexOf(marker) + marker.length
  return JSON.parse(text.slice(from).split("\n")[0] ?? "[]") as ReadonlyArray<Reply>
}

const partsOf = ({ content }: Prompt.Prompt, reply: Reply): ReadonlyArray<Response.StreamPartEncoded> => [
  ...textParts(reply.text ?? "", 64),
  ...(reply.calls ?? []).flatMap(({ input, tool }, index) =>
    callParts({ id: `call-${content.length}-${index + 1}`, tool, params: JSON.stringify(input ?? null) }, 4096)
  )
]
