import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import * as Wakes from "@afterturn/agent/Wakes"
import { Goals } from "@afterturn/goals/Goals"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type { TimeTravel as Travel } from "@afterturn/testing/TimeTravel"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import * as AiError from "@effect/ai/AiError"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"
import type { Options } from "./support/goals.js"
import { complete, layer, operations, ref, rounds, s1, standing, turns } from "./support/goals.js"

type Provided = Layer.Layer.Success<ReturnType<typeof layer>>

/** A journey with a goal's session, on virtual time. */
const travel = <A, E>(
  model: FakeModel.FakeModel,
  options: Options,
  scenario: (travel: Travel) => Effect.Effect<A, E, Provided>
) => TimeTravel.run(layer(model, options), scenario, { session: { id: s1 } })

const begin = (spec?: {
  readonly maxGoalRounds?: number
  readonly maxTokens?: number
  readonly maxDurationMs?: number
}) => Effect.flatMap(Goals, (goals) => goals.create(s1, { objective: "ship it", ...spec }))

/** A model may think for as long as it likes. */
const patient: Options = { agent: { modelSilence: Duration.hours(1) } }

/** Different words each time, so that nothing looks stuck. */
const words = (request: number) => "abcdefghijklmnopqrstuvwxyz".slice(0, (request % 26) + 1)
const busyModel = FakeModel.make

