import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as ModelError from "@afterturn/agent/ModelError"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as AiError from "@effect/ai/AiError"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

const request = {
  method: "POST" as const,
  url: "https://provider.test/v1/messages",
  urlParams: [],
  hash: Option.none(),
  headers: { authorization: "Bearer sk-secret" }
}

const status = (code: number, headers: Record<string, string> = {}) =>
  new AiError.HttpResponseError({
    module: "Test",
    method: "streamText",
    request,
    reason: "StatusCode",
    response: { status: code, headers },
    body: "x".repeat(10_000)
  })

describe("fromAiError", () => {
  it("tells what is worth trying again from what is not", () => {
    const transient = [408, 429, 500, 502, 503, 529].map((code) => ModelError.fromAiError(status(code)).transient)
    const final = [400, 401, 403, 404, 413, 422].map((code) => ModelError.fromAiError(status(code)).transient)
    assert.deepStrictEqual([...new Set(transient)], [true])
    assert.deepStrictEqual([...new Set(final)], [false])
  })

  it("reads the wait that the provider asks for, in seconds or milliseconds", () => {
    const wait = (headers: Record<string, string>) => ModelError.fromAiError(status(429, headers)).retryAfter
    assert.deepStrictEqual(wait({ "retry-after": "7" }), Duration.seconds(7))
    assert.deepStrictEqual(wait({ "retry-after": "7", "retry-after-ms": "250" }), Duration.millis(250))
    assert.isUndefined(wait({ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }))
    assert.deepStrictEqual(
      wait({ "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT", date: "Wed, 21 Oct 2026 07:27:30 GMT" }),
      Duration.seconds(30)
    )
    assert.isUndefined(wait({}))
  })

  it("tells refusals and shortages apart", () => {
    const code = (status: number, body: string) =>
      ModelError.fromAiError(
        new AiError.HttpResponseError({
          module: "Test",
          method: "streamText",
          request,
          reason: "StatusCode",
          response: { status, headers: {} },
          body
        })
      )
    const quota = code(429, '{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}')
    assert.deepInclude(quota, { code: "provider_rate_limited", transient: false })
    assert.strictEqual(quota.message, "the provider answered 429: You exceeded your current quota")
    assert.strictEqual(code(529, "").code, "provider_overloaded")
    assert.strictEqual(code(503, "Service is overloaded").code, "provider_overloaded")
    assert.strictEqual(code(503, "").code, "provider_unavailable")
    for (const text of [
      "prompt is too long: 210000 tokens > 200000 maximum",
      "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000",
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
      "the request exceeds the available context size. try increasing the context size",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    ]) {
      assert.strictEqual(code(400, text).code, "provider_context_overflow", text)
      assert.strictEqual(code(500, text).code, "provider_unavailable", text)
    }
    assert.strictEqual(code(413, "").code, "provider_context_overflow")
    assert.strictEqual(code(400, "max_tokens: 99999 > 8192, which is the maximum").code, "provider_rejected")
  })

  it("reads an error in the middle of an answer by the kind that it names", () => {
    const code = (error: unknown) => {
      const { code, transient } = ModelError.fromStreamError(error)
      return [code, transient]
    }
    assert.deepStrictEqual(code({ type: "overloaded_error", message: "m" }), ["provider_overloaded", true])
    assert.deepStrictEqual(code({ code: "rate_limit_exceeded", message: "m" }), ["provider_rate_limited", true])
    assert.deepStrictEqual(code({ code: "context_length_exceeded" }), ["provider_context_overflow", false])
    assert.deepStrictEqual(code({ type: "invalid_request_error", message: "prompt is too long" }), [
      "provider_context_overflow",
      false
    ])
    assert.deepStrictEqual(code({ code: 503, message: "m" }), ["provider_unavailable", true])
    assert.deepStrictEqual(code("what?"), ["provider_unavailable", true])
  })

  it("bounds the text and keeps keys out of it", () => {
    const { message } = ModelError.fromAiError(status(400))
    assert.isBelow(message.length, 600)
    assert.notInclude(message, "sk-secret")
  })
})

