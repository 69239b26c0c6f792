import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Support from "./support/jobs.js"

const { s1 } = Support

describe("start", () => {
  it.scoped("runs a job, stores its start and its end, and announces the end", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const ends = yield* Support.completions
      const started = yield* jobs.start(Job.make({ kind: "bash", label: "true", owner: s1 }, () => Effect.void))
      assert.strictEqual(started.id, "bash-1")
      assert.strictEqual(started.status, "running")
      const ended = yield* jobs.wait("bash-1", "1 minute", s1)
      assert.strictEqual(ended.status, "completed")
      yield* Effect.yieldNow()
      assert.deepStrictEqual(ends, [ended])
      assert.deepStrictEqual(yield* Support.jobEventTypes(), ["job/start bash-1", "job/settle bash-1"])
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("kills", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const work = Support.held()
      const { id } = yield* jobs.start(work.spec)
      yield* work.began
      const { answer, snapshot } = yield* jobs.kill(id, s1, { reason: "no use" })
      assert.strictEqual(answer, "cancellation-requested")
      assert.strictEqual(snapshot.status, "stopping")
      const ended = yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual(ended.status, "killed")
      assert.strictEqual(ended.reason, "no use")
      assert.isTrue(yield* work.finalized)
    }).pipe(Effect.provide(Support.layer()))
  )

  it.scoped("reads", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* Support.alive()
      const work = Support.writer()
      const { id } = yield* jobs.start(work.spec)
      yield* work.write("hello")
      assert.strictEqual((yield* jobs.read(id, s1)).output, "hello")
      assert.strictEqual((yield* jobs.read(id, s1)).output, "")
      yield* work.release("all")
      yield* jobs.wait(id, "1 minute", s1)
      assert.strictEqual((yield* jobs.read(id, s1)).output, "all")
      assert.strictEqual((yield* jobs.read(id, s1)).output, "all")
      assert.strictEqual((yield* jobs.list(s1)).length, 1)
    }).pipe(Effect.provide(Support.layer()))
  )
})
