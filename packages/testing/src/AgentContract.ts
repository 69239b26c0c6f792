/**
 * What every runtime of the agent seam keeps, whoever drives it: cases to run over a runtime of one's own, in any test framework.
 *
 * @since 0.1.0
 */
import { deepStrictEqual, notStrictEqual, ok, strictEqual } from "node:assert"
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/**
 * What a runtime under test provides.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = Agents | AgentExtensions | ToolRegistry.ToolRegistry | SessionLog

/**
 * A runtime under test. `layer` is built anew for each case, over a log that holds nothing; what it provides beyond the seam is there
 * for whoever drives the agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface Runtime<R = never> {
  readonly layer: Layer.Layer<Services | R>
  /** Whoever drives the agent takes what waits, until nothing does, and its turns end. */
  readonly settle: (agent: Agent) => Effect.Effect<void, never, Services | R>
  /** Whoever drives the agent calls a tool, to its end. */
  readonly act: (agent: Agent, name: string, input: unknown) => Effect.Effect<void, never, Services | R>
}

/**
 * A promise of the seam. `run` fails or dies where the runtime breaks it.
 *
 * @since 0.1.0
 * @category models
 */
export interface ContractCase {
  readonly name: string
  readonly run: Effect.Effect<void, unknown>
}

/**
 * The cases that prove a runtime of the seam. Each is run for itself, under whatever clock the caller has. What is logged
 * meanwhile is dropped: a tool that dies is among the cases.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cases = <R = never>(runtime: Runtime<R>): ReadonlyArray<ContractCase> =>
  promises.map(({ name, body }) => ({
    name,
    run: Effect.flatMap(Deferred.make<void>(), (began) =>
      body<R>({ runtime, began }).pipe(
        Effect.scoped,
        Effect.provide(Layer.provideMerge(tools(began), runtime.layer)),
        Logger.withMinimumLogLevel(LogLevel.None)
      )
    )
  }))

/** `began` is done when the tool that hangs was called. */
interface Under<R> {
  readonly runtime: Runtime<R>
  readonly began: Deferred.Deferred<void>
}

const id = "s1" as SessionId

const notice = AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "bash-1 finished")

const reminder = AgentMessage.text(
  { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
  "stand up"
)

const create = Effect.flatMap(Agents, (agents) => agents.create({ id }))

const eventsOf = Effect.flatMap(SessionLog, (log) => Stream.runCollect(log.read(id)))

const dataOf = <A, I>(type: { readonly type: string; readonly schema: Schema.Schema<A, I> }) =>
  Effect.map(eventsOf, (events) =>
    [...events].filter((event) => event.type === type.type).map((event) => event.data as A)
  )

const turnEnds = Effect.map(dataOf(AgentEvents.TurnEnd), (ends) => ends.map(({ reason }) => reason))

const claimedTexts = Effect.map(dataOf(AgentEvents.UserMessage), (messages) =>
  messages.map((message) => AgentMessage.toText(message.content))
)

const toolkit = Toolkit.make(
  Tool.make("whoami", { description: "names the session", success: Schema.Struct({ session: Schema.String }) }),
  Tool.make("explode", { description: "dies" }),
  Tool.make("hang", { description: "never answers" })
)

const tools = (began: Deferred.Deferred<void>) =>
  ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
    Layer.provide(
      toolkit.toLayer({
        whoami: () =>
          Effect.map(Effect.serviceOption(CurrentAgent), (agent) => ({
            session: agent._tag === "Some" ? agent.value.id : "nobody"
          })),
        explode: () => Effect.dieMessage("a bug"),
        hang: () => Effect.zipRight(Deferred.succeed(began, undefined), Effect.never)
      })
    )
  )

const followups = <R>({ runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agent = yield* create
    yield* agent.inject(notice)
    strictEqual(yield* agent.status, "idle")
    yield* agent.followup(AgentMessage.user("one"))
    yield* agent.followup(reminder)
    yield* runtime.settle(agent)
    deepStrictEqual(yield* claimedTexts, ["bash-1 finished", "one", "stand up"])
    const splices = yield* dataOf(AgentEvents.InboxSpliced)
    const turns = splices.filter(({ list, op }) => list === "nextTurn" && op === "claim")
    deepStrictEqual(
      turns.map(({ ids }) => ids?.length),
      [1, 1]
    )
    notStrictEqual(turns[0]?.turn, turns[1]?.turn)
    const starts = yield* dataOf(AgentEvents.TurnStart)
    const sources = turns.map(({ turn }) => starts.find((start) => start.turn === turn)?.source.kind)
    deepStrictEqual(sources, ["user", "reminder"])
    strictEqual(yield* agent.status, "idle")
  })

const companions = <R>({ runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agent = yield* create
    const along: EventInput = AgentEvents.ContextCompacted.make({ throughSeq: 0, summary: "-", kept: [] })
    const refused = yield* Effect.either(agent.inject(notice, { events: [along], expectedSeq: 7 }))
    strictEqual(refused._tag === "Left" ? refused.left._tag : "stored", "SessionConflict")
    const waiting = yield* agent.inject(notice, { events: [along], expectedSeq: -1 })
    yield* agent.inject(AgentMessage.text(notice.source, "two finished"), { replaces: [waiting.id] })
    yield* agent.steer(AgentMessage.user("go"))
    yield* runtime.settle(agent)
    deepStrictEqual(yield* claimedTexts, ["two finished", "go"])
  })

