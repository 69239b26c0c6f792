import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { GoalChange } from "@afterturn/goals/GoalEvents"
import { Goals } from "@afterturn/goals/Goals"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"
import { get, layer, operations, ref, s1, standing } from "./support/goals.js"

const session = Effect.flatMap(SessionLog, (log) => log.create({ id: s1 }))

/** Over a session that no agent drives. */
const cold = (options?: Parameters<typeof layer>[1]) => layer(FakeModel.replies(), options)

describe("the verbs", () => {
  it.effect("each append one event with the whole state after it", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      const created = yield* goals.create(s1, { objective: "ship it", maxGoalRounds: 4, maxTokens: 100 })
      assert.deepInclude(created, { revision: 1, phase: "active", activation: "armed" })
      yield* goals.edit(s1, ref(1), { objective: "ship it well", maxTokens: null })
      yield* goals.pause(s1, ref(2))
      yield* goals.resume(s1, ref(3))
      yield* goals.block(s1, ref(4), { code: "needs-human", message: "a key" })
      yield* goals.resume(s1, ref(5))
      yield* goals.complete(s1, ref(6))
      assert.deepStrictEqual(yield* goals.clear(s1, ref(7)), ref(8))
      assert.isUndefined(yield* get())
      assert.deepStrictEqual(yield* operations(), [
        "create",
        "edit",
        "pause",
        "resume",
        "block",
        "resume",
        "complete",
        "clear"
      ])
      const [first, second] = yield* Support.dataOf(s1, GoalChange)
      assert.deepStrictEqual(first, {
        version: 1,
        operation: "create",
        goal: {
          id: ref(1).id,
          revision: 1,
          objective: "ship it",
          phase: "active",
          maxGoalRounds: 4,
          roundsStarted: 0,
          maxTokens: 100,
          createdAt: created.createdAt,
          updatedAt: created.updatedAt
        }
      })
      assert.notProperty(second?.operation === "edit" ? second.goal : {}, "maxTokens")
    }).pipe(Effect.provide(cold()))
  )

  it.effect("store nothing when they are refused", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      assert.strictEqual((yield* Effect.flip(goals.pause(s1, ref(1))))._tag, "NoGoal")
      yield* goals.create(s1, { objective: "ship it" })
      const refused = [
        goals.create(s1, { objective: "another" }),
        goals.edit(s1, ref(2), { objective: "x" }),
        goals.edit(s1, ref(1), { objective: " " }),
        goals.block(s1, ref(1), { code: "No", message: "m" }),
        goals.clear(s1, ref(1, 2))
      ]
      const tags = yield* Effect.forEach(refused, (verb) => Effect.map(Effect.flip(verb), ({ _tag }) => _tag))
      assert.deepStrictEqual(tags, ["GoalExists", "StaleGoal", "InvalidGoal", "InvalidGoal", "StaleGoal"])
      assert.strictEqual((yield* Effect.flip(goals.get("nobody" as typeof s1)))._tag, "SessionNotFound")
      assert.deepStrictEqual(yield* operations(), ["create"])
    }).pipe(Effect.provide(cold()))
  )

  it.effect("of many callers that decided on the same state change it once", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      yield* goals.create(s1, { objective: "ship it" })
      const exits = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index),
        (index) => Effect.exit(goals.edit(s1, ref(1), { objective: `version ${index}` })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(exits.filter(Exit.isSuccess).length, 1)
      assert.deepStrictEqual(yield* operations(), ["create", "edit"])
    }).pipe(Effect.provide(cold()))
  )

  it.effect("take a clock that was set back, and the goal gets no younger", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-05-01T12:00:00.000Z"))
      yield* session
      const goals = yield* Goals
      yield* goals.create(s1, { objective: "ship it" })
      yield* TestClock.setTime(Date.parse("2026-05-01T11:00:00.000Z"))
      const paused = yield* goals.pause(s1, ref(1))
      assert.strictEqual(paused.updatedAt, "2026-05-01T12:00:00.000Z")
      const resumed = yield* goals.resume(s1, ref(2))
      assert.strictEqual(resumed.updatedAt, "2026-05-01T12:00:00.000Z")
      yield* TestClock.setTime(Date.parse("2026-05-01T13:00:00.000Z"))
      assert.strictEqual((yield* goals.pause(s1, ref(3))).updatedAt, "2026-05-01T13:00:00.000Z")
      assert.strictEqual((yield* get())?.phase, "paused")
    }).pipe(Effect.provide(cold()))
  )

  it.effect("refuse a resume when the cap is reached, and take it once the cap is raised", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      const log = yield* SessionLog
      yield* goals.create(s1, { objective: "ship it", maxGoalRounds: 1 })
      const source = { kind: "goal-round" as const, goalId: "goal-1", revision: 1, round: 1 }
      yield* log.append(s1, [AgentEvents.UserMessage.make({ id: "msg-1", ...AgentMessage.text(source, "go on") })])
      yield* goals.pause(s1, ref(1))
      const refused = yield* Effect.flip(goals.resume(s1, ref(2)))
      assert.strictEqual(refused._tag, "GoalExhausted")
      yield* goals.edit(s1, ref(2), { maxGoalRounds: 2 })
      assert.strictEqual((yield* goals.resume(s1, ref(3))).phase, "active")
    }).pipe(Effect.provide(cold()))
  )
})

