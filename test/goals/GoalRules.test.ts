import type { GoalRecord } from "@afterturn/goals/Goal"
import type { Present } from "@afterturn/goals/GoalRules"
import * as GoalRules from "@afterturn/goals/GoalRules"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { ref } from "./support/goals.js"

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
const limits = { defaultMaxGoalRounds: 5, maxObjectiveLength: 20 }
const none: Present = { goal: null, number: 0, usage: { tokens: 0, activeMs: 0 } }

const right = <A, E>(either: Either.Either<A, E>): A => Either.getOrThrowWith(either, (error) => error)
const left = <A, E>(either: Either.Either<A, E>): E => Either.getOrThrow(Either.flip(either))

const created = right(GoalRules.create(none, { objective: " ship it " }, limits, at(0)))
const having = (goal: Partial<GoalRecord>, usage = none.usage): Present => ({
  goal: { ...created, ...goal },
  number: 1,
  usage
})
const blocked = { phase: "blocked", blockedReason: { code: "needs-human", message: "a key" } } as const

describe("creating a goal", () => {
  it("makes revision 1, active, under the next id, with the default cap", () => {
    assert.deepStrictEqual(created, {
      id: ref(1).id,
      revision: 1,
      objective: "ship it",
      phase: "active",
      maxGoalRounds: 5,
      roundsStarted: 0,
      createdAt: at(0),
      updatedAt: at(0)
    })
  })

  it("is refused while there is one that is not complete, and the refusal names it and what it can do", () => {
    for (const phase of ["active", "paused", "blocked"] as const) {
      const error = left(GoalRules.create(having({ phase }), { objective: "x" }, limits, at(1)))
      assert.strictEqual(error._tag, "GoalExists")
      assert.include(error.message, `goal-1 at revision 1 (${phase}): "ship it"`)
      assert.include(error.message, "clear")
    }
  })

  it("replaces one that is complete, under a fresh id", () => {
    const next = right(GoalRules.create(having({ phase: "complete" }), { objective: "x" }, limits, at(1)))
    assert.deepStrictEqual([next.id, next.revision], [ref(1, 2).id, 1])
  })

  it("refuses what is no objective, cap or budget", () => {
    const fields = [
      [{ objective: " " }, "objective"],
      [{ objective: "x".repeat(21) }, "objective"],
      [{ objective: "x", maxGoalRounds: 0 }, "max_goal_rounds"],
      [{ objective: "x", maxGoalRounds: 1.5 }, "max_goal_rounds"],
      [{ objective: "x", maxTokens: -1 }, "max_tokens"],
      [{ objective: "x", maxDurationMs: Number.NaN }, "max_duration"]
    ] as const
    for (const [spec, field] of fields) {
      const error = left(GoalRules.create(none, spec, limits, at(0)))
      assert.deepStrictEqual(error._tag === "InvalidGoal" ? error.field : error._tag, field)
    }
  })
})

describe("a change", () => {
  it("is refused where there is no goal, or another state of it, and the refusal has the present one", () => {
    assert.strictEqual(left(GoalRules.pause(none, ref(1), at(1)))._tag, "NoGoal")
    for (const given of [ref(2), ref(4), ref(3, 2)]) {
      const error = left(GoalRules.pause(having({ revision: 3 }), given, at(1)))
      assert.strictEqual(error._tag, "StaleGoal")
      assert.include(error.message, "goal-1 at revision 3 (active)")
    }
  })

  it("moves the revision on, and the time never back", () => {
    const earlier = right(GoalRules.pause(having({ updatedAt: at(9) }), ref(1), at(1)))
    assert.deepStrictEqual([earlier.revision, earlier.updatedAt, earlier.createdAt], [2, at(9), at(0)])
    const later = right(GoalRules.pause(having({ updatedAt: at(9) }), ref(1), at(10)))
    assert.strictEqual(later.updatedAt, at(10))
  })

  it("is allowed from these phases and no others", () => {
    const allowed = (phase: GoalRecord["phase"]) => GoalRules.operations(phase).join(" ")
    assert.strictEqual(allowed("active"), "edit pause resume complete block clear")
    assert.strictEqual(allowed("paused"), "edit resume complete clear")
    assert.strictEqual(allowed("blocked"), "edit resume complete clear")
    assert.strictEqual(allowed("complete"), "clear")
    const error = left(GoalRules.pause(having({ phase: "complete" }), ref(1), at(1)))
    assert.strictEqual(error.message, "goal-1 at revision 1 is complete: it cannot pause; it can clear")
  })
})

