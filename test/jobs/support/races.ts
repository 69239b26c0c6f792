import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as fc from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Support from "./jobs.js"

const work = (run: () => Effect.Effect<void, string>, owner: SessionId) =>
  Job.make({ kind: "bash", label: "work", owner }, run)

const steps = ["work ends", "work fails", "kill", "kill", "dispose", "yield"] as const

/** What happens around one job, in some order, and whether the job ignores interruption. */
const races = fc.record({
  steps: fc.array(fc.constantFrom(...steps), { minLength: 1, maxLength: 8 }),
  isStubborn: fc.boolean()
})

type Race = typeof races extends fc.Arbitrary<infer A> ? A : never

/** One owner with one job: its steps run when the schedule comes to them, each in a fiber of its own. */
const contest = (owner: SessionId, race: Race) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const { close } = yield* Support.disposable(owner)
    const end = yield* Deferred.make<void, string>()
    const waited = Deferred.await(end)
    const { id } = yield* jobs.start(work(() => (race.isStubborn ? Effect.uninterruptible(waited) : waited), owner))
    const waiters = yield* Effect.forEach([1, 2], () => Effect.fork(jobs.wait(id, "1 day", owner)))
    const act = (step: (typeof steps)[number]): Effect.Effect<unknown> => {
      switch (step) {
        case "work ends":
          return Effect.fork(Deferred.succeed(end, undefined))
        case "work fails":
          return Effect.fork(Deferred.fail(end, "no"))
        case "kill":
          return Effect.fork(jobs.kill(id, owner))
        case "dispose":
          return Effect.fork(close)
        case "yield":
          return Effect.yieldNow()
      }
    }
    return { owner, id, close, end, waiters, act, isStubborn: race.isStubborn }
  })

/** `numRuns` times ten interleavings. */
export const racesForTheEnd = (numRuns: number): void => {
  describe("every race for the end", () => {
    it.effect.prop(
      "has one outcome, one event and one announcement, and frees the place",
      [fc.array(races, { minLength: 10, maxLength: 10 })],
      ([all]) =>
        Effect.gen(function* () {
          const jobs = yield* Jobs
          yield* jobs.attachController("test")
          const ends = yield* Support.completions
          const contests = yield* Effect.forEach(all, (race, index) => contest(`s${index}` as SessionId, race))
          for (let turn = 0; turn < 8; turn++) {
            // Twice this is the grace of what was asked to end first.
            if (turn % 3 === 2) yield* TestClock.adjust("5 seconds")
            for (const [index, race] of all.entries()) {
              const step = race.steps[turn]
              if (step !== undefined) yield* contests[index]!.act(step)
            }
          }
          const closing = yield* Effect.forEach(contests, ({ close }) => Effect.fork(close))
          yield* TestClock.adjust("11 seconds")
          yield* Fiber.joinAll(closing)
          yield* Effect.forEach(contests, ({ end }) => Deferred.succeed(end, undefined))
          yield* Support.turns
          for (const { id, isStubborn, owner, waiters } of contests) {
            const settled = (yield* Support.jobEvents(owner)).filter(({ type }) => type === "job/settle")
            assert.strictEqual(settled.length, 1)
            const { detail, status } = settled[0]!.data as { readonly status: string; readonly detail?: string }
            for (const snapshot of yield* Fiber.joinAll(waiters)) assert.strictEqual(snapshot.status, status)
            assert.deepStrictEqual(
              ends.filter((end) => end.owner === owner).map((end) => [end.id, end.status, end.detail]),
              [[id, status, detail]]
            )
            if (!isStubborn) assert.notStrictEqual(detail, "did not stop")
            const again = yield* Support.disposable(owner)
            assert.strictEqual((yield* jobs.start(work(() => Effect.void, owner))).id, "bash-2")
            assert.strictEqual((yield* jobs.get(id, owner)).status, status)
            yield* again.close
          }
        }).pipe(Effect.scoped, Effect.provide(Support.layer({ maxConcurrentJobsPerOwner: 1 }))),
      { fastCheck: { numRuns }, timeout: 300_000 }
    )
  })
}
