import type { ReminderRecord } from "@afterturn/schedule/Reminder"
import { idOf } from "@afterturn/schedule/Reminder"
import { ScheduleChange } from "@afterturn/schedule/ScheduleEvents"
import { assert, describe, it } from "@effect/vitest"

const record: ReminderRecord = {
  id: idOf(1),
  title: "tea",
  prompt: "Pour the tea.",
  rule: { at: { date: "2026-01-01", time: "09:00:00", time_zone: "Europe/Berlin" } },
  createdAt: "2026-01-01T00:00:00.000Z",
  scheduledAt: "2026-01-01T08:00:00.000Z"
}

describe("a change of reminders", () => {
  it("is stored as it is given", () => {
    assert.deepStrictEqual<unknown>(ScheduleChange.make({ version: 1, operation: "create", record }), {
      type: "schedule/change",
      data: { version: 1, operation: "create", record }
    })
  })

  it("names what is wrong with one that is not", () => {
    const good = { version: 1, operation: "create", record }
    assert.isUndefined(ScheduleChange.problem(good))
    for (const bad of [
      { ...good, version: 2 },
      { ...good, operation: "make" },
      { ...good, more: 1 },
      { ...good, record: { ...record, id: "schedule-0" } },
      { ...good, record: { ...record, rule: { at: record.rule, every_seconds: 60 } } },
      { version: 1, operation: "pause" },
      { version: 1, operation: "dispatch", id: "schedule-1", occurrenceAt: "soon", acceptedAt: "now", missed: 0 }
    ]) {
      assert.isString(ScheduleChange.problem(bad), JSON.stringify(bad))
    }
  })
})
