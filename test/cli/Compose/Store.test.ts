import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { emptyStoreLayer, storeLayer } from "@afterturn/cli/Compose/Store"
import { EventTypes } from "@afterturn/session-log/EventTypes"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { workplace } from "../../support/afterturn.js"

const create = Effect.flatMap(SessionLog, (log) => log.create())
const list = Effect.flatMap(SessionLog, (log) => log.list())

describe("storeLayer", () => {
  it.live("keeps sessions in the file, from one opening to the next", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      const { id } = yield* Effect.provide(create, storeLayer(db))
      const { sessions } = yield* Effect.provide(list, storeLayer(db))
      assert.deepStrictEqual(
        sessions.map((session) => session.id),
        [id]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("knows the events of every capability without an agent", () =>
    Effect.gen(function* () {
      const types = yield* EventTypes
      for (const { type } of [...AgentEvents.all, { type: "todo/write" }, { type: "job/settle" }])
        assert.isDefined(types.get(type), type)
      assert.deepStrictEqual((yield* list).sessions, [])
    }).pipe(Effect.provide(emptyStoreLayer))
  )
})
