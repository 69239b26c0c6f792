/** What every provider's adapter does for an agent, over the wire: one suite, a format each. */
import type { Agent, AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { AgentModel } from "@afterturn/agent/AgentModel"
import { Agents } from "@afterturn/agent/Agents"
import * as Compaction from "@afterturn/agent/Compaction"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type { HttpClient } from "@effect/platform/HttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Support from "../agents.js"
import type { Answer, Said } from "../ProviderStub.js"
import * as ProviderStub from "../ProviderStub.js"

const key = "sk-very-secret-0123456789"

export interface Wire {
  readonly path: string
  readonly model: (options: {
    readonly baseUrl: string
    readonly apiKey: Redacted.Redacted | undefined
  }) => Layer.Layer<AgentModel, never, HttpClient>
  readonly says: (said: Said) => ReadonlyArray<string>
  /** The header that carries the key. */
  readonly keyHeader: (key: string) => readonly [name: string, value: string]
  /** An error in the middle of a stream that says the provider has no capacity. */
  readonly overloaded: string
  /** A refusal of a conversation that is too long. */
  readonly overflow: { readonly status: number; readonly body: unknown }
  /** An event that says nothing but that the server is there. */
  readonly ping: string
  /** Results of tools as a request holds them: the call's id, and the text. */
  readonly results: (body: Record<string, unknown>) => ReadonlyArray<readonly [id: unknown, text: unknown]>
  /** What the user said, as a request holds it. */
  readonly userTexts: (body: Record<string, unknown>) => ReadonlyArray<unknown>
  readonly toolNames: (body: Record<string, unknown>) => ReadonlyArray<unknown>
}

const id = "s1" as SessionId

const add = Tool.make("add", {
  description: "adds",
  parameters: { a: Schema.Number, b: Schema.NullOr(Schema.Number) },
  success: Schema.String
})

/** Providers have tools of their own of this name. */
const bash = Tool.make("bash", { description: "echoes", parameters: { text: Schema.String }, success: Schema.String })

const toolkit = Toolkit.make(add, bash)

const tools = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
  Layer.provide(
    toolkit.toLayer({
      add: ({ a, b }) => Effect.succeed(`"${a + (b ?? 0)}"\n`),
      bash: ({ text }) => Effect.succeed(text)
    })
  )
)

/** Counts what arrives of answers. */
class Arrivals {
  private count = 0
  private readonly waiting = new Set<() => void>()

  /** `fetch`, counting the pieces that it hands on. */
  readonly fetch: typeof globalThis.fetch = async (...args) => {
    const response = await globalThis.fetch(...args)
    const tap = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => {
        controller.enqueue(piece)
        this.count += 1
        for (const look of this.waiting) look()
      }
    })
    return new Response(response.body?.pipeThrough(tap) ?? null, response)
  }

  readonly until = (count: number): Effect.Effect<void> =>
    Effect.async<void>((resume) => {
      const look = () => {
        if (this.count >= count) resume(Effect.void)
      }
      this.waiting.add(look)
      look()
      return Effect.sync(() => this.waiting.delete(look))
    })
}