describe("activation", () => {
  it.effect("is given by create and resume, ends with each stop, and survives an edit", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      const seen: Array<string> = []
      const note = Effect.flatMap(standing(), (line) => Effect.sync(() => seen.push(line)))
      yield* Effect.zipRight(goals.create(s1, { objective: "o", maxGoalRounds: 9 }), note)
      yield* Effect.zipRight(goals.edit(s1, ref(1), { objective: "p" }), note)
      yield* Effect.zipRight(goals.disarm(s1), note)
      yield* Effect.zipRight(goals.edit(s1, ref(2), { objective: "q" }), note)
      yield* Effect.zipRight(goals.resume(s1, ref(3)), note)
      yield* Effect.zipRight(goals.pause(s1, ref(4)), note)
      yield* Effect.zipRight(goals.resume(s1, ref(5)), note)
      yield* Effect.zipRight(goals.complete(s1, ref(6)), note)
      assert.deepStrictEqual(seen, [
        "active armed r1 0/9",
        "active armed r2 0/9",
        "active disarmed r2 0/9",
        "active disarmed r3 0/9",
        "active armed r4 0/9",
        "paused disarmed r5 0/9",
        "active armed r6 0/9",
        "complete disarmed r7 0/9"
      ])
      // Disarming wrote nothing.
      assert.strictEqual((yield* operations()).length, 7)
    }).pipe(Effect.provide(cold()))
  )

  it.effect("is announced with each change", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      const seen = yield* Effect.fork(Stream.runCollect(Stream.take(goals.changes, 3)))
      yield* Effect.yieldNow()
      yield* goals.create(s1, { objective: "o" })
      yield* goals.disarm(s1)
      // There is nothing to take back any more.
      yield* goals.disarm(s1)
      yield* goals.clear(s1, ref(1))
      assert.deepStrictEqual([...(yield* Fiber.join(seen))], [s1, s1, s1])
    }).pipe(Effect.provide(cold()))
  )
})

describe("a corrupt log", () => {
  it.effect("is told by every verb and written no further", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      const log = yield* SessionLog
      yield* log.append(s1, [GoalChange.make({ version: 1, operation: "clear", tombstone: ref(7) })])
      for (const verb of [
        goals.get(s1),
        goals.create(s1, { objective: "o" }),
        goals.pause(s1, ref(1)),
        goals.complete(s1, ref(1)),
        goals.clear(s1, ref(7))
      ]) {
        const error = yield* Effect.flip(
          verb as Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>
        )
        assert.strictEqual(error._tag, "CorruptGoalLog")
        assert.include(error.message, "event 0")
      }
      assert.strictEqual(yield* log.lastSeq(s1), 0)
    }).pipe(Effect.provide(cold()))
  )
})

