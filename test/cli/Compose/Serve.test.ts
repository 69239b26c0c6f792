import { Agents } from "@afterturn/agent/Agents"
import { agentLayer } from "@afterturn/cli/Compose"
import { GoalVerb } from "@afterturn/cli/Compose/GoalVerb"
import { JobKill } from "@afterturn/cli/Compose/JobKill"
import { SessionWakes } from "@afterturn/cli/Compose/Serve"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workplace } from "../../support/afterturn.js"

const id = SessionId.make("s1")

describe("the commands that other processes leave", () => {
  it.live("are each executed, whatever their kind", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const story = Effect.gen(function* () {
        yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
        const mailbox = yield* Mailbox
        const [kill, goal, wakes] = yield* Effect.all(
          [
            mailbox.send(id, JobKill, { jobId: "bash-1" }),
            mailbox.send(id, GoalVerb, { verb: "show" }),
            mailbox.send(id, SessionWakes, {})
          ],
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(kill, { answer: "not-found" })
        assert.deepStrictEqual(goal, { ok: true, goal: null })
        assert.deepStrictEqual(
          wakes.map(({ kind }) => kind),
          ["wake-budget"]
        )
      })
      const layer = agentLayer({ db: place.db, route: place.scripted[3] ?? "" })
      yield* story.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )
})
