import * as Occurrences from "@afterturn/schedule/Occurrences"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import * as RulePreview from "@afterturn/schedule/RulePreview"
import { describe } from "@afterturn/schedule/RuleText"
import * as Either from "effect/Either"
import * as Option from "effect/Option"

const now = "2026-03-07T12:00:00.000Z"

export const main = Either.gen(function* () {
  const input = { cron: { expression: "30 2 * * *", time_zone: "America/New_York" } }
  const { rule, scheduledAt } = yield* RuleInput.parse(input, { now })
  const [first] = yield* RulePreview.preview(rule, { from: now, count: 1, anchor: scheduledAt })
  const due = yield* Occurrences.latestDue(rule, { scheduledAt, now: "2026-03-12T00:00:00.000Z" })
  const { missed, occurrenceAt } = Option.getOrThrow(due)
  return [describe(rule), first?.local, first?.note, `${occurrenceAt}, ${missed} missed before it`].join("\n")
})

// at 02:30 every day in America/New_York
// 2026-03-09T02:30:00-04:00
// 2026-03-08T02:30:00 before it is skipped: clocks go from 2026-03-08T02:00:00 to 2026-03-08T03:00:00
// 2026-03-11T06:30:00.000Z, 2 missed before it
