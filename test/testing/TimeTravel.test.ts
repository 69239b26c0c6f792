import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { AgentExtensions } from "@afterturn/agent/Agents"
import * as SessionLog from "@afterturn/session-log/SessionLog"
import * as Sqlite from "@afterturn/session-log/SessionLog/Sqlite"
import * as ScriptedModel from "@afterturn/testing/ScriptedModel"
import * as TimeTravel from "@afterturn/testing/TimeTravel"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as EffectSchedule from "effect/Schedule"

/** Every agent is told the time by a capability that lives as long as it does. */
const hourlyChime = Layer.effectDiscard(
  Effect.flatMap(AgentExtensions, (extensions) =>
    extensions.register((agent) =>
      agent
        .followup(AgentMessage.text({ kind: "system" }, "an hour has passed"))
        .pipe(
          Effect.ignore,
          Effect.delay("1 hour"),
          Effect.repeat(EffectSchedule.forever),
          Effect.forkScoped,
          Effect.asVoid
        )
    )
  )
)

const model = ScriptedModel.layer({
  rules: [
    { on: "user", steps: [{ text: "hello" }], repeat: true },
    { on: "system", steps: [{ text: "noted" }], repeat: true }
  ]
})

const memory = hourlyChime.pipe(
  Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" })),
  Layer.provideMerge(model),
  Layer.provideMerge(SessionLog.layerMemory)
)

const sqlite = hourlyChime.pipe(
  Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" })),
  Layer.provideMerge(model),
  Layer.provideMerge(Sqlite.layerSqlite({ filename: ":memory:" }))
)

const day = (travel: TimeTravel.TimeTravel) =>
  Effect.gen(function* () {
    yield* travel.say("hi")
    yield* travel.advance("90 minutes")
    yield* travel.restart
    yield* travel.say("still there?")
    yield* travel.advanceTo("2026-01-01T03:00:00.000Z")
    return yield* travel.transcript({ times: true })
  })

const seen = `
2026-01-01T00:00:00.000Z turn 1 (user)
2026-01-01T00:00:00.000Z   user: hi
2026-01-01T00:00:00.000Z   assistant: hello
2026-01-01T00:00:00.000Z   end completed
2026-01-01T01:00:00.000Z turn 2 (system)
2026-01-01T01:00:00.000Z   system: an hour has passed
2026-01-01T01:00:00.000Z   assistant: noted
2026-01-01T01:00:00.000Z   end completed
2026-01-01T01:30:00.000Z turn 3 (user)
2026-01-01T01:30:00.000Z   user: still there?
2026-01-01T01:30:00.000Z   assistant: hello
2026-01-01T01:30:00.000Z   end completed
2026-01-01T02:30:00.000Z turn 4 (system)
2026-01-01T02:30:00.000Z   system: an hour has passed
2026-01-01T02:30:00.000Z   assistant: noted
2026-01-01T02:30:00.000Z   end completed
`.trim()

describe("TimeTravel", () => {
  it.live("plays hours of a session, restarts included, on the virtual clock", () =>
    Effect.gen(function* () {
      const text = yield* TimeTravel.run(memory, day, { start: "2026-01-01T00:00:00.000Z" })
      assert.strictEqual(text, seen)
    })
  )

  it.live("plays the same on SQLite", () =>
    Effect.gen(function* () {
      const text = yield* TimeTravel.run(sqlite, day, { start: "2026-01-01T00:00:00.000Z" })
      assert.strictEqual(text, seen)
    })
  )

  it.effect("plays the same under Effect's test clock", () =>
    Effect.gen(function* () {
      const text = yield* TimeTravel.runTestClock(memory, day, { start: "2026-01-01T00:00:00.000Z" })
      assert.strictEqual(text, seen)
    })
  )
})
