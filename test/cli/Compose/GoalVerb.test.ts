import { Agents } from "@afterturn/agent/Agents"
import { agentLayer } from "@afterturn/cli/Compose"
import * as GoalVerb from "@afterturn/cli/Compose/GoalVerb"
import { Goals } from "@afterturn/goals/Goals"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workplace } from "../../support/afterturn.js"

const id = SessionId.make("s1")

describe("a verb", () => {
  it.live("acts on the present state, and says what is refused, also through the mailbox", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const story = Effect.gen(function* () {
        const goals = yield* Goals
        const mailbox = yield* Mailbox
        const agent = yield* Effect.flatMap(Agents, (agents) => agents.create({ id }))
        const send = (input: GoalVerb.GoalVerbInput) => mailbox.send(id, GoalVerb.GoalVerb, input)
        assert.deepStrictEqual(yield* send({ verb: "show" }), { ok: true, goal: null })
        assert.deepInclude(yield* send({ verb: "pause" }), { ok: false, code: "no_goal" })
        // Rounds wait for the end of the maintenance.
        yield* agent.runMaintenance(
          Effect.gen(function* () {
            yield* send({ verb: "create", objective: "ship it", maxGoalRounds: 2 })
            const shown = yield* send({ verb: "show" })
            assert.deepInclude(shown.ok ? shown.goal : {}, { phase: "active", activation: "armed", maxGoalRounds: 2 })
            yield* send({ verb: "edit", objective: "ship it well" })
            assert.deepInclude(yield* send({ verb: "pause", revision: 1 }), { ok: false, code: "stale_goal" })
            const paused = yield* send({ verb: "pause" })
            assert.deepInclude(paused.ok ? paused.goal : {}, {
              phase: "paused",
              revision: 3,
              objective: "ship it well"
            })
            yield* send({ verb: "resume" })
            assert.deepStrictEqual(yield* send({ verb: "clear" }), { ok: true, goal: null })
            assert.isUndefined(yield* goals.get(id))
          })
        )
      })
      const layer = agentLayer({ db: place.db, route: place.scripted[3] ?? "" })
      yield* story.pipe(Effect.scoped, Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )
})
