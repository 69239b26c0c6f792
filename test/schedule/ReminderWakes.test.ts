import { Wakes } from "@afterturn/agent/Wakes"
import * as ReminderWakes from "@afterturn/schedule/ReminderWakes"
import { Schedule } from "@afterturn/schedule/Schedule"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { memory } from "./support/runtime.js"

describe("the ledger of wakes", () => {
  it.effect("has each reminder that waits, the soonest first, and no paused one", () =>
    Effect.gen(function* () {
      const { id } = yield* Effect.flatMap(SessionLog, (log) => log.create())
      const schedule = yield* Schedule
      const wakes = yield* Wakes
      for (const seconds of [90, 60, 30]) {
        yield* schedule.create(id, { title: `in ${seconds}`, prompt: "p", rule: { after_seconds: seconds } })
      }
      yield* schedule.pause(id, "schedule-3")
      const found = (yield* wakes.of(id)).filter(({ kind }) => kind === "reminder")
      assert.deepStrictEqual(
        found.map(({ at, id, summary }) => [id, at, summary]),
        [
          ["schedule-2", "1970-01-01T00:01:00.000Z", "schedule-2 at 1970-01-01T00:01:00.000Z: in 60"],
          ["schedule-1", "1970-01-01T00:01:30.000Z", "schedule-1 at 1970-01-01T00:01:30.000Z: in 90"]
        ]
      )
    }).pipe(Effect.provide(ReminderWakes.layer.pipe(Layer.provideMerge(memory()))))
  )
})
