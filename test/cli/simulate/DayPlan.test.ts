import * as DayPlan from "@afterturn/cli/simulate/DayPlan"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import * as Instants from "@afterturn/session-log/Instant"
import * as Dice from "@afterturn/testing/Dice"
import * as Either from "effect/Either"
import { assert, describe, it } from "vitest"

const seeds = Array.from({ length: 400 }, (_, seed) => Dice.make(seed))

const callsOf = (dice: Dice.Dice, start: string) => DayPlan.say(dice, start).flatMap(({ calls }) => calls ?? [])

describe("the plan of a simulated day", () => {
  it("begins at an instant", () => {
    for (const dice of seeds)
      assert.isTrue(Number.isSafeInteger(Instants.toMillis(Instants.Instant.make(DayPlan.start(dice)))))
  })

  it("asks for rules of all kinds, most of which can be", () => {
    const start = "2026-03-28T10:00:00.000Z"
    const rules = seeds
      .flatMap((dice) => callsOf(dice, start))
      .filter(({ tool }) => tool === "schedule_create")
      .map(({ input }) => {
        const { prompt: _, title: __, ...rule } = input as Record<string, unknown>
        return rule
      })
    const kinds = new Set(rules.flatMap((rule) => Object.keys(rule)))
    assert.deepStrictEqual([...kinds].sort(), ["after_seconds", "at", "cron", "daily", "every_seconds", "weekly"])
    const now = Instants.Instant.make(start)
    const accepted = rules.filter((rule) => Either.isRight(RuleInput.parse(rule, { now })))
    assert.isAbove(accepted.length, rules.length * 0.9)
  })

  it("calls every tool that works in the background, and some that do not exist", () => {
    const tools = new Set(seeds.flatMap((dice) => callsOf(dice, "2026-03-28T10:00:00.000Z")).map(({ tool }) => tool))
    for (const tool of ["todo_write", "bash", "job_output", "job_kill", "create_goal", "update_goal", "no_such_tool"]) {
      assert.include([...tools], tool)
    }
  })

  it("looks at the job or the goal that a message names", () => {
    const inputs = (text: string) =>
      seeds.flatMap((dice) => DayPlan.answer(text, dice) ?? []).flatMap(({ calls }) => calls ?? [])
    assert.deepInclude(inputs("bash-7 has ended"), { tool: "job_output", input: { job_id: "bash-7" } })
    assert.isTrue(
      inputs("Round 2 of goal-3 at revision 4").some(
        ({ input, tool }) => tool === "update_goal" && (input as { goal_id: string }).goal_id === "goal-3"
      )
    )
  })

  it("names actions with their input", () => {
    const found = new Set(seeds.map((dice) => DayPlan.act(dice).action))
    assert.isTrue(found.has("todo-write") && found.has("goal-resume") && found.has("reminder-run-now"))
  })
})
