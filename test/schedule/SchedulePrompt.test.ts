import { Agents } from "@afterturn/agent/Agents"
import * as SystemPrompt from "@afterturn/agent/SystemPrompt"
import { Schedule } from "@afterturn/schedule/Schedule"
import * as SchedulePrompt from "@afterturn/schedule/SchedulePrompt"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { memory } from "./support/runtime.js"

describe("the prompt's section", () => {
  it.scoped("names the soonest reminders, and is not there without any", () =>
    Effect.gen(function* () {
      const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
      const schedule = yield* Schedule
      const render = Effect.flatMap(SystemPrompt.SystemPrompt, (prompt) => prompt.render(agent))
      assert.notInclude(yield* render, "reminders of this session")
      for (let index = 0; index < 22; index++) {
        yield* schedule.create(agent.id, { title: `n${index}`, prompt: "p", rule: { after_seconds: 1000 - index } })
      }
      const text = yield* render
      assert.include(
        text,
        '- schedule-22 "n21": once, 16 minutes 19 seconds after it was made; next 1970-01-01T00:16:19.000Z'
      )
      assert.isBelow(text.indexOf("schedule-22 "), text.indexOf("schedule-21 "))
      assert.include(text, "(2 more, later or paused: schedule_list)")
      assert.notInclude(text, "schedule-1 ")
    }).pipe(Effect.provide(SchedulePrompt.layer.pipe(Layer.provideMerge(memory()))))
  )
})
