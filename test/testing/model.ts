import { AgentModel } from "@afterturn/agent/AgentModel"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import type * as Script from "@afterturn/testing/Script"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import type * as ScriptStep from "@afterturn/testing/ScriptStep"
import type * as Prompt from "@effect/ai/Prompt"
import type * as Response from "@effect/ai/Response"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

const Look = Tool.make("look", {
  parameters: { at: Schema.String },
  success: Schema.Struct({ at: Schema.String, count: Schema.Number })
})
export const toolkit = Toolkit.make(Look)

/** The parts of the answer to one prompt, outside of an agent, and the error that ended it. */
export const partsOf = (prompt: Prompt.RawInput) =>
  Effect.gen(function* () {
    const { model } = yield* AgentModel
    const parts: Array<Response.AnyPart> = []
    const failure = yield* model.streamText({ prompt, toolkit: yield* handled, disableToolCallResolution: true }).pipe(
      Stream.runForEach((part) => Effect.sync(() => void parts.push(part as Response.AnyPart))),
      Effect.as(undefined),
      Effect.catchAll(Effect.succeed)
    )
    return { parts: parts.map(plain), failure }
  })

export const handled = Effect.provide(toolkit, toolkit.toLayer({ look: ({ at }) => Effect.succeed({ at, count: 1 }) }))

const plain = (part: Response.AnyPart): object => {
  const { metadata: _, ...rest } = JSON.parse(JSON.stringify(part))
  return Object.fromEntries(Object.entries(rest).filter(([key]) => !key.startsWith("~") && key !== "providerExecuted"))
}

export const textOf = (parts: ReadonlyArray<object>): string =>
  parts.map((part) => ("delta" in part ? part.delta : "")).join("")

/** A model outside of an agent. */
export const outside = (definition: Script.Definition, options?: ScriptedModel.ScriptedModelOptions) =>
  ScriptedModel.layer(definition, options).pipe(Layer.provide(SessionLog.layerMemory))

export const answering = (...otherwise: ReadonlyArray<ScriptStep.Step>) => outside({ otherwise })
