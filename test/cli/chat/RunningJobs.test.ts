import { Agents } from "@afterturn/agent/Agents"
import * as RunningJobs from "@afterturn/cli/chat/RunningJobs"
import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as rig from "./rig.js"

const id = SessionId.make("s1")

describe("changes", () => {
  it.live("has the background jobs of the agent while they run, and none of others or in the foreground", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const jobs = yield* Jobs
      const agent = yield* agents.create({ id })
      const other = yield* agents.create({ id: SessionId.make("s2") })
      const seen = yield* Queue.unbounded<ReadonlyArray<string>>()
      yield* Effect.forkScoped(
        Stream.runForEach(RunningJobs.changes(agent), (list) =>
          Queue.offer(
            seen,
            list.map((job) => job.id)
          )
        )
      )
      const until = (ids: ReadonlyArray<string>): Effect.Effect<void> =>
        Effect.flatMap(Queue.take(seen), (now) => (now.join() === ids.join() ? Effect.void : until(ids)))
      yield* until([])
      const ends = yield* Deferred.make<void>()
      const nap = (owner: SessionId, foreground: boolean) =>
        jobs.start(Job.make({ kind: "nap", label: "x", owner, foreground }, () => Deferred.await(ends)))
      yield* nap(other.id, false)
      const awaited = yield* nap(id, true)
      yield* nap(id, false)
      yield* until(["nap-2"])
      yield* jobs.background(awaited.id, id)
      yield* until(["nap-1", "nap-2"])
      yield* Deferred.succeed(ends, undefined)
      yield* until([])
    }).pipe(Effect.scoped, Effect.provide(rig.layer(rig.script)))
  )
})
