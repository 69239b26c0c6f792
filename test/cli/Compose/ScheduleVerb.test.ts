import { scheduleLayer } from "@afterturn/cli/Compose/Schedule"
import { apply, ScheduleVerb, serveSchedule } from "@afterturn/cli/Compose/ScheduleVerb"
import { emptyStoreLayer } from "@afterturn/cli/Compose/Store"
import { Schedule } from "@afterturn/schedule/Schedule"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const tea = { verb: "create", title: "tea", prompt: "Pour.", rule: { every_seconds: 60 } } as const

describe("the verbs of reminders", () => {
  it.live("do what the service does, here and through the mailbox, and answer what it refuses", () =>
    Effect.gen(function* () {
      const schedule = yield* Schedule
      const mailbox = yield* Mailbox
      const { id } = yield* Effect.flatMap(SessionLog, (log) => log.create())
      assert.deepInclude((yield* apply(schedule, id, tea)).reminder, { id: "schedule-1", delivery: "host" })
      yield* Effect.forkScoped(mailbox.serve(id, [serveSchedule(schedule, id)]))
      const send = (input: typeof ScheduleVerb.input.Type) => mailbox.send(id, ScheduleVerb, input)
      const made = yield* send(tea)
      assert.isTrue(made.ok && made.done.twin === "schedule-1" && made.done.reminder?.id === "schedule-2")
      const named = yield* send({ verb: "update", id: "schedule-2", title: "cake" })
      assert.isTrue(named.ok && named.done.reminder?.title === "cake")
      for (const [verb, state] of [
        ["pause", "paused"],
        ["resume", "scheduled"],
        ["run-now", "scheduled"]
      ] as const) {
        const answer = yield* send({ verb, id: "schedule-2" })
        assert.isTrue(answer.ok && answer.done.reminder?.state === state, verb)
      }
      assert.deepStrictEqual(yield* send({ verb: "delete", id: "schedule-2" }), { ok: true, done: { deleted: true } })
      const refused = yield* send({ verb: "pause", id: "schedule-2" })
      assert.isTrue(!refused.ok && refused.code === "schedule_not_found")
    }).pipe(Effect.scoped, Effect.provide(scheduleLayer.pipe(Layer.provideMerge(emptyStoreLayer))))
  )
})
