import type { Goal } from "@afterturn/goals/Goal"
import * as GoalText from "@afterturn/goals/GoalText"
import { assert, describe, it } from "@effect/vitest"
import { ref } from "./support/goals.js"

const goal: Goal = {
  id: ref(1).id,
  revision: 2,
  objective: "ship it",
  phase: "active",
  maxGoalRounds: 9,
  roundsStarted: 3,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z",
  activation: "armed",
  usage: { tokens: 7, activeMs: 61_000 }
}

describe("the text of a goal", () => {
  it("has where it stands on one line", () => {
    assert.strictEqual(GoalText.statusLine(goal), "goal-1 at revision 2: active, 3 of 9 rounds started")
    assert.strictEqual(
      GoalText.statusLine({
        ...goal,
        phase: "blocked",
        activation: "disarmed",
        blockedReason: { code: "needs-human", message: "a key" }
      }),
      "goal-1 at revision 2: blocked, 3 of 9 rounds started: needs-human, a key"
    )
    assert.include(GoalText.statusLine({ ...goal, activation: "disarmed" }), "active, disarmed,")
  })

  it("tells a person the objective, what is used of its budgets, and what it can do", () => {
    assert.deepStrictEqual(GoalText.lines({ ...goal, maxTokens: 10, maxDurationMs: 3_600_000 }), [
      "ship it",
      "goal-1 at revision 2: active, 3 of 9 rounds started",
      "7 of 10 tokens used",
      "active for 1m 1s of 1h",
      "can edit, pause, resume, complete, block, clear"
    ])
  })

  it("tells the model in each round what the goal is, as of when, and how to end it", () => {
    const text = GoalText.round(goal, 4, "create")
    assert.include(text, "Round 4 of at most 9 for goal-1 at revision 2. It is active since 2026-01-01T00:00:00.000Z:")
    assert.include(text, "Objective:\nship it")
    assert.include(text, 'goal_id "goal-1", revision 2, action "complete"')
    assert.include(GoalText.round(goal, 4, "resume"), "resumed by the user")
    assert.include(GoalText.round(goal, 4, "edit"), "as the user last changed it")
  })

  it("is in the system prompt with as much of the objective as has a place there", () => {
    const section = GoalText.section({ ...goal, objective: "x".repeat(5_000) })
    assert.include(section, `${"x".repeat(4_000)}… (get_goal has all of it)`)
    assert.include(GoalText.section({ ...goal, phase: "paused" }), "until the user resumes it")
  })
})
