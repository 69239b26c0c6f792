/** What every runtime of the agent seam keeps, whoever drives it. */
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
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Support from "../agents.js"

type Services = Agents | AgentExtensions | ToolRegistry.ToolRegistry | SessionLog

/** A runtime under test, on a memory log. */
export interface Runtime {
  readonly layer: Layer.Layer<Services>
  /** Whoever drives the agent takes what waits, until nothing does, and its turns end. */
  readonly settle: (agent: Agent) => Effect.Effect<void, never, Services>
  /** Whoever drives the agent calls a tool, to its end. */
  readonly act: (agent: Agent, name: string, input: unknown) => Effect.Effect<void, never, Services>
}

const id = "s1" as SessionId

const notice = AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "bash-1 finished")

const reminder = AgentMessage.text(
  { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
  "stand up"
)

const create = Effect.flatMap(Agents, (agents) => agents.create({ id }))

const claimedTexts = Effect.map(Support.dataOf(id, AgentEvents.UserMessage), (messages) =>
  messages.map((message) => AgentMessage.toText(message.content))
)

const toolkit = Toolkit.make(
  Tool.make("whoami", { description: "names the session", success: Schema.Struct({ session: Schema.String }) }),
  Tool.make("explode", { description: "dies" }),
  Tool.make("hang", { description: "never answers" })
)

export const declareAgentSeam = (name: string, runtime: Runtime): void => {
  const began = Deferred.unsafeMake<void>(0 as never)
  const tools = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
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
  const test = (what: string, body: Effect.Effect<void, unknown, Services | Scope.Scope>) =>
    it.effect(what, () => body.pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tools, runtime.layer))))

  describe(`${name}, as an agent`, () => {
    test(
      "delivers each followup in a turn of its own, in order, and what was injected along with the first",
      Effect.gen(function* () {
        const agent = yield* create
        yield* agent.inject(notice)
        assert.strictEqual(yield* agent.status, "idle")
        yield* agent.followup(AgentMessage.user("one"))
        yield* agent.followup(reminder)
        yield* runtime.settle(agent)
        assert.deepStrictEqual(yield* claimedTexts, ["bash-1 finished", "one", "stand up"])
        const splices = yield* Support.dataOf(id, AgentEvents.InboxSpliced)
        const turns = splices.filter(({ list, op }) => list === "nextTurn" && op === "claim")
        assert.deepStrictEqual(
          turns.map(({ ids }) => ids?.length),
          [1, 1]
        )
        assert.notStrictEqual(turns[0]?.turn, turns[1]?.turn)
        const starts = yield* Support.dataOf(id, AgentEvents.TurnStart)
        const sources = turns.map(({ turn }) => starts.find((start) => start.turn === turn)?.source.kind)
        assert.deepStrictEqual(sources, ["user", "reminder"])
        assert.strictEqual(yield* agent.status, "idle")
      })
    )

    test(
      "stores what goes along with a message, on its condition, and takes out what it replaces",
      Effect.gen(function* () {
        const agent = yield* create
        const along: EventInput = AgentEvents.ContextCompacted.make({ throughSeq: 0, summary: "-", kept: [] })
        const refused = yield* Effect.either(agent.inject(notice, { events: [along], expectedSeq: 7 }))
        assert.strictEqual(refused._tag === "Left" ? refused.left._tag : "stored", "SessionConflict")
        const waiting = yield* agent.inject(notice, { events: [along], expectedSeq: -1 })
        yield* agent.inject(AgentMessage.text(notice.source, "two finished"), { replaces: [waiting.id] })
        yield* agent.steer(AgentMessage.user("go"))
        yield* runtime.settle(agent)
        assert.deepStrictEqual(yield* claimedTexts, ["two finished", "go"])
      })
    )

    test(
      "keeps notices and reminders when it is cancelled, and drops what the user had queued",
      Effect.gen(function* () {
        const agent = yield* create
        yield* agent.inject(notice)
        const acting = yield* Effect.fork(runtime.act(agent, "hang", {}))
        yield* Deferred.await(began)
        yield* agent.inject(AgentMessage.text(reminder.source, "stand up"))
        yield* agent.followup(AgentMessage.user("queued"))
        yield* agent.cancel("user")
        yield* Fiber.interrupt(acting)
        const ends = yield* Support.turnEnds(id)
        assert.deepStrictEqual(ends.at(-1), { kind: "aborted", cause: "user" })
        const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
        assert.strictEqual(result?.error?.code, "TOOL_OUTCOME_UNKNOWN")
        yield* agent.steer(AgentMessage.user("go on"))
        yield* runtime.settle(agent)
        const texts = yield* claimedTexts
        assert.includeMembers([...texts], ["bash-1 finished", "stand up", "go on"])
        assert.notInclude(texts, "queued")
      })
    )

    test(
      "runs maintenance alone, and delivers afterwards what came meanwhile",
      Effect.gen(function* () {
        const agent = yield* create
        const release = yield* Deferred.make<void>()
        const maintenance = yield* Effect.fork(agent.runMaintenance(Deferred.await(release)))
        yield* Effect.yieldNow()
        assert.strictEqual(yield* agent.status, "running")
        assert.strictEqual((yield* Effect.flip(agent.runMaintenance(Effect.void)))._tag, "AgentBusy")
        yield* agent.followup(AgentMessage.user("meanwhile"))
        assert.deepStrictEqual(yield* claimedTexts, [])
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(maintenance)
        yield* runtime.settle(agent)
        assert.deepStrictEqual(yield* claimedTexts, ["meanwhile"])
        yield* agent.runMaintenance(Effect.void)
      })
    )

    test(
      "gives its tools the agent that calls, and answers what a handler does wrong",
      Effect.gen(function* () {
        const agent = yield* create
        yield* runtime.act(agent, "whoami", {})
        yield* runtime.act(agent, "explode", {})
        yield* runtime.act(agent, "whoami", { surprise: 1 })
        const results = yield* Support.dataOf(id, AgentEvents.ToolResult)
        assert.deepStrictEqual(
          results.map(({ error, ok, value }) => (ok ? value : error?.code)),
          [{ session: "s1" }, "internal_error", "invalid_arguments"]
        )
        const calls = yield* Support.dataOf(id, AgentEvents.ToolCall)
        assert.deepStrictEqual(
          calls.map(({ callId }) => callId),
          results.map(({ callId }) => callId)
        )
        assert.strictEqual(new Set(calls.map(({ callId }) => callId)).size, 3)
      })
    )

    test(
      "releases its extensions while the session may be written to, and its lease at the end",
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
        assert.deepStrictEqual(seen, ["Success"])
        assert.strictEqual((yield* Effect.flip(agent.inject(notice)))._tag, "AgentClosed")
        assert.deepStrictEqual(yield* agents.list, [])
        const again = yield* agents.resume(id)
        yield* again.steer(AgentMessage.user("hello again"))
        yield* runtime.settle(again)
        assert.deepStrictEqual(yield* claimedTexts, ["bash-1 finished", "hello again"])
      })
    )

    test(
      "closes what a process left open when it died, answers its calls and delivers what waited",
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
        assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "interrupted" }])
        yield* runtime.settle(agent)
        assert.deepStrictEqual(yield* claimedTexts, ["stand up", "stand up"])
      })
    )
  })
}
