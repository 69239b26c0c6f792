import * as Reminder from "@afterturn/schedule/Reminder"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"

const isId = Schema.is(Reminder.ReminderId)

describe("the id of a reminder", () => {
  it("has one form, and its number", () => {
    assert.strictEqual(Reminder.idOf(12), "schedule-12")
    assert.strictEqual(Reminder.numberOf(Reminder.idOf(12)), 12)
    assert.isTrue(isId("schedule-1"))
    for (const wrong of ["schedule-0", "schedule-01", " schedule-1", "schedule-1 ", "Schedule-1", "schedule-", "1"]) {
      assert.isFalse(isId(wrong), wrong)
    }
  })
})
