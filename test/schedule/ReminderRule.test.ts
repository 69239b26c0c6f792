import * as ReminderRule from "@afterturn/schedule/ReminderRule"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import { cron, daily, weekly } from "./support/rules.js"

const rules: ReadonlyArray<ReminderRule.ReminderRule> = [
  { after_seconds: 90 },
  { at: "2026-01-01T10:00:00Z" },
  { at: { date: "2026-06-01", time: "09:00:00", time_zone: "America/Los_Angeles" } },
  { every_seconds: 3600 },
  daily("09:00:00", "Europe/Berlin"),
  weekly([1, 5], "09:00:00"),
  cron("0 9 * * *")
]

describe("the stored form", () => {
  it("is the JSON that was sent, and has no other keys", () => {
    const decode = Schema.decodeUnknownEither(ReminderRule.ReminderRule, { onExcessProperty: "error" })
    for (const rule of rules) {
      assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(rule))), Either.right(rule))
      assert.isTrue(Either.isLeft(decode({ ...rule, note: "" })))
    }
    assert.isTrue(Either.isLeft(decode({ after_seconds: 5, every_seconds: 60 })))
    assert.isTrue(Either.isLeft(decode({})))
  })
})

describe("a rule", () => {
  it("is told apart by its key", () => {
    assert.deepStrictEqual(rules.map(ReminderRule.selectorOf), [
      "after_seconds",
      "at",
      "at",
      "every_seconds",
      "daily",
      "weekly",
      "cron"
    ])
    assert.deepStrictEqual(rules.map(ReminderRule.isOnce), [true, true, true, false, false, false, false])
    assert.deepStrictEqual(rules.map(ReminderRule.timeZoneOf), [
      undefined,
      undefined,
      "America/Los_Angeles",
      undefined,
      "Europe/Berlin",
      "UTC",
      "UTC"
    ])
  })

  it("is described to a model in each of its fields", () => {
    const definitions = JSONSchema.make(ReminderRule.ReminderRule).$defs
    const { anyOf } = (definitions?.ReminderRule ?? {}) as JSONSchema.JsonSchema7AnyOf
    assert.lengthOf(anyOf, 6)
    for (const member of anyOf as ReadonlyArray<JSONSchema.JsonSchema7Object>) {
      for (const property of Object.values(member.properties)) assert.isString(property.description)
    }
  })
})
