import * as Occurrences from "@afterturn/schedule/Occurrences"
import type { ReminderRule } from "@afterturn/schedule/ReminderRule"
import * as RulePreview from "@afterturn/schedule/RulePreview"
import * as Instant from "@afterturn/session-log/Instant"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import * as Option from "effect/Option"
import { millis, recurring } from "./support/arbitraries.js"

/** `undefined` for a rule that never comes. */
const next = (rule: ReminderRule, after: Instant.Instant, anchor: Instant.Instant): Instant.Instant | undefined =>
  Option.getOrUndefined(Option.flatten(Either.getRight(Occurrences.next(rule, { after, anchor }))))

describe("any rule that comes again, in any zone", () => {
  it("comes later than asked, and again later than that", () => {
    fc.assert(
      fc.property(recurring, millis, (rule, at) => {
        const after = Instant.format(at)
        const first = next(rule, after, after)
        if (first === undefined) return
        assert.isAbove(Instant.toMillis(first), at)
        const second = next(rule, first, after)
        assert.isAbove(Instant.toMillis(second ?? "9999-12-31T23:59:59.999Z"), Instant.toMillis(first))
        // Nothing lies between.
        assert.strictEqual(next(rule, Instant.format(Instant.toMillis(first) - 1), after), first)
      }),
      { numRuns: 500 }
    )
  })

  it("has missed what one would have counted", () => {
    fc.assert(
      fc.property(recurring, millis, fc.nat(80), fc.nat(7_200_000), (rule, at, steps, extra) => {
        const from = Instant.format(at)
        const scheduledAt = next(rule, from, from)
        if (scheduledAt === undefined) return
        let occurrenceAt = scheduledAt
        for (let step = 0; step < steps; step++) occurrenceAt = next(rule, occurrenceAt, scheduledAt) ?? occurrenceAt
        const following = next(rule, occurrenceAt, scheduledAt) ?? occurrenceAt
        const now = Math.min(Instant.toMillis(occurrenceAt) + extra, Instant.toMillis(following) - 1)
        assert.deepStrictEqual(
          Occurrences.latestDue(rule, { scheduledAt, now: Instant.format(now) }),
          Either.right(Option.some({ occurrenceAt, missed: steps }))
        )
      }),
      { numRuns: 200 }
    )
  })

  it("is previewed as it comes", () => {
    fc.assert(
      fc.property(recurring, millis, (rule, at) => {
        const from = Instant.format(at)
        const preview = Either.getOrElse(RulePreview.preview(rule, { from, count: 4, anchor: from }), () => [])
        let after = from
        for (const shown of preview) {
          assert.strictEqual(shown.at, next(rule, after, from))
          // Offsets with seconds, which are long past, are more than `Date` reads.
          if (/[+-]\d{2}:\d{2}$/.test(shown.local))
            assert.strictEqual(Date.parse(shown.local), Instant.toMillis(shown.at))
          after = shown.at
        }
      }),
      { numRuns: 200 }
    )
  })
})
