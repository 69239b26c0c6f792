import { Agents } from "@afterturn/agent/Agents"
import { agentLayer } from "@afterturn/cli/Compose"
import { JobKill } from "@afterturn/cli/Compose/JobKill"
import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workplace } from "../../support/afterturn.js"

const id = SessionId.make("s1")

describe("serveKill", () => {
  it.live("ends a job of the session once, says when it had ended, and knows no other session's", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const story = Effect.gen(function* () {
        const agents = yield* Agents
        const jobs = yield* Jobs
        const mailbox = yield* Mailbox
        const other = SessionId.make("s2")
        for (const session of [id, other]) yield* Effect.flatMap(agents.create({ id: session }), (a) => a.whenIdle)
        const started = yield* jobs.start(Job.make({ kind: "nap", label: "sleeps", owner: id }, () => Effect.never))
        assert.deepStrictEqual(yield* mailbox.send(other, JobKill, { jobId: started.id }), { answer: "not-found" })
        assert.strictEqual((yield* jobs.get(started.id, id)).status, "running")
        const first = yield* mailbox.send(id, JobKill, { jobId: started.id, reason: "enough" })
        assert.deepInclude(first, { answer: "cancellation-requested", status: "killed" })
        assert.strictEqual((yield* jobs.get(started.id, id)).reason, "enough")
        const again = yield* mailbox.send(id, JobKill, { jobId: started.id })
        assert.deepInclude(again, { answer: "already-finished", status: "killed" })
      })
      const layer = agentLayer({ db: place.db, route: place.scripted[3] ?? "" })
      yield* story.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )
})
