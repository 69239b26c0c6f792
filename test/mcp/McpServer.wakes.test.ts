import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Events from "../support/agents.js"
import * as Session from "./support/session.js"

const { call, texts } = Session

type Services = Layer.Layer.Success<ReturnType<typeof Session.layerDriven>> | Scope.Scope

const test = (
  name: string,
  body: Effect.Effect<void, unknown, Services>,
  options?: Parameters<typeof Session.layerDriven>[0]
) => it.effect(name, () => body.pipe(Effect.scoped, Effect.provide(Session.layerDriven(options))))

const openers = Effect.map(Events.dataOf(Session.id, AgentEvents.TurnStart), (all) =>
  all.map(({ source }) => source.kind)
)

const connected = Effect.gen(function* () {
  const { agent, server } = yield* Session.served()
  const client = yield* Session.connect(server)
  return { agent, client, heard: Session.announcements(client) }
})

const untilHeard = (heard: ReadonlyArray<string>, text: string) =>
  Session.eventually(Effect.sync(() => heard.some((line) => line.includes(text))))

describe("a reminder that is due", () => {
  const stand = { title: "Stand", prompt: "stand up", after_seconds: 30 }

  test(
    "in the middle of a turn comes with the next answer, and opens its own turn",
    Effect.gen(function* () {
      const { client, heard } = yield* connected
      yield* call(client, "schedule_create", stand)
      yield* TestClock.adjust("29 seconds")
      assert.lengthOf(texts(yield* call(client, "job_list")), 1)
      yield* TestClock.adjust("1 second")
      yield* untilHeard(heard, "reminder: schedule-1")
      assert.deepInclude((yield* Session.inbox(client))[0], { opensTurn: true })
      const [, block] = texts(yield* call(client, "job_list"))
      assert.match(block ?? "", /^A message came .*\[msg-1, reminder: schedule-1\].*stand up/s)
      assert.lengthOf(texts(yield* call(client, "job_list")), 1)
      assert.deepStrictEqual(yield* openers, ["user", "reminder"])
    })
  )

  test(
    "while a call waits comes with the answer of that call",
    Effect.gen(function* () {
      const { client, heard } = yield* connected
      yield* Session.startJob
      yield* call(client, "schedule_create", stand)
      const waiting = yield* Effect.fork(
        call(client, "job_output", { job_id: "work-1", wait: true, timeout_ms: 40_000 })
      )
      yield* Session.sleepsUntil(30_000)
      yield* TestClock.adjust("30 seconds")
      yield* untilHeard(heard, "reminder: schedule-1")
      yield* TestClock.adjust("10 seconds")
      const [, block] = texts(yield* Fiber.join(waiting))
      assert.match(block ?? "", /reminder: schedule-1/)
    })
  )

  test(
    "waits in the inbox for as long as nobody calls, and is announced once",
    Effect.gen(function* () {
      const { agent, client, heard } = yield* connected
      yield* call(client, "schedule_create", stand)
      yield* TestClock.adjust("30 seconds")
      yield* untilHeard(heard, "reminder: schedule-1")
      yield* TestClock.adjust("2 days")
      assert.strictEqual(yield* agent.status, "idle")
      assert.lengthOf(heard, 1)
      const [message, ...more] = yield* Session.inbox(client)
      assert.deepInclude(message, { opensTurn: true })
      assert.deepStrictEqual(more, [])
    })
  )
})

describe("a goal", () => {
  test(
    "that the client's user asks for is carried from round to round until the client completes it",
    Effect.gen(function* () {
      const { client, heard } = yield* connected
      const created = yield* call(client, "create_goal", { objective: "ship it" })
      assert.isFalse(created.isError, texts(created).join())
      // The driver goes on as soon as the turn is over.
      yield* TestClock.adjust("1 minute")
      yield* untilHeard(heard, "round 1 of goal goal-1")
      const [waiting] = yield* Session.inbox(client)
      assert.deepInclude(waiting?.source, { kind: "goal-round", goalId: "goal-1", round: 1 })
      const [, first] = texts(yield* call(client, "todo_write", { todos: [] }))
      assert.match(first ?? "", /\[msg-1, round 1 of goal goal-1\].*ship it/s)
      yield* TestClock.adjust("1 minute")
      yield* untilHeard(heard, "round 2 of goal goal-1")
      const [shown, second] = texts(yield* call(client, "get_goal"))
      assert.match(second ?? "", /round 2 of goal goal-1/)
      assert.match(shown ?? "", /ship it/)
      const goal = { goal_id: "goal-1", revision: 1 }
      // Only its user may change a goal, and this turn is that of a round; its end is the round's to tell.
      const edited = yield* call(client, "update_goal", { ...goal, action: "edit", objective: "more" })
      assert.match(texts(edited)[0] ?? "", /^error not_authorized: /)
      const completed = yield* call(client, "update_goal", { ...goal, action: "complete" })
      assert.isFalse(completed.isError, texts(completed).join())
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* Session.inbox(client), [])
      assert.match(texts(yield* call(client, "get_goal"))[0] ?? "", /complete/)
      // Each answer that hands a round over is that of a call, which had opened a turn.
      assert.deepStrictEqual(yield* openers, ["user", "user", "goal-round", "user", "goal-round", "user"])
    })
  )

  test(
    "cannot be set where the client's word is nobody's",
    Effect.gen(function* () {
      const { client } = yield* connected
      const refused = yield* call(client, "create_goal", { objective: "ship it" })
      assert.isTrue(refused.isError)
      assert.match(texts(refused)[0] ?? "", /^error not_authorized: /)
    }),
    { authority: "none" }
  )
})