describe("a driven goal", () => {
  it.live("goes from round to round until the model completes it", () =>
    travel(
      busyModel((n) => (n === 2 ? { calls: [complete()] } : { text: words(n) })),
      {},
      (time) =>
        Effect.gen(function* () {
          yield* begin()
          yield* time.settle
          assert.strictEqual(yield* standing(), "complete disarmed r2 3/256")
          assert.deepStrictEqual(yield* rounds(), [1, 2, 3])
          assert.deepStrictEqual(yield* turns(), ["goal-round", "goal-round", "goal-round"])
        })
    )
  )

  it.live("stops at its cap, and goes on with what is left once that is raised", () =>
    travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.gen(function* () {
          const goals = yield* Goals
          yield* begin({ maxGoalRounds: 2 })
          yield* time.settle
          assert.strictEqual(yield* standing(), "blocked disarmed r2 2/2 round-limit")
          assert.strictEqual((yield* Effect.flip(goals.resume(s1, ref(2))))._tag, "GoalExhausted")
          yield* goals.edit(s1, ref(2), { maxGoalRounds: 5 })
          yield* goals.resume(s1, ref(3))
          yield* time.settle
          assert.strictEqual(yield* standing(), "blocked disarmed r5 5/5 round-limit")
        })
    )
  )

  it.live("stops before the next round when its cap is set below what is used", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((n) => ({ text: words(n), ...(n === 0 ? { first: Deferred.await(gate) } : {}) }))
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        const goals = yield* Goals
        yield* begin()
        yield* model.asked(0)
        yield* goals.edit(s1, ref(1), { maxGoalRounds: 1 })
        yield* Deferred.succeed(gate, undefined)
        yield* time.settle
        assert.strictEqual(yield* standing(), "blocked disarmed r3 1/1 round-limit")
        assert.deepStrictEqual(yield* turns(), ["goal-round"])
      })
    )
  })

  it.live("stops when its tokens are used up", () =>
    travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.gen(function* () {
          // Each request of this model takes 15.
          yield* begin({ maxTokens: 40 })
          yield* time.settle
          assert.strictEqual(yield* standing(), "blocked disarmed r2 3/256 token-budget")
        })
    )
  )

  it.live("stops when its time is over, also in the middle of the night, and not before", () =>
    travel(
      busyModel((n) => ({ text: words(n), first: Effect.sleep("20 minutes") })),
      patient,
      (time) =>
        Effect.gen(function* () {
          yield* begin({ maxDurationMs: Duration.toMillis("1 hour") })
          yield* time.advance("30 minutes")
          assert.strictEqual(yield* standing(), "active armed r1 2/256")
          yield* time.advance("1 day")
          assert.strictEqual(yield* standing(), "blocked disarmed r2 3/256 time-budget")
        })
    )
  )

  it.live("is blocked when nothing changes and the model closes with the same words", () =>
    travel(
      busyModel((n) => (n % 2 === 0 ? { calls: [{ name: "get_goal", input: {} }] } : { text: `Waiting (${n}).` })),
      {},
      (time) =>
        Effect.gen(function* () {
          yield* begin({ maxGoalRounds: 20 })
          yield* time.settle
          assert.strictEqual(yield* standing(), "blocked disarmed r2 3/20 no-progress")
          assert.deepStrictEqual(yield* operations(), ["create", "block"])
        })
    )
  )

  it.live("is blocked when the model keeps completing it in a form that nothing understands", () =>
    travel(
      busyModel((n) =>
        n % 3 === 0
          ? { calls: [{ name: "update_goal", input: {} }] }
          : n % 3 === 1
            ? { calls: [{ name: "finish_goal", input: {} }] }
            : { text: "Done." }
      ),
      {},
      (time) =>
        Effect.gen(function* () {
          yield* begin({ maxGoalRounds: 20 })
          yield* time.settle
          assert.strictEqual(yield* standing(), "blocked disarmed r2 3/20 no-progress")
        })
    )
  )

  it.live("is not taken for stuck while rounds are long and the model says something else each time", () =>
    travel(
      busyModel((n) => ({ text: words(n), first: Effect.sleep("20 minutes") })),
      patient,
      (time) =>
        Effect.gen(function* () {
          yield* begin({ maxGoalRounds: 30 })
          yield* time.advance("2 days")
          assert.strictEqual(yield* standing(), "blocked disarmed r2 30/30 round-limit")
        })
    )
  )

  it.live("is blocked by a turn that fails, and says by what", () => {
    const rejected = new AiError.MalformedOutput({ module: "test", method: "test", description: "nonsense" })
    return travel(
      busyModel(() => ({ fail: rejected })),
      { agent: { maxRetries: 0 } },
      (time) =>
        Effect.gen(function* () {
          yield* begin()
          yield* time.settle
          assert.strictEqual(yield* standing(), "blocked disarmed r2 1/256 execution-error")
          const goal = yield* Effect.flatMap(Goals, (goals) => goals.get(s1))
          assert.include(goal?.blockedReason?.message, "provider_malformed")
          yield* time.advance("1 day")
          assert.strictEqual((yield* turns()).length, 1)
        })
    )
  })

  it.live("is paused by a person who ends its turn", () => {
    const model = FakeModel.make((n) => (n === 1 ? { hang: true } : { text: words(n) }))
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        yield* begin()
        yield* model.asked(1)
        yield* Effect.flatMap(time.agent, (agent) => agent.cancel("the user pressed escape"))
        yield* time.settle
        assert.strictEqual(yield* standing(), "paused disarmed r2 2/256")
        yield* Effect.flatMap(Goals, (goals) => goals.resume(s1, ref(2)))
        yield* model.asked(2)
        assert.strictEqual(yield* standing(), "active armed r3 3/256")
      })
    )
  })
})

