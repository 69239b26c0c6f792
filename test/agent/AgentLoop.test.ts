import type { Agent } from "@afterturn/agent/Agent"
import { AgentBusy, AgentClosed } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { AgentExtensions, Agents } from "@afterturn/agent/Agents"
import * as Compaction from "@afterturn/agent/Compaction"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { EventInput, SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { SessionStore, SessionStoreError } from "@afterturn/session-log/SessionStore"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"

const id = "s1" as SessionId

const create = Effect.flatMap(Agents, (agents) => agents.create({ id }))

const notice = AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "bash-1 finished")

const reminder = AgentMessage.text(
  { kind: "reminder", occurrences: [{ id: "schedule-1", occurrenceAt: "2026-01-01T09:00:00.000Z" }] },
  "stand up"
)

/** A tool that waits for a signal, and tells that it began. */
const waitTool = Effect.gen(function* () {
  const began = yield* Deferred.make<void>()
  const signal = yield* Deferred.make<void>()
  const toolkit = Toolkit.make(Tool.make("wait", { description: "waits", success: Schema.String }))
  const layer = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
    Layer.provide(
      toolkit.toLayer({
        wait: () =>
          Deferred.succeed(began, undefined).pipe(Effect.zipRight(Deferred.await(signal)), Effect.as("waited"))
      })
    )
  )
  return { began, signal, layer }
})

const claimedTexts = (sessionId: SessionId) =>
  Effect.map(Support.dataOf(sessionId, AgentEvents.UserMessage), (messages) =>
    messages.map((message) => AgentMessage.toText(message.content))
  )

describe("a turn", () => {
  const model = FakeModel.replies({ text: "hello" })
  it.effect("is logged from the message to its end", () =>
    Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      const events = yield* Support.events(id)
      assert.deepStrictEqual(
        events.map((event) => event.type),
        [
          "agent/inbox/spliced",
          "agent/inbox/spliced",
          "turn/start",
          "user/message",
          "step/start",
          "assistant/message",
          "step/end",
          "turn/end"
        ]
      )
      assert.deepStrictEqual(events[1]?.data, { list: "nextTurn", op: "claim", ids: ["msg-1"], turn: 1 })
      assert.deepStrictEqual(events[2]?.data, { turn: 1, source: { kind: "user" } })
      assert.deepStrictEqual(events[3]?.data, {
        id: "msg-1",
        source: { kind: "user" },
        content: [{ type: "text", text: "hi" }]
      })
      assert.deepStrictEqual(events[5]?.data, {
        id: "answer-1-1",
        turn: 1,
        step: 1,
        route: "fake:model",
        content: [{ type: "text", text: "hello" }],
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
      })
      assert.deepStrictEqual(events[7]?.data, { turn: 1, reason: { kind: "completed" } })
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  )

  it.effect("takes each followup alone, in order, and what was injected along with the first", () => {
    const model = FakeModel.replies()
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.inject(notice)
      assert.strictEqual(yield* agent.status, "idle")
      yield* agent.followup(AgentMessage.user("one"))
      yield* agent.followup(AgentMessage.user("two"))
      yield* agent.whenIdle
      const starts = yield* Support.dataOf(id, AgentEvents.TurnStart)
      assert.deepStrictEqual(
        starts.map((start) => start.source.kind),
        ["user", "user"]
      )
      assert.deepStrictEqual(yield* claimedTexts(id), ["bash-1 finished", "one", "two"])
      assert.strictEqual(model.prompts[1]?.filter((message) => message.role === "user").length, 3)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("goes on while tools are called and ends at the step limit", () => {
    const model = FakeModel.make(() => ({ calls: [{ name: "nothing", input: {} }] }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("loop"))
      yield* agent.whenIdle
      assert.strictEqual(model.requests.length, 3)
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "step-limit", maxSteps: 3 }])
      yield* agent.followup(AgentMessage.user("again"))
      yield* agent.whenIdle
      assert.strictEqual(model.requests.length, 6)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer, { maxStepsPerTurn: 3 })))
  })

  it.effect("streams text and stored events to spectators in one order", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const seen = yield* agent.output.pipe(
        Stream.takeUntil((output) => output._tag === "Event" && output.event.type === "turn/end"),
        Stream.map((output) => (output._tag === "Event" ? output.event.type : output._tag)),
        Stream.runCollect,
        Effect.fork
      )
      yield* Effect.yieldNow()
      yield* agent.followup(AgentMessage.user("hi"))
      const order = [...(yield* Fiber.join(seen))]
      assert.deepStrictEqual(order.slice(order.indexOf("step/start")), [
        "step/start",
        "Text",
        "assistant/message",
        "step/end",
        "turn/end"
      ])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies({ text: "hello" }).layer)))
  )
})

