import type { Agent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as ExternalAgent from "@afterturn/agent/ExternalAgent"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { Projections } from "@afterturn/session-log/Projection"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import { declareAgentSeam } from "../support/contracts/AgentSeam.js"

const id = "s1" as SessionId

const reminder = (text: string) =>
  AgentMessage.text(
    { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
    text
  )

const notice = AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "bash-1 finished")

const call = (name: string, input: unknown = {}) =>
  Effect.flatMap(ExternalAgent.ExternalAgents, (external) => external.call(id, { name, input, route: "test:client" }))

/** A tool that answers when it is told to, and one that answers at once. */
const makeTools = Effect.gen(function* () {
  const began = yield* Deferred.make<void>()
  const signal = yield* Deferred.make<void>()
  const stopped = yield* Deferred.make<void>()
  const toolkit = Toolkit.make(
    Tool.make("wait", { description: "waits", success: Schema.String }),
    Tool.make("now", { description: "answers", success: Schema.String })
  )
  const layer = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
    Layer.provide(
      toolkit.toLayer({
        wait: () =>
          Deferred.succeed(began, undefined).pipe(
            Effect.zipRight(Deferred.await(signal)),
            Effect.as("waited"),
            Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
          ),
        now: () => Effect.succeed("now")
      })
    )
  )
  return { began, signal, stopped, layer }
})

const layer = (
  options?: Partial<ExternalAgent.ExternalOptions>,
  log: Layer.Layer<SessionLog, never, SessionLog> = Layer.context()
) => ExternalAgent.layerRuntime(options).pipe(Layer.provideMerge(log), Layer.provideMerge(layerMemory))

const withAgent = <A, E, R>(
  body: (agent: Agent, tools: Effect.Effect.Success<typeof makeTools>) => Effect.Effect<A, E, R>,
  options?: Partial<ExternalAgent.ExternalOptions>
) =>
  Effect.flatMap(makeTools, (tools) =>
    Effect.flatMap(
      Effect.flatMap(Agents, (agents) => agents.create({ id })),
      (agent) => body(agent, tools)
    ).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools.layer, layer(options))))
  )

const texts = (messages: ReadonlyArray<AgentMessage.AgentMessage>) =>
  messages.map((message) => AgentMessage.toText(message.content))

const starts = Effect.map(Support.dataOf(id, AgentEvents.TurnStart), (all) => all.map(({ source }) => source.kind))

const quiet = TestClock.adjust("1 minute")

declareAgentSeam<ExternalAgent.ExternalAgents | Projections>("an external agent", {
  layer: layer(),
  settle: (agent) =>
    Effect.gen(function* () {
      const projections = yield* Projections
      const external = yield* ExternalAgent.ExternalAgents
      const waiting = Effect.map(
        projections.get(agent.id, AgentLog.state),
        ({ value }) => value.nextStep.length + value.nextTurn.length
      )
      while ((yield* Effect.orDie(waiting)) > 0) {
        yield* Effect.orDie(external.call(agent.id, { name: "nothing", input: {}, route: "test:client" }))
        yield* quiet
      }
    }),
  act: (agent, name, input) =>
    Effect.flatMap(ExternalAgent.ExternalAgents, (external) =>
      Effect.asVoid(Effect.orDie(external.call(agent.id, { name, input, route: "test:client" })))
    )
})