describe("a person", () => {
  it.live("comes first: the round follows his turn", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((n) => ({ text: words(n), ...(n === 0 ? { first: Deferred.await(gate) } : {}) }))
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        yield* begin({ maxGoalRounds: 2 })
        yield* model.asked(0)
        yield* Effect.flatMap(time.agent, (agent) => agent.followup(AgentMessage.user("one thing")))
        yield* Deferred.succeed(gate, undefined)
        yield* time.settle
        assert.deepStrictEqual(yield* turns(), ["goal-round", "user", "goal-round"])
        assert.strictEqual(yield* standing(), "blocked disarmed r2 2/2 round-limit")
      })
    )
  })

  it.live("comes before a round that is queued already, which is neither lost nor doubled", () =>
    travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.gen(function* () {
          const agent = yield* time.agent
          yield* agent.runMaintenance(
            Effect.gen(function* () {
              yield* begin({ maxGoalRounds: 1 })
              // The round waits for the end of the maintenance.
              yield* time.settle
              yield* agent.followup(AgentMessage.user("first this"))
            })
          )
          yield* time.settle
          assert.deepStrictEqual(yield* turns(), ["user", "goal-round"])
          assert.deepStrictEqual(yield* rounds(), [1])
        })
    )
  )

  it.live("is not disturbed by notices and reminders: they change nothing about the goal", () => {
    const gate = Deferred.unsafeMake<void>(0 as never)
    const model = FakeModel.make((n) => ({ text: words(n), ...(n === 0 ? { first: Deferred.await(gate) } : {}) }))
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        const agent = yield* time.agent
        yield* begin({ maxGoalRounds: 2 })
        yield* model.asked(0)
        yield* agent.followup(AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "ended"))
        const occurrences = [{ id: "r", occurrenceAt: "2026-01-01T00:00:00.000Z" }]
        yield* agent.followup(AgentMessage.text({ kind: "reminder", occurrences }, "tea"))
        yield* Deferred.succeed(gate, undefined)
        yield* time.settle
        assert.deepStrictEqual(yield* turns(), ["goal-round", "job-notice", "reminder", "goal-round"])
        assert.deepStrictEqual(yield* operations(), ["create", "block"])
      })
    )
  })
})

describe("the next round", () => {
  const job = (state: { runs: boolean }) =>
    Effect.flatMap(Wakes.Wakes, (wakes) =>
      wakes.contribute(() =>
        Effect.succeed(state.runs ? [{ kind: "job", id: "bash-1", summary: "sleep", detail: {} }] : [])
      )
    )

  it.live("waits for a running job, and opens when it settles", () => {
    const state = { runs: true }
    return travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* job(state)
            yield* begin({ maxGoalRounds: 1 })
            yield* time.advance("9 minutes")
            assert.deepStrictEqual(yield* turns(), [])
            state.runs = false
            // Any event of the session makes the driver look: a job's end is one.
            yield* Effect.flatMap(time.agent, (agent) =>
              agent.inject(AgentMessage.text({ kind: "job-notice", jobs: ["bash-1"] }, "ended"))
            )
            yield* time.settle
            assert.deepStrictEqual(yield* turns(), ["goal-round"])
            // One turn has both.
            const claimed = yield* Support.dataOf(s1, AgentEvents.UserMessage)
            assert.deepStrictEqual(
              claimed.map(({ source }) => source.kind),
              ["job-notice", "goal-round"]
            )
          })
        )
    )
  })

  it.live("opens after maxJobWait although the job runs, and the one after it waits again", () =>
    travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* job({ runs: true })
            yield* begin()
            yield* time.advance("599 seconds")
            assert.deepStrictEqual(yield* rounds(), [])
            yield* time.advance("1 second")
            assert.deepStrictEqual(yield* rounds(), [1])
            yield* time.advance("599 seconds")
            assert.deepStrictEqual(yield* rounds(), [1])
            yield* time.advance("1 second")
            assert.deepStrictEqual(yield* rounds(), [1, 2])
          })
        )
    )
  )

  it.live("stays away when the goal is paused while it waits", () =>
    travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* job({ runs: true })
            yield* begin()
            yield* time.advance("5 minutes")
            yield* Effect.flatMap(Goals, (goals) => goals.pause(s1, ref(1)))
            yield* time.advance("1 hour")
            assert.deepStrictEqual(yield* turns(), [])
          })
        )
    )
  )

  it.live("says where the goal stands, and that older words about stopping are over", () => {
    const model = FakeModel.make((n) => (n === 0 ? { hang: true } : { text: words(n) }))
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        const goals = yield* Goals
        yield* begin({ maxGoalRounds: 2 })
        yield* model.asked(0)
        yield* Effect.flatMap(time.agent, (agent) => agent.cancel("stop"))
        yield* time.settle
        yield* goals.resume(s1, ref(2))
        yield* time.settle
        const messages = yield* Support.dataOf(s1, AgentEvents.UserMessage)
        const text = AgentMessage.toText(messages[1]?.content ?? [])
        assert.include(text, "Round 2 of at most 2 for goal-1 at revision 3")
        assert.include(text, "resumed by the user")
        assert.include(text, "ship it")
        assert.include(text, 'goal_id "goal-1", revision 3, action "complete"')
      })
    )
  })
})

