import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { Agents } from "@afterturn/agent/Agents"
import { Goals } from "@afterturn/goals/Goals"
import * as Job from "@afterturn/jobs/Job"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import { JobWakesMuted } from "@afterturn/jobs/JobEvents"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as JobWakes from "@afterturn/jobs/JobWakes"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Support from "../support/agents.js"
import * as FakeModel from "../support/FakeModel.js"
import { layer, operations, rounds, s1, standing, turns } from "./support/goals.js"

const words = (request: number) => "abcdefghijklmnopqrstuvwxyz".slice(0, (request % 26) + 1)

const runtime = (maxConsecutiveWakes: number) =>
  Layer.mergeAll(JobDelivery.layer({ maxConsecutiveWakes }), JobTools.layer(), JobWakes.layer()).pipe(
    Layer.provideMerge(Jobs.layer()),
    Layer.provideMerge(layer(FakeModel.make((n) => ({ text: words(n) })))),
    Layer.orDie
  )

/** A job that ends when it is told to. */
const held = Effect.gen(function* () {
  const jobs = yield* Jobs.Jobs
  const done = yield* Deferred.make<void>()
  yield* jobs.start(Job.make({ kind: "work", label: "work", owner: s1 }, () => Deferred.await(done)))
  return Deferred.succeed(done, undefined)
})

/** The sources of what each turn claimed. */
const claims = Effect.map(Support.events(s1), (events) => {
  const turns: Array<Array<string>> = []
  for (const event of events) {
    if (event.type === AgentEvents.TurnStart.type) turns.push([])
    if (event.type === AgentEvents.UserMessage.type) {
      turns.at(-1)?.push((event.data as typeof AgentEvents.UserMessage.schema.Type).source.kind)
    }
  }
  return turns
})

const begin = (maxGoalRounds: number) =>
  Effect.flatMap(Goals, (goals) => goals.create(s1, { objective: "ship it", maxGoalRounds }))

describe("a goal and the jobs of its session", () => {
  it.live("no round opens while a job runs; its notice comes first, and then one round", () =>
    TimeTravel.run(
      runtime(3),
      (time) =>
        Effect.gen(function* () {
          const end = yield* held
          yield* begin(1)
          yield* time.advance("1 minute")
          assert.deepStrictEqual(yield* turns(), [])
          yield* end
          yield* time.settle
          assert.deepStrictEqual(yield* claims, [["job-notice"], ["goal-round"]])
          assert.strictEqual(yield* standing(), "blocked disarmed r2 1/1 round-limit")
        }),
      { session: { id: s1 } }
    )
  )

  it.live("with the wake budget spent, the round claims the notice that may not wake: nothing stands still", () =>
    TimeTravel.run(
      runtime(0),
      (time) =>
        Effect.gen(function* () {
          const end = yield* held
          yield* begin(2)
          yield* time.advance("1 minute")
          yield* end
          yield* time.settle
          assert.deepStrictEqual(yield* claims, [["job-notice", "goal-round"], ["goal-round"]])
          assert.strictEqual((yield* Support.dataOf(s1, JobWakesMuted)).length, 1)
          assert.deepStrictEqual(yield* operations(), ["create", "block"])
        }),
      { session: { id: s1 } }
    )
  )

  it.live("a job that never ends holds each round up for maxJobWait and no longer", () =>
    TimeTravel.run(
      runtime(3),
      (time) =>
        Effect.gen(function* () {
          yield* Effect.asVoid(held)
          yield* begin(3)
          yield* time.advance("31 minutes")
          assert.deepStrictEqual(yield* rounds(), [1, 2, 3])
          assert.strictEqual(yield* standing(), "blocked disarmed r2 3/3 round-limit")
        }),
      { session: { id: s1 } }
    )
  )

  it.live("a job that its last process left open is settled on the resume, and holds nothing up", () =>
    TimeTravel.run(
      runtime(0),
      (time) =>
        Effect.gen(function* () {
          yield* Effect.asVoid(held)
          yield* begin(1)
          yield* time.restart
          const goals = yield* Goals
          const goal = yield* goals.get(s1)
          assert.strictEqual(goal?.activation, "disarmed")
          yield* goals.resume(s1, goal!)
          yield* time.settle
          assert.deepStrictEqual(yield* rounds(), [1])
          yield* Effect.flatMap(Agents, (agents) => agents.get(s1))
        }),
      { session: { id: s1 } }
    )
  )
})