describe("a call", () => {
  it.effect("opens a turn with the word of the user, and a quiet minute ends it", () =>
    withAgent((agent) =>
      Effect.gen(function* () {
        const first = yield* call("now")
        assert.deepStrictEqual([first.outcome.ok, first.outcome.text, first.handed], [true, "now", []])
        assert.strictEqual(yield* agent.status, "running")
        yield* TestClock.adjust("59 seconds")
        yield* call("now")
        yield* TestClock.adjust("59 seconds")
        assert.strictEqual(yield* agent.status, "running")
        yield* TestClock.adjust("1 seconds")
        assert.strictEqual(yield* agent.status, "idle")
        assert.deepStrictEqual(yield* Support.types(id), [
          "turn/start",
          "step/start",
          "assistant/message",
          "tool/call",
          "tool/result",
          "step/end",
          "step/start",
          "assistant/message",
          "tool/call",
          "tool/result",
          "step/end",
          "turn/end"
        ])
        assert.deepStrictEqual(yield* starts, ["user"])
        assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }])
        const [answer] = yield* Support.dataOf(id, AgentEvents.AssistantMessage)
        assert.deepStrictEqual(
          [answer?.route, answer?.content[0]],
          ["test:client", { type: "tool-call", callId: "call-1-1", name: "now", input: {} }]
        )
      })
    )
  )

  it.effect("carries nobody's word where it is taken away, and ends after the period that is configured", () =>
    withAgent(
      (agent) =>
        Effect.gen(function* () {
          yield* call("now")
          assert.deepStrictEqual(yield* starts, ["system"])
          yield* TestClock.adjust("5 seconds")
          assert.strictEqual(yield* agent.status, "idle")
        }),
      { authority: "none", quietPeriod: Duration.seconds(5) }
    )
  )

  it.effect("holds its turn open for as long as it takes", () =>
    withAgent((agent, tools) =>
      Effect.gen(function* () {
        const waiting = yield* Effect.fork(call("wait"))
        yield* Deferred.await(tools.began)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* agent.status, "running")
        yield* Deferred.succeed(tools.signal, undefined)
        assert.strictEqual((yield* Fiber.join(waiting)).outcome.text, "waited")
        yield* quiet
        assert.strictEqual((yield* Support.turnEnds(id)).length, 1)
      })
    )
  )

  it.effect("shares a step with those that run at the same time, each with its own result", () =>
    withAgent((_, tools) =>
      Effect.gen(function* () {
        const waiting = yield* Effect.fork(call("wait"))
        yield* Deferred.await(tools.began)
        yield* call("now")
        yield* Deferred.succeed(tools.signal, undefined)
        yield* Fiber.join(waiting)
        const types = yield* Support.types(id)
        assert.deepStrictEqual(
          types.filter((type) => type.startsWith("step/")),
          ["step/start", "step/end"]
        )
        const results = yield* Support.dataOf(id, AgentEvents.ToolResult)
        assert.deepStrictEqual(
          results.map(({ callId, text }) => [callId, text]),
          [
            ["call-1-2", "now"],
            ["call-1-1", "waited"]
          ]
        )
      })
    )
  )

  it.effect("that is cancelled stops its handler, leaves the turn to the next one and takes no message with it", () =>
    withAgent((agent, tools) =>
      Effect.gen(function* () {
        const waiting = yield* Effect.fork(call("wait"))
        yield* Deferred.await(tools.began)
        yield* agent.inject(notice)
        yield* Fiber.interrupt(waiting)
        yield* Deferred.await(tools.stopped)
        const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
        assert.strictEqual(result?.error?.code, "TOOL_CANCELLED")
        const next = yield* call("now")
        assert.deepStrictEqual(texts(next.handed), ["bash-1 finished"])
        assert.strictEqual((yield* Support.dataOf(id, AgentEvents.TurnStart)).length, 1)
      })
    )
  )

  it.effect("waits for maintenance", () =>
    withAgent((agent) =>
      Effect.gen(function* () {
        const release = yield* Deferred.make<void>()
        const maintenance = yield* Effect.fork(agent.runMaintenance(Deferred.await(release)))
        yield* Effect.yieldNow()
        const calling = yield* Effect.fork(call("now"))
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* Support.types(id), [])
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(maintenance)
        assert.strictEqual((yield* Fiber.join(calling)).outcome.ok, true)
      })
    )
  )

  it.effect("is refused by a session that nobody drives here", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip(call("now")))._tag, "AgentClosed")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("whose result the store refuses fails, and the turn ends as an error", () => {
    const refusing = interceptAppends((events) =>
      events.some((event) => event.type === "tool/result" && JSON.stringify(event.data).includes('"text":"now"'))
        ? new SessionStoreError({ reason: "read-only", message: "no" })
        : Effect.void
    )
    return Effect.gen(function* () {
      const tools = yield* makeTools
      yield* Effect.gen(function* () {
        const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
        assert.strictEqual((yield* Effect.flip(call("now")))._tag, "SessionStoreError")
        yield* agent.whenIdle
        const [end] = yield* Support.turnEnds(id)
        assert.strictEqual(end?.kind, "error")
        const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
        assert.strictEqual(result?.error?.code, "TOOL_OUTCOME_UNKNOWN")
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools.layer, layer(undefined, refusing))))
    })
  })
})

