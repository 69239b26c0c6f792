import { disposedCause } from "@afterturn/agent/AgentEvents"
import type { GoalRecord } from "@afterturn/goals/Goal"
import type { Situation } from "@afterturn/goals/GoalRounds"
import * as GoalRounds from "@afterturn/goals/GoalRounds"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import { ref } from "./support/goals.js"

const goal: GoalRecord = {
  id: ref(1).id,
  revision: 2,
  objective: "ship it",
  phase: "active",
  maxGoalRounds: 9,
  roundsStarted: 3,
  createdAt: "2026-01-01T00:00:00.000Z",
  updatedAt: "2026-01-01T00:00:00.000Z"
}

const next = (facts: Partial<Situation> = {}, changes: Partial<GoalRecord> = {}) =>
  GoalRounds.next({
    goal: { ...goal, ...changes },
    usage: { tokens: 0, activeMs: 0 },
    work: [],
    lastTurn: null,
    now: 1_000_000,
    jobsSince: undefined,
    maxJobWait: Duration.minutes(10),
    noProgressRounds: 3,
    isProgress: (tool) => tool !== "get_goal",
    ...facts
  })

const code = (move: GoalRounds.Move) => (move._tag === "Block" ? move.reason.code : move._tag)

const ended = (reason: NonNullable<Situation["lastTurn"]>["reason"]) => ({ lastTurn: { seq: 1, reason } })

const work = (...closings: ReadonlyArray<string>) =>
  closings.map((closing, index) => ({ round: index + 1, closing, tools: [] as ReadonlyArray<string> }))

describe("the next move", () => {
  it("opens the next round of an active goal, and of no other", () => {
    assert.deepStrictEqual(next(), { _tag: "Open", round: 4 })
    for (const phase of ["paused", "blocked", "complete"] as const) {
      assert.deepStrictEqual(next({}, { phase }), { _tag: "Rest" })
    }
  })

  it("stops at the cap and the budgets, and says how to go on", () => {
    const cap = next({}, { maxGoalRounds: 3 })
    assert.deepStrictEqual(cap, {
      _tag: "Block",
      reason: {
        code: "round-limit",
        message: "3 of at most 3 rounds were started; raise max_goal_rounds with an edit, then resume"
      }
    })
    assert.strictEqual(code(next({ usage: { tokens: 10, activeMs: 0 } }, { maxTokens: 10 })), "token-budget")
    assert.strictEqual(code(next({ usage: { tokens: 9, activeMs: 0 } }, { maxTokens: 10 })), "Open")
    assert.strictEqual(code(next({ usage: { tokens: 0, activeMs: 60_000 } }, { maxDurationMs: 60_000 })), "time-budget")
  })

  it("blocks after a turn that failed, whoever opened it", () => {
    const failed = (code: string) => ended({ kind: "error", error: { code, message: "no" } })
    assert.strictEqual(code(next(failed("provider_rejected"))), "execution-error")
    assert.strictEqual(code(next(failed("provider_rate_limited"))), "provider-limit")
    const move = next(failed("store_full"))
    assert.include(move._tag === "Block" ? move.reason.message : "", "store_full")
  })

  it("pauses after a person ended the turn, and goes on after other ends", () => {
    assert.deepStrictEqual(next(ended({ kind: "aborted", cause: "escape" })), { _tag: "Pause" })
    assert.deepStrictEqual(next(ended({ kind: "aborted", cause: disposedCause })), { _tag: "Rest" })
    assert.strictEqual(next(ended({ kind: "step-limit", maxSteps: 64 }))._tag, "Open")
    assert.strictEqual(next(ended({ kind: "interrupted" }))._tag, "Open")
  })

  it("waits for running jobs, for so long and no longer than the time budget", () => {
    assert.deepStrictEqual(next({ jobsSince: 999_000 }), { _tag: "Wait", until: 1_599_000 })
    assert.strictEqual(next({ jobsSince: 400_000 })._tag, "Open")
    assert.deepStrictEqual(next({ jobsSince: 999_000 }, { maxDurationMs: 5_000 }), { _tag: "Wait", until: 1_005_000 })
    // The brakes come before the wait.
    assert.strictEqual(code(next({ jobsSince: 999_000 }, { maxGoalRounds: 3 })), "round-limit")
  })

  it("blocks after so many rounds in a row that changed nothing and closed with the same words", () => {
    assert.strictEqual(code(next({ work: work("same", "same", "same") })), "no-progress")
    assert.strictEqual(code(next({ work: work("other", "same", "same", "same") })), "no-progress")
    assert.strictEqual(code(next({ work: work("", "", "") })), "no-progress")
    assert.strictEqual(next({ work: work("same", "same") })._tag, "Open")
    assert.strictEqual(next({ work: work("same", "other", "same") })._tag, "Open")
    assert.strictEqual(next({ work: work("same", "same", "same"), noProgressRounds: 0 })._tag, "Open")
  })

  it("takes a working tool for progress, and one that only looks for none", () => {
    const [first, second, third] = work("same", "same", "same")
    const rounds = (tool: string) => [first!, { ...second!, tools: [tool] }, third!]
    assert.strictEqual(next({ work: rounds("bash") })._tag, "Open")
    assert.strictEqual(code(next({ work: rounds("get_goal") })), "no-progress")
  })
})