describe("the inbox", () => {
  it.effect("hands a steered message to the next step of the running turn", () => {
    const steer = Ref.unsafeMake<Effect.Effect<void>>(Effect.void)
    const model = FakeModel.make((request) => ({
      text: `answer ${request}`,
      first: request === 0 ? Effect.flatten(Ref.get(steer)) : Effect.void
    }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* Ref.set(steer, Effect.orDie(Effect.asVoid(agent.steer(AgentMessage.user("also this")))))
      yield* agent.followup(AgentMessage.user("do that"))
      yield* agent.whenIdle
      assert.strictEqual((yield* Support.turnEnds(id)).length, 1)
      assert.strictEqual(model.requests.length, 2)
      assert.deepStrictEqual(yield* claimedTexts(id), ["do that", "also this"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("wakes an idle agent for a steered message and not for an injected one", () =>
    Effect.gen(function* () {
      const agent = yield* create
      yield* agent.inject(notice)
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* Support.turnEnds(id), [])
      yield* agent.steer(AgentMessage.user("now"))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["bash-1 finished", "now"])
      const [start] = yield* Support.dataOf(id, AgentEvents.TurnStart)
      assert.deepStrictEqual(start?.source, { kind: "user" })
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("strands no message that arrives while a turn is being closed", () => {
    const closing = Deferred.unsafeMake<void>(0 as never)
    const release = Deferred.unsafeMake<void>(0 as never)
    const slowClose = interceptAppends((events) =>
      events.some((event) => event.type === "turn/end")
        ? Deferred.succeed(closing, undefined).pipe(Effect.zipRight(Deferred.await(release)))
        : Effect.void
    )
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("first"))
      yield* Deferred.await(closing)
      const late = yield* Effect.fork(agent.steer(AgentMessage.user("late")))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(late)
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["first", "late"])
      assert.strictEqual((yield* Support.turnEnds(id)).length, 2)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer, undefined, slowClose)))
  })

  it.effect("replaces messages that still wait, and none that was claimed", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const claimed = yield* agent.steer(AgentMessage.user("claimed"))
      yield* agent.whenIdle
      const waiting = yield* agent.inject(notice)
      yield* agent.inject(AgentMessage.text({ kind: "job-notice", jobs: ["bash-1", "bash-2"] }, "both finished"), {
        replaces: [claimed.id, waiting.id]
      })
      yield* agent.steer(AgentMessage.user("go"))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["claimed", "both finished", "go"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("stores what goes along with a message in the same append, on its condition", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const log = yield* SessionLog
      const along: EventInput = AgentEvents.ContextCompacted.make({ throughSeq: 0, summary: "-", kept: [] })
      const stale = yield* Effect.either(agent.inject(notice, { events: [along], expectedSeq: 7 }))
      assert.strictEqual(stale._tag === "Left" ? stale.left._tag : "stored", "SessionConflict")
      assert.strictEqual(yield* log.lastSeq(id), -1)
      const alarms = [{ key: "reminders", dueAt: "2026-03-09T06:30:00.000Z" }]
      yield* agent.inject(notice, { events: [along], alarms, expectedSeq: -1 })
      assert.deepStrictEqual(yield* Support.types(id), ["agent/inbox/spliced", "context/compacted"])
      assert.deepStrictEqual(
        yield* Effect.flatMap(SessionAlarms, ({ of }) => of(id)),
        alarms.map((alarm) => ({ sessionId: id, ...alarm }))
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )
})

describe("cancel", () => {
  it.effect("ends the turn as aborted, drops what the user queued and keeps notices", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("work"))
      yield* model.asked(0)
      yield* agent.followup(AgentMessage.user("queued"))
      yield* agent.inject(notice)
      yield* agent.cancel("user")
      assert.strictEqual(yield* agent.status, "idle")
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "aborted", cause: "user" }])
      yield* agent.followup(AgentMessage.user("next"))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["work", "bash-1 finished", "next"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("keeps the inbox when told to", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("work"))
      yield* model.asked(0)
      yield* agent.followup(AgentMessage.user("queued"))
      yield* agent.cancel("user", { keepInbox: true })
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["work", "queued"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("answers the call that it cut off, before anything else is said", () =>
    Effect.gen(function* () {
      const tool = yield* waitTool
      const model = FakeModel.replies({ calls: [{ name: "wait", input: {} }] }, { text: "ok" })
      yield* Effect.gen(function* () {
        const agent = yield* create
        yield* agent.followup(AgentMessage.user("work"))
        yield* Deferred.await(tool.began)
        yield* agent.cancel("user")
        const [result] = yield* Support.dataOf(id, AgentEvents.ToolResult)
        assert.strictEqual(result?.error?.code, "TOOL_OUTCOME_UNKNOWN")
        yield* agent.followup(AgentMessage.user("go on"))
        yield* agent.whenIdle
        assert.deepStrictEqual(
          model.prompts[1]?.map((message) => message.role),
          ["system", "user", "assistant", "tool", "user"]
        )
      }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tool.layer, Support.layer(model.layer))))
    })
  )

  it.effect("lets a reminder wait for the next turn when the model had not answered it", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(reminder)
      yield* model.asked(0)
      yield* agent.cancel("user")
      yield* agent.whenIdle
      assert.strictEqual(model.requests.length, 1)
      yield* agent.followup(AgentMessage.user("hello"))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["stand up", "stand up", "hello"])
      const ids = (yield* Support.dataOf(id, AgentEvents.UserMessage)).map((message) => message.id)
      assert.deepStrictEqual(ids, ["msg-1", "msg-1", "msg-2"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })
})

describe("resuming", () => {
  /** What a process leaves behind that dies in the middle: these events, and nothing alive. */
  const leftBehind = (events: ReadonlyArray<EventInput>) =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* log.create({ id })
      yield* log.append(id, events)
    })

  const insert = (list: "nextTurn" | "nextStep", message: AgentMessage.AgentMessage) =>
    AgentEvents.InboxSpliced.make({ list, op: "insert", messages: [message] })

  const asked: AgentMessage.AgentMessage = { id: "msg-1", ...AgentMessage.user("work") }

  const openTurn = [
    insert("nextTurn", asked),
    AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: ["msg-1"], turn: 1 }),
    AgentEvents.TurnStart.make({ turn: 1, source: { kind: "user" } }),
    AgentEvents.UserMessage.make(asked),
    AgentEvents.StepStart.make({ turn: 1, step: 1 })
  ]

  const calls = AgentEvents.AssistantMessage.make({
    id: "answer-1-1",
    turn: 1,
    step: 1,
    route: "fake:model",
    content: ["a", "b", "c"].map((callId) => ({ type: "tool-call", callId, name: "wait", input: {} })),
    finishReason: "tool-calls",
    usage: { inputTokens: null, outputTokens: null }
  })

  it.effect("closes an interrupted turn and says of each call whether it had started", () => {
    const model = FakeModel.replies({ text: "ok" })
    return Effect.gen(function* () {
      yield* leftBehind([
        ...openTurn,
        calls,
        AgentEvents.ToolCall.make({ callId: "a", turn: 1, step: 1, name: "wait", input: {} }),
        AgentEvents.ToolResult.make({ callId: "a", name: "wait", ok: true, text: "fine" }),
        AgentEvents.ToolCall.make({ callId: "b", turn: 1, step: 1, name: "wait", input: {} })
      ])
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(id))
      const results = yield* Support.dataOf(id, AgentEvents.ToolResult)
      assert.deepStrictEqual(
        results.map((result) => [result.callId, result.error?.code]),
        [
          ["a", undefined],
          ["b", "TOOL_OUTCOME_UNKNOWN"],
          ["c", "TOOL_NOT_STARTED"]
        ]
      )
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "interrupted" }])
      assert.strictEqual(yield* agent.status, "idle")
      yield* agent.followup(AgentMessage.user("go on"))
      yield* agent.whenIdle
      const starts = yield* Support.dataOf(id, AgentEvents.TurnStart)
      assert.deepStrictEqual(
        starts.map((start) => start.turn),
        [1, 2]
      )
      const tool = model.prompts[0]?.find((message) => message.role === "tool")
      assert.strictEqual(tool?.content.length, 3)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  it.effect("delivers the messages that waited", () =>
    Effect.gen(function* () {
      yield* leftBehind([
        ...openTurn,
        insert("nextStep", { id: "msg-2", ...notice }),
        insert("nextTurn", { id: "msg-3", ...AgentMessage.user("later") })
      ])
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(id))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["work", "bash-1 finished", "later"])
      yield* agent.followup(AgentMessage.user("more"))
      yield* agent.whenIdle
      const ids = (yield* Support.dataOf(id, AgentEvents.UserMessage)).map((message) => message.id)
      assert.deepStrictEqual(ids, ["msg-1", "msg-2", "msg-3", "msg-4"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("puts a claimed reminder back when its turn died before the model answered", () =>
    Effect.gen(function* () {
      const waiting: AgentMessage.AgentMessage = { id: "msg-1", ...reminder }
      yield* leftBehind([
        insert("nextTurn", waiting),
        AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "claim", ids: ["msg-1"], turn: 1 }),
        AgentEvents.TurnStart.make({ turn: 1, source: waiting.source }),
        AgentEvents.UserMessage.make(waiting)
      ])
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(id))
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* Support.turnEnds(id), [{ kind: "interrupted" }, { kind: "completed" }])
      assert.deepStrictEqual(yield* claimedTexts(id), ["stand up", "stand up"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("begins a fork with an empty inbox, nothing open, and numbers that were never used", () =>
    Effect.gen(function* () {
      yield* leftBehind([...openTurn, insert("nextTurn", { id: "msg-9", ...AgentMessage.user("parent's") })])
      const log = yield* SessionLog
      const child = yield* log.fork(id, { boundary: yield* log.lastSeq(id), id: "s2" as SessionId })
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(child.id))
      assert.strictEqual(yield* agent.status, "idle")
      const message = yield* agent.followup(AgentMessage.user("child's"))
      yield* agent.whenIdle
      assert.strictEqual(message.id, "msg-10")
      const starts = yield* Support.dataOf(child.id, AgentEvents.TurnStart)
      assert.deepStrictEqual(
        starts.map((start) => start.turn),
        [1, 2]
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )
})

describe("a damaged log", () => {
  const damage = (sessionId: SessionId) =>
    Effect.flatMap(SessionStore, (store) =>
      store.commit([
        {
          sessionId,
          expectedSeq: undefined,
          epoch: undefined,
          now: 0,
          events: [{ type: "assistant/message", time: 0, data: "{}", sourceEventSeqs: null, ignorable: false }]
        }
      ])
    )

  it.effect("is not driven: the error names the event", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      yield* log.create({ id })
      yield* damage(id)
      const error = yield* Effect.flip(Effect.flatMap(Agents, (agents) => agents.resume(id)))
      assert.match(error.message, /corrupt at seq 0: event "assistant\/message"/)
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("that a snapshot passed over ends the turn that would read it", () =>
    Effect.gen(function* () {
      const log = yield* SessionLog
      const projections = yield* Projections
      yield* log.create({ id })
      const store = yield* SessionStore
      yield* damage(id)
      yield* store.saveSnapshot(id, {
        key: AgentLog.state.key,
        version: AgentLog.state.version,
        seq: 0,
        state: JSON.stringify(AgentLog.state.initial)
      })
      assert.strictEqual((yield* projections.get(id, AgentLog.state)).asOfSeq, 0)
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(id))
      yield* agent.followup(AgentMessage.user("hi"))
      yield* agent.whenIdle
      const [end] = yield* Support.turnEnds(id)
      assert.strictEqual(end?.kind === "error" ? end.error.code : end?.kind, "session_log_corrupt")
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )
})

describe("disposal", () => {
  it.effect("ends the turn, releases extensions while the log may be written, gives the lease up and closes", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const extensions = yield* AgentExtensions
      yield* extensions.register((agent) =>
        Effect.addFinalizer(() => Effect.orDie(Effect.asVoid(agent.inject(notice))))
      )
      const scope = yield* Scope.make()
      const agents = yield* Agents
      const agent = yield* Scope.extend(agents.create({ id }), scope)
      yield* agent.followup(AgentMessage.user("work"))
      yield* model.asked(0)
      yield* agent.followup(AgentMessage.user("queued"))
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(
        (yield* Support.turnEnds(id)).map((reason) => reason.kind),
        ["aborted"]
      )
      assert.strictEqual((yield* Support.types(id)).at(-1), "agent/inbox/spliced")
      assert.strictEqual(yield* agents.get(id), undefined)
      assert.instanceOf(yield* Effect.flip(agent.followup(AgentMessage.user("too late"))), AgentClosed)
      yield* agent.whenIdle
      const again = yield* agents.resume(id)
      yield* again.followup(AgentMessage.user("go on"))
      yield* again.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["work", "bash-1 finished", "queued", "go on"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })

  for (const end of ["disposal", "cancel"] as const) {
    it.effect(`stores what a handler answers during a ${end}, once, before the turn's end`, () =>
      Effect.gen(function* () {
        const began = yield* Deferred.make<void>()
        const signal = yield* Deferred.make<void>()
        const toolkit = Toolkit.make(
          Tool.make("stubborn", { description: "cannot be stopped", success: Schema.String })
        )
        const tool = ToolRegistry.layerToolkit(toolkit, { package: "test", requires: [], writes: [] }).pipe(
          Layer.provide(
            toolkit.toLayer({
              stubborn: () =>
                Deferred.succeed(began, undefined).pipe(
                  Effect.zipRight(Deferred.await(signal)),
                  Effect.as("finished"),
                  Effect.uninterruptible
                )
            })
          )
        )
        const model = FakeModel.replies({ calls: [{ name: "stubborn", input: {} }] }, { text: "ok" })
        yield* Effect.gen(function* () {
          const scope = yield* Scope.make()
          const agent = yield* Effect.flatMap(Agents, (agents) => Scope.extend(agents.create({ id }), scope))
          yield* agent.followup(AgentMessage.user("work"))
          yield* Deferred.await(began)
          const ending = yield* Effect.fork(
            end === "disposal" ? Scope.close(scope, Exit.void) : Effect.orDie(agent.cancel("user"))
          )
          for (let n = 0; n < 20; n++) yield* Effect.yieldNow()
          yield* Deferred.succeed(signal, undefined)
          yield* Fiber.join(ending)
          const events = yield* Support.events(id)
          assert.deepStrictEqual(
            events.map(({ type }) => type).filter((type) => type === "tool/result" || type === "turn/end"),
            ["tool/result", "turn/end"]
          )
          yield* Scope.close(scope, Exit.void)
        }).pipe(Effect.scoped, Effect.provide(Layer.provideMerge(tool, Support.layer(model.layer))))
      })
    )
  }

  it.effect("refuses a second agent of the same session and lists the live ones", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const agent = yield* agents.create({ id })
      const child = yield* agents.create({ parent: id, delegationDepth: 1 })
      assert.strictEqual((yield* Effect.flip(agents.resume(id)))._tag, "SessionLeased")
      assert.deepStrictEqual(
        (yield* agents.list).map((live) => live.id),
        [agent.id, child.id]
      )
      assert.deepStrictEqual(
        (yield* agents.roots).map((live) => live.id),
        [agent.id]
      )
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )
})

describe("maintenance", () => {
  it.effect("takes the idle phase alone, and waking messages wait for its end", () =>
    Effect.gen(function* () {
      const agent = yield* create
      const running = yield* Deferred.make<void>()
      const finish = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        agent.runMaintenance(Effect.zipRight(Deferred.succeed(running, undefined), Deferred.await(finish)))
      )
      yield* Deferred.await(running)
      assert.instanceOf(yield* Effect.flip(agent.runMaintenance(Effect.void)), AgentBusy)
      yield* agent.followup(AgentMessage.user("hi"))
      assert.deepStrictEqual(yield* claimedTexts(id), [])
      yield* Deferred.succeed(finish, undefined)
      yield* Fiber.join(fiber)
      yield* agent.whenIdle
      assert.deepStrictEqual(yield* claimedTexts(id), ["hi"])
    }).pipe(Effect.scoped, Effect.provide(Support.layer(FakeModel.replies().layer)))
  )

  it.effect("is refused while a turn runs or is about to, and given back when interrupted", () => {
    const model = FakeModel.make((request) => (request === 0 ? { hang: true } : { text: "ok" }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("hi"))
      assert.instanceOf(yield* Effect.flip(agent.runMaintenance(Effect.void)), AgentBusy)
      yield* model.asked(0)
      assert.instanceOf(yield* Effect.flip(agent.runMaintenance(Effect.void)), AgentBusy)
      yield* agent.cancel("user")
      const fiber = yield* Effect.fork(agent.runMaintenance(Effect.never))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      yield* agent.runMaintenance(Effect.void)
      assert.strictEqual(yield* agent.status, "idle")
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer)))
  })
})

describe("trouble below", () => {
  it.effect("ends the turn with an error once the store takes it, and goes on when asked again", () => {
    const broken = Ref.unsafeMake(false)
    const refusals = Ref.unsafeMake(0)
    const triedToClose = Deferred.unsafeMake<void>(0 as never)
    const refuse = Ref.updateAndGet(refusals, (count) => count + 1).pipe(
      Effect.tap((count) => (count === 2 ? Deferred.succeed(triedToClose, undefined) : Effect.void)),
      Effect.zipRight(Effect.fail(new SessionStoreError({ reason: "full", message: "no space left" })))
    )
    const full = interceptAppends(() => Effect.flatMap(Ref.get(broken), (is) => (is ? refuse : Effect.void)))
    const model = FakeModel.make((request) => ({
      text: "ok",
      first: request === 0 ? Ref.set(broken, true) : Effect.void
    }))
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("work"))
      yield* Deferred.await(triedToClose)
      const refused = yield* Effect.flip(agent.inject(notice))
      assert.strictEqual(refused._tag, "SessionStoreError")
      yield* Ref.set(broken, false)
      yield* TestClock.adjust("1 minute")
      yield* agent.whenIdle
      const [end] = yield* Support.turnEnds(id)
      assert.deepStrictEqual(end, { kind: "error", error: { code: "store_full", message: "no space left" } })
      yield* agent.followup(AgentMessage.user("again"))
      yield* agent.whenIdle
      assert.strictEqual((yield* Support.turnEnds(id)).at(-1)?.kind, "completed")
    }).pipe(Effect.scoped, Effect.provide(Support.layer(model.layer, undefined, full)))
  })
})

