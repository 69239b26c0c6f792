import { AgentModel } from "@afterturn/agent/AgentModel"
import * as ScriptStep from "@afterturn/testing/ScriptStep"
import * as AiError from "@effect/ai/AiError"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { answering, outside, partsOf, textOf } from "./model.js"

describe("ScriptStep", () => {
  it.effect("fails as HTTP does, then answers", () =>
    Effect.gen(function* () {
      const first = (yield* partsOf("go")).failure
      const second = (yield* partsOf("go")).failure
      const third = yield* partsOf("go")
      assert.isTrue(first instanceof AiError.HttpResponseError)
      if (first instanceof AiError.HttpResponseError) {
        assert.deepStrictEqual(first.response, { status: 529, headers: { "retry-after": "2" } })
        assert.strictEqual(first.body, "overloaded")
      }
      assert.isTrue(second instanceof AiError.HttpRequestError && second.reason === "Transport")
      assert.strictEqual(textOf(third.parts), "there")
    }).pipe(
      Effect.provide(
        answering({ fail: { status: 529, retryAfter: 2, message: "overloaded" } }, { fail: {} }, { text: "there" })
      )
    )
  )

  it.effect("goes on failing when no answer follows", () =>
    Effect.gen(function* () {
      for (const status of [500, 401, 401, 401]) {
        const { failure } = yield* partsOf("go")
        assert.strictEqual(failure instanceof AiError.HttpResponseError ? failure.response.status : 0, status)
      }
    }).pipe(Effect.provide(answering({ fail: { status: 500 } }, { fail: { status: 401 } })))
  )

  it.effect("breaks off in the middle", () =>
    Effect.gen(function* () {
      const { failure, parts } = yield* partsOf("go")
      assert.deepStrictEqual(
        parts.map((part) => "type" in part && part.type),
        ["text-start", "text-delta"]
      )
      assert.strictEqual(failure?._tag, "HttpRequestError")
    }).pipe(Effect.provide(answering(ScriptStep.cut("Half a sen"))))
  )

  it.effect("ends without its last part", () =>
    Effect.gen(function* () {
      const { failure, parts } = yield* partsOf("go")
      assert.deepStrictEqual(
        parts.map((part) => "type" in part && part.type),
        ["text-start", "text-delta", "text-end"]
      )
      assert.isUndefined(failure)
    }).pipe(Effect.provide(answering(ScriptStep.unfinished("All of it."))))
  )

  it.effect("says something and then nothing for ever", () =>
    Effect.gen(function* () {
      const { model } = yield* AgentModel
      const heard = yield* Deferred.make<string>()
      const fiber = yield* model.streamText({ prompt: "go" }).pipe(
        Stream.runForEach((part) => (part.type === "text-delta" ? Deferred.succeed(heard, part.delta) : Effect.void)),
        Effect.fork
      )
      assert.strictEqual(yield* Deferred.await(heard), "So")
      yield* TestClock.adjust("365 days")
      assert.isNull(fiber.unsafePoll())
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(answering(ScriptStep.stall("So"))))
  )

  it.effect("sends arguments as they were written, under ids that collide", () =>
    Effect.gen(function* () {
      const { failure, parts } = yield* partsOf("go")
      assert.deepStrictEqual(
        parts.filter((part) => "type" in part && part.type === "tool-call"),
        [
          { type: "tool-call", id: "same", name: "look", params: { at: "x" } },
          { type: "tool-call", id: "same", name: "look", params: { at: "y" } }
        ]
      )
      assert.strictEqual(textOf(parts), '{ "at": "x" }{"at":"y"}{"at": "z')
      assert.strictEqual(failure?._tag, "MalformedOutput")
    }).pipe(
      Effect.provide(
        answering(
          ScriptStep.rawCalls([
            { tool: "look", params: '{ "at": "x" }', id: "same" },
            { tool: "look", params: '{"at":"y"}', id: "same" },
            { tool: "look", params: '{"at": "z' }
          ])
        )
      )
    )
  )

  it.effect("decides when it is asked", () =>
    Effect.gen(function* () {
      assert.strictEqual(textOf((yield* partsOf("one")).parts), "1 message, tools: look")
      assert.strictEqual((yield* partsOf([])).failure?._tag, "HttpResponseError")
    }).pipe(
      Effect.provide(
        answering(
          ScriptStep.effect(({ prompt, tools }) =>
            Effect.succeed(
              prompt.content.length === 0
                ? { fail: { status: 400 } }
                : { text: `${prompt.content.length} message, tools: ${tools.map((tool) => tool.name)}` }
            )
          )
        )
      )
    )
  )

  it.effect("sends any parts, and fails with any error", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* partsOf("parts")).parts, [{ type: "error", error: "overloaded" }])
      assert.strictEqual((yield* partsOf("error")).failure?._tag, "MalformedInput")
    }).pipe(
      Effect.provide(
        outside({
          rules: [
            {
              match: "parts",
              steps: [ScriptStep.stream(() => Stream.make({ type: "error", error: "overloaded" } as const))]
            },
            {
              match: "error",
              steps: [ScriptStep.fail(new AiError.MalformedInput({ module: "x", method: "x" }))]
            }
          ]
        })
      )
    )
  )
})
