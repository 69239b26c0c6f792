import { Agents } from "@afterturn/agent/Agents"
import { agentLayer } from "@afterturn/cli/Compose"
import { GoalVerb } from "@afterturn/cli/Compose/GoalVerb"
import { JobKill } from "@afterturn/cli/Compose/JobKill"
import { ScheduleVerb } from "@afterturn/cli/Compose/ScheduleVerb"
import { SessionWakes } from "@afterturn/cli/Compose/Serve"
import { TerminalControl } from "@afterturn/cli/Compose/TerminalControl"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workplace } from "../../support/afterturn.js"

describe("serveCommands", () => {
  it.live("executes every kind of command of an agent here", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const story = Effect.gen(function* () {
        const mailbox = yield* Mailbox
        const { id } = yield* Effect.flatMap(Agents, (agents) => agents.create())
        const [killed, goal, wakes, terminals, scheduled] = yield* Effect.all(
          [
            mailbox.send(id, JobKill, { jobId: "bash-1" }),
            mailbox.send(id, GoalVerb, { verb: "show" }),
            mailbox.send(id, SessionWakes, {}),
            mailbox.send(id, TerminalControl, {}),
            mailbox.send(id, ScheduleVerb, { verb: "create", title: "t", prompt: "p", rule: { every_seconds: 60 } })
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(killed.answer, "not-found")
        assert.deepStrictEqual(goal, { ok: true, goal: null })
        assert.include(
          wakes.map(({ kind }) => kind),
          "wake-budget"
        )
        assert.deepStrictEqual(terminals, { terminals: [] })
        assert.isTrue(scheduled.ok)
      })
      const layer = agentLayer({ db: place.db, route: place.scripted[3] ?? "" })
      yield* story.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )
})