const oneTurn = Effect.gen(function* () {
  const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
  yield* agent.followup(AgentMessage.user("go"))
  return agent
})

describe("a failing provider", () => {
  it.effect("is asked again after transient failures, and the turn completes", () => {
    const model = FakeModel.replies({ fail: status(529) }, { cut: true, text: "half" }, { text: "whole" })
    return Effect.gen(function* () {
      const agent = yield* oneTurn
      yield* model.asked(0)
      yield* TestClock.adjust("1 minute")
      yield* agent.whenIdle
      const answers = yield* Support.dataOf(id, AgentEvents.AssistantMessage)
      assert.deepStrictEqual(
        answers.map((answer) => answer.content),
        [[{ type: "text", text: "whole" }]]
      )
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("is not asked before the wait that it named is over", () => {
    const model = FakeModel.replies({ fail: status(429, { "retry-after": "90" }) }, { text: "ok" })
    return Effect.gen(function* () {
      const agent = yield* oneTurn
      yield* model.asked(0)
      yield* TestClock.adjust("89 seconds")
      assert.strictEqual(model.requests.length, 1)
      yield* TestClock.adjust("1 second")
      yield* agent.whenIdle
      assert.strictEqual(model.requests.length, 2)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("ends the turn with an error when it refuses, and the session stays usable", () => {
    const model = FakeModel.replies({ fail: status(401) }, { text: "ok" })
    return Effect.gen(function* () {
      const agent = yield* oneTurn
      yield* agent.whenIdle
      const [end] = yield* Support.turnEnds(id)
      assert.strictEqual(end?.kind === "error" ? end.error.code : end?.kind, "provider_unauthorized")
      yield* agent.followup(AgentMessage.user("again"))
      yield* agent.whenIdle
      assert.strictEqual((yield* Support.turnEnds(id)).at(-1)?.kind, "completed")
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("ends the turn after the last retry and keeps what is queued until the agent is woken", () => {
    const model = FakeModel.make((request) => (request < 3 ? { fail: status(500) } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* oneTurn
      yield* agent.followup(AgentMessage.user("queued"))
      yield* model.asked(0)
      yield* TestClock.adjust("10 minutes")
      yield* agent.whenIdle
      assert.strictEqual(model.requests.length, 3)
      assert.deepStrictEqual(
        (yield* Support.turnEnds(id)).map((reason) => reason.kind),
        ["error"]
      )
      yield* agent.steer(AgentMessage.user("try again"))
      yield* agent.whenIdle
      assert.deepStrictEqual(
        (yield* Support.turnEnds(id)).map((reason) => reason.kind),
        ["error", "completed"]
      )
      const claimed = yield* Support.dataOf(id, AgentEvents.UserMessage)
      assert.deepStrictEqual(
        claimed.map((message) => AgentMessage.toText(message.content)),
        ["go", "try again", "queued"]
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer, { maxRetries: 2 })))
  })

  it.effect("counts as failed when it falls silent", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* oneTurn
      yield* model.asked(0)
      yield* TestClock.adjust("119 seconds")
      assert.strictEqual(yield* agent.status, "running")
      assert.strictEqual(model.requests.length, 1)
      yield* TestClock.adjust("10 seconds")
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("loses no reminder: it goes back under its id and is delivered by the next turn", () => {
    const model = FakeModel.replies({ fail: status(401) }, { text: "ok" })
    const reminder = AgentMessage.text(
      { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
      "stand up"
    )
    return Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      yield* agent.followup(reminder)
      yield* agent.whenIdle
      assert.strictEqual(model.requests.length, 1)
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      const claimed = yield* Support.dataOf(id, AgentEvents.UserMessage)
      assert.deepStrictEqual(
        claimed.map((message) => message.id),
        ["msg-1", "msg-1", "msg-2"]
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })
})
