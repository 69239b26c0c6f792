import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { Agents } from "@afterturn/agent/Agents"
import { agentLayer } from "@afterturn/cli/Compose"
import { hostLayer } from "@afterturn/cli/Compose/Schedule"
import { Schedule } from "@afterturn/schedule/Schedule"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { workplace } from "../../support/afterturn.js"

describe("hostLayer", () => {
  it.live("drives a session that nobody drives for its reminder", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const story = Effect.gen(function* () {
        const log = yield* SessionLog
        const { id } = yield* log.create()
        yield* Effect.flatMap(Schedule, (schedule) =>
          schedule.create(id, { title: "tea", prompt: "Pour.", rule: { after_seconds: 1 } })
        )
        yield* log.changes(id).pipe(
          Stream.filter(({ type }) => type === AgentEvents.TurnEnd.type),
          Stream.take(1),
          Stream.runDrain
        )
        const agents = yield* Agents
        while ((yield* agents.list).length > 0) yield* Effect.sleep("20 millis")
        assert.strictEqual((yield* Effect.flatMap(Schedule, (schedule) => schedule.pending(id))).due, 0)
      })
      const layer = Layer.provideMerge(hostLayer(), agentLayer({ db: place.db, route: place.scripted[3] ?? "" }))
      yield* story.pipe(Effect.provide(layer), Effect.provide(NodeContext.layer))
    }).pipe(Effect.scoped)
  )
})