describe("what waits", () => {
  it.effect("leaves the agent idle, and is handed over with the next answer, in a turn of its own", () =>
    withAgent((agent) =>
      Effect.gen(function* () {
        yield* agent.followup(reminder("stand up"))
        assert.strictEqual(yield* agent.status, "idle")
        const answer = yield* call("now")
        assert.deepStrictEqual([texts(answer.handed), answer.waiting], [["stand up"], 0])
        assert.deepStrictEqual(yield* starts, ["user", "reminder"])
        // The call itself was made before the client could know of the reminder: it stands in the user's turn.
        const calls = yield* Support.dataOf(id, AgentEvents.ToolCall)
        assert.deepStrictEqual(
          calls.map(({ turn }) => turn),
          [1]
        )
        yield* call("now")
        yield* quiet
        assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }, { kind: "completed" }])
        assert.deepStrictEqual((yield* call("now")).handed, [])
      })
    )
  )

  it.effect("comes one turn at a time, when the turn of the message before is over", () =>
    withAgent((agent) =>
      Effect.gen(function* () {
        yield* agent.followup(reminder("one"))
        yield* agent.followup(reminder("two"))
        const first = yield* call("now")
        assert.deepStrictEqual([texts(first.handed), first.waiting], [["one"], 1])
        assert.deepStrictEqual((yield* call("now")).handed, [])
        yield* quiet
        assert.deepStrictEqual(texts((yield* call("now")).handed), ["two"])
      })
    )
  )

  it.effect("for the next step is handed over within the turn that runs", () =>
    withAgent((agent, tools) =>
      Effect.gen(function* () {
        const waiting = yield* Effect.fork(call("wait"))
        yield* Deferred.await(tools.began)
        yield* agent.steer(notice)
        assert.deepStrictEqual(texts((yield* call("now")).handed), ["bash-1 finished"])
        yield* Deferred.succeed(tools.signal, undefined)
        assert.deepStrictEqual((yield* Fiber.join(waiting)).handed, [])
        assert.deepStrictEqual(yield* starts, ["user"])
      })
    )
  )

  it.effect("for a turn of its own waits for the calls that run", () =>
    withAgent((agent, tools) =>
      Effect.gen(function* () {
        const waiting = yield* Effect.fork(call("wait"))
        yield* Deferred.await(tools.began)
        yield* agent.followup(reminder("stand up"))
        assert.deepStrictEqual((yield* call("now")).handed, [])
        yield* Deferred.succeed(tools.signal, undefined)
        assert.deepStrictEqual(texts((yield* Fiber.join(waiting)).handed), ["stand up"])
      })
    )
  )

  it.effect("and was handed over right before the client left is handed over again", () =>
    Effect.gen(function* () {
      const tools = yield* makeTools
      yield* Effect.gen(function* () {
        const agents = yield* Agents
        const scope = yield* Scope.make()
        const agent = yield* Scope.extend(agents.create({ id }), scope)
        yield* agent.followup(reminder("stand up"))
        yield* call("now")
        yield* agent.inject(notice)
        yield* call("now")
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual((yield* Support.turnEnds(id)).at(-1), {
          kind: "aborted",
          cause: "the agent was disposed"
        })
        yield* agents.resume(id)
        // The reminder was followed by a call, the notice was not.
        assert.deepStrictEqual(texts((yield* call("now")).handed), ["bash-1 finished"])
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools.layer, layer())))
    })
  )

  it.effect("and had all been read leaves a turn that was completed when the client goes", () =>
    Effect.gen(function* () {
      const tools = yield* makeTools
      yield* Effect.gen(function* () {
        const agents = yield* Agents
        const scope = yield* Scope.make()
        yield* Scope.extend(agents.create({ id }), scope)
        yield* call("now")
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "completed" }])
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools.layer, layer())))
    })
  )
})

/** Runs an effect before each append. */
const interceptAppends = (before: (events: ReadonlyArray<EventInput>) => Effect.Effect<void, SessionStoreError>) =>
  Layer.effect(
    SessionLog,
    Effect.map(SessionLog, (log) => ({
      ...log,
      append: (session: SessionId, events: ReadonlyArray<EventInput>, options?: { readonly expectedSeq?: number }) =>
        Effect.zipRight(before(events), log.append(session, events, options))
    }))
  )