const cancellation = <R>({ began, runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agent = yield* create
    yield* agent.inject(notice)
    const acting = yield* Effect.fork(runtime.act(agent, "hang", {}))
    yield* Deferred.await(began)
    yield* agent.inject(AgentMessage.text(reminder.source, "stand up"))
    yield* agent.followup(AgentMessage.user("queued"))
    yield* agent.cancel("user")
    yield* Fiber.interrupt(acting)
    const ends = yield* turnEnds
    deepStrictEqual(ends.at(-1), { kind: "aborted", cause: "user" })
    const [result] = yield* dataOf(AgentEvents.ToolResult)
    strictEqual(result?.error?.code, "TOOL_OUTCOME_UNKNOWN")
    yield* agent.steer(AgentMessage.user("go on"))
    yield* runtime.settle(agent)
    const texts = yield* claimedTexts
    ok(["bash-1 finished", "stand up", "go on"].every((text) => texts.includes(text)))
    ok(!texts.includes("queued"))
  })

const maintenance = <R>({ runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agent = yield* create
    const release = yield* Deferred.make<void>()
    const maintenance = yield* Effect.fork(agent.runMaintenance(Deferred.await(release)))
    yield* Effect.yieldNow()
    strictEqual(yield* agent.status, "running")
    strictEqual((yield* Effect.flip(agent.runMaintenance(Effect.void)))._tag, "AgentBusy")
    yield* agent.followup(AgentMessage.user("meanwhile"))
    deepStrictEqual(yield* claimedTexts, [])
    yield* Deferred.succeed(release, undefined)
    yield* Fiber.join(maintenance)
    yield* runtime.settle(agent)
    deepStrictEqual(yield* claimedTexts, ["meanwhile"])
    yield* agent.runMaintenance(Effect.void)
  })

const tooling = <R>({ runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agent = yield* create
    yield* runtime.act(agent, "whoami", {})
    yield* runtime.act(agent, "explode", {})
    yield* runtime.act(agent, "whoami", { surprise: 1 })
    const results = yield* dataOf(AgentEvents.ToolResult)
    deepStrictEqual(
      results.map(({ error, ok, value }) => (ok ? value : error?.code)),
      [{ session: "s1" }, "internal_error", "invalid_arguments"]
    )
    const calls = yield* dataOf(AgentEvents.ToolCall)
    deepStrictEqual(
      calls.map(({ callId }) => callId),
      results.map(({ callId }) => callId)
    )
    strictEqual(new Set(calls.map(({ callId }) => callId)).size, 3)
  })

const release = <R>({ runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const extensions = yield* AgentExtensions
    const seen: Array<string> = []
    yield* extensions.register((agent) =>
      Effect.addFinalizer(() => Effect.map(Effect.exit(agent.inject(notice)), (exit) => void seen.push(exit._tag)))
    )
    const scope = yield* Scope.make()
    const agent = yield* Scope.extend(create, scope)
    yield* Scope.close(scope, Exit.void)
    deepStrictEqual(seen, ["Success"])
    strictEqual((yield* Effect.flip(agent.inject(notice)))._tag, "AgentClosed")
    deepStrictEqual(yield* agents.list, [])
    const again = yield* agents.resume(id)
    yield* again.steer(AgentMessage.user("hello again"))
    yield* runtime.settle(again)
    deepStrictEqual(yield* claimedTexts, ["bash-1 finished", "hello again"])
  })

const repair = <R>({ runtime }: Under<R>) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const log = yield* SessionLog
    yield* log.create({ id })
    const due: AgentMessage.AgentMessage = { id: "msg-1", ...reminder }
    yield* log.append(id, [
      AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "insert", messages: [due] }),
      AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: [due.id], turn: 1 }),
      AgentEvents.TurnStart.make({ turn: 1, source: reminder.source }),
      AgentEvents.UserMessage.make(due)
    ])
    const agent = yield* agents.resume(id)
    deepStrictEqual(yield* turnEnds, [{ kind: "interrupted" }])
    yield* runtime.settle(agent)
    deepStrictEqual(yield* claimedTexts, ["stand up", "stand up"])
  })

const promises: ReadonlyArray<{
  readonly name: string
  readonly body: <R>(under: Under<R>) => Effect.Effect<void, unknown, Services | R | Scope.Scope>
}> = [
  {
    name: "delivers each followup in a turn of its own, in order, and what was injected along with the first",
    body: followups
  },
  { name: "stores what goes along with a message, on its condition, and takes out what it replaces", body: companions },
  { name: "keeps notices and reminders when it is cancelled, and drops what the user had queued", body: cancellation },
  { name: "runs maintenance alone, and delivers afterwards what came meanwhile", body: maintenance },
  { name: "gives its tools the agent that calls, and answers what a handler does wrong", body: tooling },
  { name: "releases its extensions while the session may be written to, and its lease at the end", body: release },
  { name: "closes what a process left open when it died, answers its calls and delivers what waited", body: repair }
]