describe("a long history", () => {
  it.effect("is replaced by a summary, but never what the turn is about", () => {
    const model = FakeModel.replies({ text: "x".repeat(400) }, { text: "ok" })
    const summarizer = Layer.succeed(Compaction.Compaction, {
      summarize: (_agent: Agent, messages: ReadonlyArray<unknown>) =>
        Effect.succeed({ summary: `${messages.length} messages`, kept: [] })
    })
    return Effect.gen(function* () {
      const agent = yield* create
      yield* agent.followup(AgentMessage.user("one"))
      yield* agent.followup(AgentMessage.user("two"))
      yield* agent.whenIdle
      const users = (model.prompts[1] ?? []).filter((message) => message.role === "user")
      assert.deepStrictEqual(
        users.map((message) => (message.content[0]?.type === "text" ? message.content[0].text : "")),
        ["Summary of the conversation so far:\n\n2 messages", "two"]
      )
    }).pipe(
      Effect.scoped,
      Effect.provide(Support.layer(Layer.merge(model.layer, summarizer), { maxHistoryTokens: 50 }))
    )
  })
})

/** A log that does something before each append. */
function interceptAppends(
  before: (events: ReadonlyArray<EventInput>) => Effect.Effect<void, SessionStoreError>
): Layer.Layer<SessionLog, never, SessionLog> {
  return Layer.effect(
    SessionLog,
    Effect.map(SessionLog, (log) => ({
      ...log,
      append: (sessionId, events, options) => Effect.zipRight(before(events), log.append(sessionId, events, options))
    }))
  )
}
