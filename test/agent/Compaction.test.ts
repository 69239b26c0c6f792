import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Compaction from "@afterturn/agent/Compaction"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as AiError from "@effect/ai/AiError"
import type * as Prompt from "@effect/ai/Prompt"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

const refusal = (status: number, body: string) =>
  new AiError.HttpResponseError({
    module: "Test",
    method: "streamText",
    request: { method: "POST", url: "https://provider.test", urlParams: [], hash: Option.none(), headers: {} },
    reason: "StatusCode",
    response: { status, headers: {} },
    body
  })

const overflow = refusal(400, "prompt is too long: 210000 tokens > 200000 maximum")

const textOf = (prompt: ReadonlyArray<Prompt.Message>) => JSON.stringify(prompt)

const isSummary = (prompt: ReadonlyArray<Prompt.Message>) => textOf(prompt).includes("You condense the record")

/** What a user said, or what stands for it. */
const userTexts = (prompt: ReadonlyArray<Prompt.Message> | undefined) =>
  (prompt ?? []).flatMap((message) =>
    message.role === "user" ? message.content.map((part) => (part.type === "text" ? part.text : "")) : []
  )

const look = Tool.make("look", { description: "looks", success: Schema.String })
const toolkit = Toolkit.make(look)
const tools = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
  Layer.provide(toolkit.toLayer({ look: () => Effect.succeed(`seen ${"y".repeat(400)}`) }))
)

const world = (model: FakeModel.FakeModel, maxHistoryTokens = 50) =>
  Layer.provideMerge(
    tools,
    Support.layer(Layer.provideMerge(Compaction.layer({ maxHistoryTokens, maxRetries: 0 }), model.layer), {
      maxHistoryTokens,
      maxRetries: 0
    })
  )

const create = Effect.flatMap(Agents, (agents) => agents.create({ id }))
const resume = (session: SessionId) => Effect.flatMap(Agents, (agents) => agents.resume(session))
const compactions = Support.dataOf(id, AgentEvents.ContextCompacted)

describe("a history that is too long", () => {
  it.effect("is summarized by the session's model as the next turn starts", () => {
    const model = FakeModel.make((request, prompt) =>
      isSummary(prompt) ? { text: "much was said" } : { text: request === 0 ? "x".repeat(400) : "ok" }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      for (const text of ["one", "two"]) {
        yield* agent.followup(AgentMessage.user(text))
        yield* agent.whenIdle
      }
      assert.include(textOf(model.prompts[1] ?? []), "User: one")
      assert.notInclude(textOf(model.prompts[1] ?? []), "two")
      assert.deepStrictEqual(userTexts(model.prompts[2]), [
        "Summary of the conversation so far:\n\nmuch was said",
        "two"
      ])
      assert.deepStrictEqual(
        (yield* compactions).map(({ usage }) => usage),
        [{ inputTokens: 10, outputTokens: 5 }]
      )
    }).pipe(Effect.scoped, Effect.provide(world(model)))
  })

  it.effect("stays when no summary can be made, and the turn goes on", () => {
    const model = FakeModel.make((request, prompt) =>
      isSummary(prompt) ? { fail: refusal(400, "no") } : { text: request === 0 ? "x".repeat(400) : "ok" }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      for (const text of ["one", "two"]) {
        yield* agent.followup(AgentMessage.user(text))
        yield* agent.whenIdle
      }
      assert.deepStrictEqual(userTexts(model.prompts[2]), ["one", "two"])
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }, { kind: "completed" }])
    }).pipe(Effect.scoped, Effect.provide(world(model)))
  })

  it.effect("is read in smaller shares by a model that can't read so much, one summary going on from the other", () => {
    const shares: Array<number> = []
    const model = FakeModel.make((_request, prompt) => {
      if (!isSummary(prompt)) return { text: "x".repeat(19_000) }
      const length = textOf(prompt).length
      if (length > 14_000) return { fail: overflow }
      shares.push(length)
      return { text: `part ${shares.length}` }
    })
    return Effect.gen(function* () {
      const agent = yield* create
      for (const text of ["one", "two", "three"]) {
        yield* agent.followup(AgentMessage.user(text))
        yield* agent.whenIdle
      }
      assert.isAbove(shares.length, 1)
      const [first] = yield* compactions
      const requests = Number(/^part ([2-9])/.exec(first?.summary ?? "")?.[1])
      assert.deepStrictEqual(first?.usage, { inputTokens: 10 * requests, outputTokens: 5 * requests })
      assert.include(textOf(model.prompts.findLast(isSummary) ?? []), "<summary-so-far>")
    }).pipe(Effect.scoped, Effect.provide(world(model, 6_000)))
  })
})