/** A wall clock that stands at the epoch. */
const pastClock: Clock.Clock = {
  ...Clock.make(),
  currentTimeMillis: Effect.succeed(0),
  unsafeCurrentTimeMillis: () => 0
}

describe("after a restart", () => {
  const hanging = () => FakeModel.make((n) => (n === 0 ? { hang: true } : { text: words(n) }))

  it.live("the goal is disarmed until somebody resumes it", () => {
    const model = hanging()
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        yield* begin({ maxGoalRounds: 3 })
        yield* model.asked(0)
        yield* time.restart
        yield* time.advance("1 hour")
        assert.strictEqual(yield* standing(), "active disarmed r1 1/3")
        yield* Effect.flatMap(Goals, (goals) => goals.resume(s1, ref(1)))
        yield* time.settle
        assert.deepStrictEqual(yield* rounds(), [1, 2, 3])
      })
    )
  })

  it.live("the goal goes on where the composition re-arms it", () => {
    const model = hanging()
    return travel(model, { rearmOnResume: true }, (time) =>
      Effect.gen(function* () {
        yield* begin({ maxGoalRounds: 3 })
        yield* model.asked(0)
        yield* time.restart
        yield* time.settle
        assert.deepStrictEqual(yield* rounds(), [1, 2, 3])
        assert.deepStrictEqual(yield* operations(), ["create", "block"])
      })
    )
  })

  it.live("a fork does not go on with its parent's goal, also where the composition re-arms", () => {
    const model = hanging()
    return travel(model, { rearmOnResume: true }, () =>
      Effect.scoped(
        Effect.gen(function* () {
          yield* begin()
          yield* model.asked(0)
          const fork = yield* Effect.flatMap(SessionLog, (log) => log.fork(s1))
          const agent = yield* Effect.flatMap(Agents, (agents) => agents.resume(fork.id))
          yield* agent.whenIdle
          assert.strictEqual(yield* standing(fork.id), "active disarmed r1 0/256")
          yield* Effect.flatMap(Goals, (goals) => goals.resume(fork.id, ref(1)))
          assert.strictEqual(yield* standing(fork.id), "active armed r2 0/256")
        })
      )
    )
  })

  it.live("a round that was queued and not begun is withdrawn", () =>
    travel(
      busyModel((n) => ({ text: words(n) })),
      {},
      (time) =>
        Effect.gen(function* () {
          const agent = yield* time.agent
          yield* agent
            .runMaintenance(
              Effect.gen(function* () {
                yield* begin()
                yield* time.settle
                yield* Effect.exit(Effect.asVoid(time.restart))
              })
            )
            .pipe(Effect.exit)
          yield* time.settle
          assert.deepStrictEqual(yield* turns(), [])
          assert.strictEqual(yield* standing(), "active disarmed r1 0/256")
        })
    )
  )

  it.live("the clock may have been set back", () => {
    const model = hanging()
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        yield* begin({ maxGoalRounds: 2 })
        yield* model.asked(0)
        yield* time.restart
        const goals = yield* Goals
        const before = yield* goals.get(s1)
        yield* goals.resume(s1, ref(1)).pipe(Effect.withClock(pastClock))
        yield* time.settle
        const after = yield* goals.get(s1)
        assert.strictEqual(after?.updatedAt, before?.updatedAt)
        assert.deepStrictEqual(yield* rounds(), [1, 2])
      })
    )
  })
})

describe("the end of the driver's agent", () => {
  it.live("does not pause the goal", () => {
    const model = FakeModel.make(() => ({ hang: true }))
    return travel(model, {}, (time) =>
      Effect.gen(function* () {
        yield* begin()
        yield* model.asked(0)
        yield* time.restart
        assert.deepStrictEqual(yield* operations(), ["create"])
        const ends = yield* Support.turnEnds(s1)
        assert.deepStrictEqual(ends, [{ kind: "aborted", cause: AgentEvents.disposedCause }])
      })
    )
  })
})