/** An agent on that model, with a log of what it shows. */
export const converse = (
  wire: Pick<Wire, "model">,
  reply: (request: number, received: ProviderStub.StubRequest) => Answer,
  use: (world: {
    readonly agent: Agent
    readonly stub: ProviderStub.ProviderStub
    readonly shown: ReadonlyArray<AgentOutput>
    /** Waits until so many pieces of answers have arrived. */
    readonly arrived: (pieces: number) => Effect.Effect<void>
    readonly untilShown: (predicate: (item: AgentOutput) => boolean) => Effect.Effect<void>
  }) => Effect.Effect<void, unknown, SessionLog>,
  options?: Parameters<typeof Support.layer>[1]
) =>
  Effect.gen(function* () {
    const stub = yield* ProviderStub.make(reply)
    const arrivals = new Arrivals()
    const model = wire
      .model({ baseUrl: stub.url, apiKey: Redacted.make(key) })
      .pipe(Layer.provide(FetchHttpClient.layer), Layer.provide(Layer.succeed(FetchHttpClient.Fetch, arrivals.fetch)))
    const runtime = Layer.provideMerge(tools, Support.layer(model, { maxRetries: 2, ...options }))
    const told = Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
      const shown: Array<AgentOutput> = []
      const waiting = new Set<() => void>()
      yield* Effect.forkScoped(
        Stream.runForEach(agent.output, (item) =>
          Effect.sync(() => {
            shown.push(item)
            for (const look of waiting) look()
          })
        )
      )
      const untilShown = (predicate: (item: AgentOutput) => boolean) =>
        Effect.async<void>((resume) => {
          const look = () => {
            if (shown.some(predicate)) resume(Effect.void)
          }
          waiting.add(look)
          look()
          return Effect.sync(() => waiting.delete(look))
        })
      yield* Effect.yieldNow()
      yield* use({ agent, stub, shown, arrived: arrivals.until, untilShown })
    })
    yield* Effect.provide(told, runtime)
  }).pipe(Effect.scoped)

export const isRetry = (item: AgentOutput) => item._tag === "Retry"

export const ask = (agent: Agent, text = "go") =>
  Effect.zipRight(agent.followup(AgentMessage.user(text)), agent.whenIdle)

export const answers = Support.dataOf(id, AgentEvents.AssistantMessage)

export const errorCode = Effect.map(Support.turnEnds(id), (ends) => {
  const end = ends.at(-1)
  return end?.kind === "error" ? end.error.code : end?.kind
})