describe("an edit", () => {
  const edit = (present: Present, changes: Parameters<typeof GoalRules.edit>[2]) =>
    GoalRules.edit(present, ref(1), changes, limits, at(1))

  it("changes what it names, and neither phase nor reason", () => {
    const goal = right(edit(having({ ...blocked, maxTokens: 7 }), { objective: "other", maxGoalRounds: 9 }))
    assert.deepInclude(goal, { objective: "other", maxGoalRounds: 9, maxTokens: 7, ...blocked })
  })

  it("sets a budget, and takes it away", () => {
    assert.strictEqual(right(edit(having({}), { maxTokens: 5 })).maxTokens, 5)
    assert.notProperty(right(edit(having({ maxTokens: 7 }), { maxTokens: null })), "maxTokens")
  })

  it("may set a cap below what is used, for the next round decides", () => {
    assert.strictEqual(right(edit(having({ roundsStarted: 3 }), { maxGoalRounds: 1 })).maxGoalRounds, 1)
  })

  it("of nothing is refused", () => {
    assert.strictEqual(left(edit(having({}), {}))._tag, "InvalidGoal")
  })
})

describe("resuming", () => {
  it("makes a paused, a blocked and a disarmed goal active, without the reason", () => {
    for (const from of [{ phase: "paused" as const }, blocked, {}]) {
      const goal = right(GoalRules.resume(having(from), ref(1), at(1)))
      assert.strictEqual(goal.phase, "active")
      assert.notProperty(goal, "blockedReason")
    }
  })

  it("is refused when nothing of a budget is left, and says which and how to raise it", () => {
    const refused = [
      [having({ ...blocked, roundsStarted: 5 }), "5 of 5 rounds", "max_goal_rounds"],
      [having({ ...blocked, maxTokens: 10 }, { tokens: 11, activeMs: 0 }), "11 of 10 tokens", "token budget"],
      [having({ ...blocked, maxDurationMs: 9 }, { tokens: 0, activeMs: 9 }), "9 of 9 ms", "time budget"]
    ] as const
    for (const [present, used, raise] of refused) {
      const error = left(GoalRules.resume(present, ref(1), at(1)))
      assert.strictEqual(error._tag, "GoalExhausted")
      assert.include(error.message, used)
      assert.include(error.message, raise)
    }
  })
})

describe("blocking", () => {
  it("keeps the reason, trimmed and bounded to whole characters", () => {
    const block = (message: string, code = "needs-human") =>
      GoalRules.block(having({}), ref(1), { code, message }, at(1))
    assert.deepStrictEqual(right(block(" a key ")).blockedReason, { code: "needs-human", message: "a key" })
    const long = right(block(`${"x".repeat(1_998)}😀${"x".repeat(9)}`)).blockedReason?.message ?? ""
    assert.strictEqual(long, `${"x".repeat(1_998)}…`)
    assert.strictEqual(left(block(" "))._tag, "InvalidGoal")
    assert.strictEqual(left(block("m", "Needs human"))._tag, "InvalidGoal")
  })
})

describe("clearing", () => {
  it("leaves a tombstone at the next revision", () => {
    assert.deepStrictEqual(right(GoalRules.clear(having({ phase: "complete", revision: 4 }), ref(4))), ref(5))
  })
})