describe("a conversation that the provider finds too long", () => {
  it.effect("is cut in the middle of the turn and asked about once more; what the turn is about stays", () => {
    let refused = 0
    const model = FakeModel.make((request, prompt) => {
      if (isSummary(prompt)) return { text: `summary ${refused}` }
      if (request < 3) return { text: `step ${request}`, calls: [{ name: "look", input: {} }] }
      if (refused === 0) {
        refused++
        return { fail: overflow }
      }
      return { text: "done" }
    })
    return Effect.gen(function* () {
      const prompt = yield* SystemPrompt
      let renders = 0
      yield* prompt.section({ key: "state", order: 10, text: () => Effect.sync(() => `state ${++renders}`) })
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("find it"))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }])
      const last = model.prompts.at(-1)
      assert.deepStrictEqual(userTexts(last), ["Summary of the conversation so far:\n\nsummary 1", "find it"])
      assert.include(textOf(last ?? []), "state 2")
      const [compaction] = yield* compactions
      assert.deepStrictEqual(compaction?.kept, ["msg-1"])

      yield* agent.followup(AgentMessage.user("and then?"))
      yield* agent.whenIdle
      assert.strictEqual((yield* Support.turnEnds(id)).at(-1)?.kind, "completed")
    }).pipe(Effect.scoped, Effect.provide(world(model, 500)))
  })

  it.effect("ends the turn when that did not help, or when there is nothing to cut", () => {
    const model = FakeModel.make((request, prompt) =>
      isSummary(prompt) ? { text: "S" } : request === 0 ? { text: "x".repeat(400) } : { fail: overflow }
    )
    return Effect.gen(function* () {
      const agent = yield* create
      for (const text of ["one", "two", "three"]) {
        yield* agent.followup(AgentMessage.user(text))
        yield* agent.whenIdle
      }
      const ends = yield* Support.turnEnds(id)
      assert.deepStrictEqual(
        ends.map((end) => (end.kind === "error" ? end.error.code : end.kind)),
        ["completed", "provider_context_overflow", "provider_context_overflow"]
      )
    }).pipe(Effect.scoped, Effect.provide(world(model, 10_000)))
  })
})

describe("a summary", () => {
  const model = () =>
    FakeModel.make((_request, prompt) =>
      isSummary(prompt) ? { text: "the past" } : { text: `${"x".repeat(400)} ${prompt.length}` }
    )

  it.effect("is where a resumed agent begins to read, and what a fork goes on from", () => {
    const fake = model()
    const reads: Array<number> = []
    const watched = Layer.effect(
      SessionLog,
      Effect.map(SessionLog, (log) => ({
        ...log,
        read: (session: SessionId, options?: Parameters<typeof log.read>[1]) => {
          if (options?.types === undefined) reads.push(options?.fromSeq ?? 0)
          return log.read(session, options)
        }
      }))
    )
    const say = (session: SessionId, text: string) =>
      Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* resume(session)
          yield* agent.followup(AgentMessage.user(text))
          yield* agent.whenIdle
        })
      )
    const compaction = Compaction.layer({ maxHistoryTokens: 150 })
    const runtime = Support.layer(
      Layer.provideMerge(compaction, fake.layer),
      { maxHistoryTokens: 150 },
      watched as Layer.Layer<SessionLog, never, SessionLog>
    )
    return Effect.gen(function* () {
      const log = yield* SessionLog
      yield* log.create({ id })
      for (const text of ["one", "two", "three"]) yield* say(id, text)
      const made = yield* compactions
      assert.isAtLeast(made.length, 1)
      const through = made.at(-1)?.throughSeq ?? 0
      reads.length = 0
      const child = "child" as SessionId
      yield* log.fork(id, { id: child })
      yield* say(child, "four")
      assert.include(reads, through + 1)
      assert.notInclude(reads, 0)
      const asked = fake.prompts.findLast((prompt) => !isSummary(prompt))
      assert.include(userTexts(asked)[0], "the past")
      assert.include(userTexts(asked), "four")
    }).pipe(Effect.provide(runtime))
  })

  it.effect("that the end of the process cut off is made by the next turn", () => {
    let hangs = true
    const fake = FakeModel.make((_request, prompt) => {
      if (!isSummary(prompt)) return { text: "x".repeat(400) }
      return hangs ? { hang: true } : { text: "the past" }
    })
    return Effect.gen(function* () {
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* create
          yield* agent.followup(AgentMessage.user("one"))
          yield* agent.whenIdle
          yield* agent.followup(AgentMessage.user("two"))
          yield* fake.asked(1)
        })
      )
      hangs = false
      assert.deepStrictEqual(yield* compactions, [])
      yield* Effect.scoped(
        Effect.gen(function* () {
          const agent = yield* resume(id)
          yield* agent.followup(AgentMessage.user("three"))
          yield* agent.whenIdle
        })
      )
      assert.strictEqual((yield* compactions).length, 1)
      assert.strictEqual((yield* Support.turnEnds(id)).at(-1)?.kind, "completed")
      assert.include(userTexts(fake.prompts.at(-1)), "three")
    }).pipe(Effect.provide(world(fake)))
  })
})