export const suite = (wire: Wire): void => {
  const answer = (said: Said): Answer => ({ events: wire.says(said) })

  describe("an answer", () => {
    it.effect("streams, and is stored whole with the tokens that it took", () =>
      converse(
        wire,
        () => ({
          events: wire.says({ text: "Hello, «world» 🌍!", usage: { input: 120, output: 34, cached: 20 } }),
          pieces: 5
        }),
        ({ agent, shown, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent, "hi there")
            const [message] = yield* answers
            assert.deepStrictEqual(message?.content, [{ type: "text", text: "Hello, «world» 🌍!" }])
            assert.deepInclude(message?.usage, { inputTokens: 120, outputTokens: 34, cachedInputTokens: 20 })
            assert.match(message?.route ?? "", /^(anthropic|openai):stub-1$/)
            assert.strictEqual(message?.finishReason, "stop")
            const deltas = shown.flatMap((item) => (item._tag === "Text" ? [item.delta] : []))
            assert.strictEqual(deltas.join(""), "Hello, «world» 🌍!")
            assert.isAbove(deltas.length, 1)
            const [request] = stub.requests
            const [name, value] = wire.keyHeader(key)
            assert.strictEqual(request?.path, wire.path)
            assert.strictEqual(request?.headers[name], value)
            assert.strictEqual(request?.body.model, "stub-1")
            assert.deepStrictEqual(wire.userTexts(request?.body ?? {}), ["hi there"])
            assert.deepStrictEqual(wire.toolNames(request?.body ?? {}), ["add", "bash"])
          })
      )
    )

    it.effect("may be empty: the turn is over", () =>
      converse(
        wire,
        () => answer({}),
        ({ agent }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            assert.deepStrictEqual(
              (yield* answers).map(({ content }) => content),
              [[]]
            )
            yield* ask(agent, "well?")
            assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }, { kind: "completed" }])
          })
      )
    )

    it.effect("may show what the model thinks", () =>
      converse(
        wire,
        (request) => answer(request === 0 ? { reasoning: "hm, let me see", text: "yes" } : { text: "ok" }),
        ({ agent, shown }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            const thought = shown.flatMap((item) => (item._tag === "Reasoning" ? [item.delta] : []))
            assert.strictEqual(thought.join(""), "hm, let me see")
            assert.strictEqual((yield* answers)[0]?.content.at(-1)?.type, "text")
            yield* ask(agent, "again")
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )
  })

  describe("calls of tools", () => {
    it.effect("arrive in pieces, run, and their results go back as the text that the tools gave", () =>
      converse(
        wire,
        (request) =>
          request === 0
            ? {
                events: wire.says({
                  text: "Adding.",
                  calls: [
                    { id: "call_a", name: "add", arguments: '{"a": 1, "b": 2}' },
                    { id: "call_b", name: "add", arguments: '{"a": 40, "b": null}' },
                    { id: "call_c", name: "bash", arguments: '{"text": "hi"}' }
                  ]
                }),
                pieces: 3
              }
            : answer({ text: "3 and 40" }),
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            const calls = yield* Support.dataOf(id, AgentEvents.ToolCall)
            assert.deepStrictEqual(
              calls.map(({ callId, input, name }) => [callId, name, input]),
              [
                ["call_a", "add", { a: 1, b: 2 }],
                ["call_b", "add", { a: 40, b: null }],
                ["call_c", "bash", { text: "hi" }]
              ]
            )
            assert.strictEqual((yield* answers)[0]?.finishReason, "tool-calls")
            assert.deepStrictEqual(wire.results(stub.requests[1]?.body ?? {}), [
              ["call_a", '"3"\n'],
              ["call_b", '"40"\n'],
              ["call_c", "hi"]
            ])
          })
      )
    )

    it.effect("with arguments that are no JSON are answered, and so are the calls beside them", () =>
      converse(
        wire,
        (request) =>
          request === 0
            ? answer({
                calls: [
                  { id: "call_a", name: "add", arguments: '{"a": 1, "b' },
                  { id: "call_b", name: "add", arguments: '{"a": 1, "b": 1}' }
                ],
                usage: { input: 7, output: 3 }
              })
            : answer({ text: "ok" }),
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            const results = yield* Support.dataOf(id, AgentEvents.ToolResult)
            assert.sameDeepMembers(
              results.map(({ callId, error, ok }) => [callId, ok, error?.code]),
              [
                ["call_a", false, "invalid_arguments"],
                ["call_b", true, undefined]
              ]
            )
            assert.deepInclude((yield* answers)[0]?.usage, { inputTokens: 7, outputTokens: 3 })
            assert.strictEqual(wire.results(stub.requests[1]?.body ?? {}).length, 2)
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )

    it.effect("of a tool that does not exist are answered", () =>
      converse(
        wire,
        (request) =>
          answer(request === 0 ? { calls: [{ id: "call_a", name: "subtract", arguments: "{}" }] } : { text: "ok" }),
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
            assert.strictEqual(result?.error?.code, "unknown_tool")
            assert.strictEqual(wire.results(stub.requests[1]?.body ?? {})[0]?.[0], "call_a")
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )

    it.effect("that nobody answered are answered before anything else is said, and notices are what a user says", () =>
      converse(
        wire,
        (request) =>
          request === 0
            ? { events: wire.says({ text: "partly" }).slice(0, -1), ends: "hang" }
            : request === 1
              ? answer({ calls: [{ id: "odd:id", name: "functions.add", arguments: "{}" }] })
              : answer({ text: "ok" }),
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("one"))
            yield* stub.asked(0)
            yield* agent.cancel("changed my mind")
            yield* agent.inject(
              AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "background job bash-1 finished")
            )
            yield* ask(agent, "two")
            const last = stub.requests[2]?.body ?? {}
            assert.deepStrictEqual(wire.userTexts(last), ["one", "background job bash-1 finished", "two"])
            assert.deepStrictEqual(
              wire.results(last).map(([callId]) => callId),
              ["odd_id"]
            )
            assert.notInclude(JSON.stringify(last), 'functions.add"')
          })
      )
    )
  })

  describe("a failing provider", () => {
    it.effect("is asked again after the wait that it named, and not before", () =>
      converse(
        wire,
        (request) =>
          request === 0
            ? { status: 429, headers: { "retry-after": "90" }, body: { error: { message: "slow down" } } }
            : answer({ text: "ok" }),
        ({ agent, stub, untilShown }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("go"))
            yield* untilShown(isRetry)
            yield* TestClock.adjust("89 seconds")
            assert.strictEqual(stub.requests.length, 1)
            yield* TestClock.adjust("1 second")
            yield* agent.whenIdle
            assert.strictEqual(stub.requests.length, 2)
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )

    it.effect("that goes on failing ends the turn, and the session stays usable", () =>
      converse(
        wire,
        (request) => (request < 3 ? { status: 500, body: "<html>oh dear</html>" } : answer({ text: "back" })),
        ({ agent, shown, stub, untilShown }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("go"))
            for (const attempt of [1, 2]) {
              yield* untilShown(() => shown.filter(isRetry).length >= attempt)
              yield* TestClock.adjust("10 seconds")
            }
            yield* agent.whenIdle
            assert.strictEqual(yield* errorCode, "provider_unavailable")
            assert.strictEqual(stub.requests.length, 3)
            yield* ask(agent, "and now?")
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )

    it.effect("that breaks off is asked again; half an answer is not kept", () =>
      converse(
        wire,
        (request) => {
          const events = wire.says({ text: "a whole sentence" })
          return request === 0 ? { events: events.slice(0, -3), ends: "cut" } : { events }
        },
        ({ agent, shown, untilShown }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("go"))
            yield* untilShown(isRetry)
            yield* TestClock.adjust("10 seconds")
            yield* agent.whenIdle
            const retry = shown.find((item) => item._tag === "Retry")
            assert.match(retry?.message ?? "", /broke off|ended before/)
            assert.deepStrictEqual(
              (yield* answers).map(({ content }) => content),
              [[{ type: "text", text: "a whole sentence" }]]
            )
          })
      )
    )

    it.effect("that falls silent counts as failed after the silence that it is allowed", () =>
      converse(
        wire,
        (request) => {
          const events = wire.says({ text: "ok" })
          return request === 0 ? { events: events.slice(0, 2), ends: "hang" } : { events }
        },
        ({ agent, shown, stub, untilShown }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("go"))
            yield* stub.asked(0)
            yield* TestClock.adjust("100 seconds")
            assert.strictEqual(stub.requests.length, 1)
            yield* TestClock.adjust("2 minutes")
            yield* untilShown(isRetry)
            yield* TestClock.adjust("10 seconds")
            yield* agent.whenIdle
            assert.include(shown.find((item) => item._tag === "Retry")?.message ?? "", "sent nothing for")
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )

    it.effect("that only says that it is still there is waited for", () => {
      const [first = "", ...rest] = wire.says({ text: "at last" })
      let write: (event: string) => void = () => {}
      let end = () => {}
      return converse(
        wire,
        () => ({
          events: [first],
          later: (writes, ends) => {
            write = writes
            end = ends
          }
        }),
        ({ agent, arrived, stub }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("go"))
            for (let minute = 1; minute <= 5; minute++) {
              yield* arrived(minute)
              yield* TestClock.adjust("1 minute")
              yield* Effect.sync(() => write(wire.ping))
            }
            yield* arrived(6)
            yield* Effect.sync(() => {
              for (const event of rest) write(event)
              end()
            })
            yield* agent.whenIdle
            assert.strictEqual(yield* errorCode, "completed")
            assert.strictEqual(stub.requests.length, 1)
          })
      )
    })

    it.effect("may say in the middle of an answer that it has no capacity", () =>
      converse(
        wire,
        (request) => {
          const events = wire.says({ text: "ok" })
          return { events: request === 0 ? [...events.slice(0, 1), wire.overloaded] : events }
        },
        ({ agent, shown, untilShown }) =>
          Effect.gen(function* () {
            yield* agent.followup(AgentMessage.user("go"))
            yield* untilShown(isRetry)
            yield* TestClock.adjust("10 seconds")
            yield* agent.whenIdle
            assert.include(shown.find((item) => item._tag === "Retry")?.message ?? "", "no capacity")
            assert.strictEqual(yield* errorCode, "completed")
          })
      )
    )

    it.effect("that cannot be reached is tried again, and named", () => {
      const closed = {
        ...wire,
        model: (options: Parameters<Wire["model"]>[0]) => wire.model({ ...options, baseUrl: "http://127.0.0.1:1" })
      }
      return converse(
        closed,
        () => answer({}),
        ({ agent }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            assert.strictEqual(yield* errorCode, "provider_unavailable")
            const [end] = yield* Support.turnEnds(id)
            assert.match(end?.kind === "error" ? end.error.message : "", /ECONNREFUSED|bad port/)
          }),
        { maxRetries: 0 }
      )
    })
  })

  describe("a refusal", () => {
    it.effect("of the key names no key: not in the log, not to the spectator, not in what is logged", () => {
      const lines: Array<unknown> = []
      const recorder = Logger.make(({ cause, message }) => {
        lines.push(String(message), JSON.stringify(message), JSON.stringify(cause))
      })
      return converse(
        wire,
        (request) =>
          request === 0
            ? { status: 401, body: { error: { type: "authentication_error", message: `invalid key ${key}` } } }
            : { status: 403, body: { error: { type: "permission_error", message: `the key ${key} may not` } } },
        ({ agent, shown }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            assert.strictEqual(yield* errorCode, "provider_unauthorized")
            yield* ask(agent)
            assert.strictEqual(yield* errorCode, "provider_rejected")
            const stored = yield* Effect.flatMap(SessionLog, (log) => Stream.runCollect(log.exportJsonl(id)))
            const everything = [...Chunk.toArray(stored), JSON.stringify(shown), ...lines].join("\n")
            assert.include(everything, "the key [key] may not")
            assert.notInclude(everything, key)
          })
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, recorder)), Logger.withMinimumLogLevel(LogLevel.All))
    })

    it.effect("of a conversation that is too long says so", () =>
      converse(
        wire,
        () => wire.overflow,
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            assert.strictEqual(yield* errorCode, "provider_context_overflow")
            assert.strictEqual(stub.requests.length, 1)
          })
      )
    )

    it.effect("of a conversation that is too long is followed by a summary and one more attempt", () =>
      converse(
        {
          model: (options) => {
            const model = wire.model(options)
            return Layer.provideMerge(Compaction.layer(), model)
          }
        },
        (request) =>
          [
            answer({ text: "one", calls: [{ id: "call_a", name: "add", arguments: '{"a": 1, "b": 2}' }] }),
            wire.overflow,
            answer({ text: "what was said" }),
            answer({ text: "two" })
          ][request] ?? answer({}),
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent, "count")
            assert.strictEqual(yield* errorCode, "completed")
            assert.strictEqual(stub.requests.length, 4)
            assert.match(String(wire.userTexts(stub.requests[3]?.body ?? {})[0]), /^Summary .*\n\nwhat was said$/)
            assert.strictEqual(wire.userTexts(stub.requests[3]?.body ?? {})[1], "count")
            assert.deepStrictEqual(wire.results(stub.requests[3]?.body ?? {}), [])
          })
      )
    )

    it.effect("of anything else is not tried again, and says why", () =>
      converse(
        wire,
        () => ({ status: 400, body: { error: { type: "invalid_request_error", message: "no such model" } } }),
        ({ agent, stub }) =>
          Effect.gen(function* () {
            yield* ask(agent)
            const [end] = yield* Support.turnEnds(id)
            assert.deepStrictEqual(end, {
              kind: "error",
              error: { code: "provider_rejected", message: "the provider answered 400: no such model" }
            })
            assert.strictEqual(stub.requests.length, 1)
          })
      )
    )
  })
}