describe("completion", () => {
  it.effect("counts once the referee agrees, and the refusal says what is missing", () => {
    let done = false
    return Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      yield* goals.create(s1, { objective: "ship it" })
      const refused = yield* Effect.flip(goals.complete(s1, ref(1)))
      assert.strictEqual(refused._tag, "CompletionRefused")
      assert.include(refused.message, "two tests fail")
      assert.strictEqual(yield* standing(), "active armed r1 0/256")
      done = true
      assert.strictEqual((yield* goals.complete(s1, ref(1))).phase, "complete")
    }).pipe(
      Effect.provide(
        cold({
          judge: () => Effect.sync(() => (done ? { agrees: true } : { agrees: false, reason: "two tests fail" }))
        })
      )
    )
  })

  it.effect("does not ask the referee about what the rules refuse", () =>
    Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      assert.strictEqual((yield* Effect.flip(goals.complete(s1, ref(1))))._tag, "NoGoal")
      yield* goals.create(s1, { objective: "ship it" })
      assert.strictEqual((yield* Effect.flip(goals.complete(s1, ref(2))))._tag, "StaleGoal")
    }).pipe(Effect.provide(cold({ judge: () => Effect.dieMessage("nobody asked") })))
  )

  it.effect("is stale when the goal changed while the referee thought", () => {
    const asked = Deferred.unsafeMake<void>(0 as never)
    const answer = Deferred.unsafeMake<void>(0 as never)
    return Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      yield* goals.create(s1, { objective: "ship it" })
      const completion = yield* Effect.fork(Effect.flip(goals.complete(s1, ref(1))))
      yield* Deferred.await(asked)
      yield* goals.edit(s1, ref(1), { objective: "ship more" })
      yield* Deferred.succeed(answer, undefined)
      assert.strictEqual((yield* Fiber.join(completion))._tag, "StaleGoal")
      assert.strictEqual(yield* standing(), "active armed r2 0/256")
    }).pipe(
      Effect.provide(
        cold({
          judge: () =>
            Deferred.succeed(asked, undefined).pipe(
              Effect.zipRight(Deferred.await(answer)),
              Effect.as({ agrees: true } as const)
            )
        })
      )
    )
  })

  it.effect("is given up with its caller, and the goal goes on", () => {
    const asked = Deferred.unsafeMake<void>(0 as never)
    return Effect.gen(function* () {
      yield* session
      const goals = yield* Goals
      yield* goals.create(s1, { objective: "ship it" })
      const completion = yield* Effect.fork(goals.complete(s1, ref(1)))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(completion)
      assert.strictEqual(yield* standing(), "active armed r1 0/256")
    }).pipe(Effect.provide(cold({ judge: () => Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never) })))
  })
})

describe("a fork", () => {
  it.effect("has the goal as it was, disarmed, and numbers its own after it", () => {
    const model = FakeModel.make(() => ({ hang: true }))
    return Effect.gen(function* () {
      const agents = yield* Agents
      const goals = yield* Goals
      const log = yield* SessionLog
      const scope = yield* Scope.make()
      yield* session
      yield* goals.create(s1, { objective: "ship it" })
      const fork = yield* log.fork(s1)
      assert.strictEqual(yield* standing(fork.id), "active disarmed r1 0/256")
      yield* Scope.extend(agents.resume(fork.id), scope)
      assert.strictEqual(yield* standing(fork.id), "active disarmed r1 0/256")
      yield* goals.clear(fork.id, ref(1))
      const own = yield* goals.create(fork.id, { objective: "ship it otherwise" })
      assert.strictEqual(own.id, ref(1, 2).id)
      assert.strictEqual(yield* standing(), "active armed r1 0/256")
      yield* Scope.close(scope, Exit.void)
    }).pipe(Effect.provide(layer(model)))
  })
})
