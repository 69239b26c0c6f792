import { emptyStoreLayer } from "@afterturn/cli/Compose/Store"
import * as Verify from "@afterturn/cli/Verify"
import { ScheduleChange } from "@afterturn/schedule/ScheduleEvents"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

/** What `sessions verify` says of a session with these events. */
const faultOf = (events: ReadonlyArray<{ readonly type: string; readonly data: unknown }>) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const { id } = yield* log.create({ id: SessionId.make("s1") })
    yield* log.append(id, events)
    return (yield* Effect.flip(Verify.session(id))).message
  }).pipe(Effect.provide(emptyStoreLayer))

describe("folds", () => {
  it.effect("name the first event that reminders could not take, each event being fine by itself", () =>
    Effect.gen(function* () {
      const deleted = ScheduleChange.make({ version: 1, operation: "delete", id: "schedule-1" as never })
      assert.match(yield* faultOf([deleted, deleted]), /^session "s1" is corrupt at seq 0: reminders: /)
    })
  )

  it.effect("name the event that no goal was there for", () =>
    Effect.gen(function* () {
      const cleared = {
        type: "goal/change",
        data: { version: 1, operation: "clear", tombstone: { id: "goal-1", revision: 2 } }
      }
      assert.match(yield* faultOf([cleared]), /^session "s1" is corrupt at seq 0: goal: /)
    })
  )
})
