import { BlockedReason, GoalId, GoalRecord, refText } from "@afterturn/goals/Goal"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { ref } from "./support/goals.js"

describe("a goal", () => {
  it("has an id that counts from 1", () => {
    assert.isTrue(Schema.is(GoalId)("goal-1"))
    for (const id of ["goal-0", "goal-01", "Goal-1", "goal-", "goal-1 "]) assert.isFalse(Schema.is(GoalId)(id), id)
  })

  it("is named by its id and revision", () => {
    assert.strictEqual(refText(ref(3)), "goal-1 at revision 3")
  })

  it("is blocked under a lower-kebab code, for a reason that says something", () => {
    assert.isTrue(Schema.is(BlockedReason)({ code: "needs-human", message: "a key" }))
    for (const code of ["needs_human", "Needs-human", "needs-", "-needs", "needs--human", "", "9lives"]) {
      assert.isFalse(Schema.is(BlockedReason)({ code, message: "m" }), code)
    }
    assert.isFalse(Schema.is(BlockedReason)({ code: "needs-human", message: "" }))
  })

  it("is refused with numbers that are none", () => {
    const at = "2026-01-01T00:00:00.000Z"
    const goal = {
      id: "goal-1",
      revision: 1,
      objective: "o",
      phase: "active",
      maxGoalRounds: 1,
      roundsStarted: 0,
      createdAt: at,
      updatedAt: at
    }
    assert.isTrue(Schema.is(GoalRecord)(goal))
    for (const wrong of [{ revision: 0 }, { maxGoalRounds: 0 }, { roundsStarted: -1 }, { maxTokens: 0.5 }]) {
      assert.isFalse(Schema.is(GoalRecord)({ ...goal, ...wrong }), JSON.stringify(wrong))
    }
  })
})
