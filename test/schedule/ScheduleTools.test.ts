import { Agents } from "@afterturn/agent/Agents"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import * as ScheduleTools from "@afterturn/schedule/ScheduleTools"
import { Projections } from "@afterturn/session-log/Projection"
import { layerMemory } from "@afterturn/session-log/SessionLog"
import { SessionStoreError } from "@afterturn/session-log/SessionStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as FakeModel from "../support/FakeModel.js"
import { eventsOf, memory, over } from "./support/runtime.js"

interface Result {
  readonly name: string
  readonly ok: boolean
  readonly value?: Record<string, unknown>
  readonly error?: { readonly code: string; readonly message: string }
  readonly text: string
}

type Call = readonly [name: string, input: unknown]

/** What the tools answer to calls, one a step. */
const results = (
  calls: ReadonlyArray<Call>,
  runtime: (model: FakeModel.FakeModel) => ReturnType<typeof memory> = (model) => memory(undefined, model.layer)
) => {
  const model = FakeModel.make((request) => {
    const call = calls[request]
    return call === undefined ? { text: "done" } : { calls: [{ name: call[0], input: call[1] }] }
  })
  return Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2026, 0, 1))
    const agents = yield* Agents
    const agent = yield* agents.create()
    yield* agent.followup({ source: { kind: "user" }, content: [{ type: "text", text: "go" }] })
    yield* agent.whenIdle
    return (yield* eventsOf(agent.id)).filter(({ type }) => type === "tool/result").map(({ data }) => data as Result)
  }).pipe(Effect.scoped, Effect.provide(runtime(model)))
}

const tea = { title: "tea", prompt: "Pour the tea." }

describe("the tools", () => {
  it.effect("set a reminder, and say how the rule was read", () =>
    Effect.gen(function* () {
      const [made, again, berlin] = yield* results([
        ["schedule_create", { ...tea, every_seconds: 3600 }],
        ["schedule_create", { ...tea, every_seconds: "3600" }],
        ["schedule_create", { ...tea, daily: { time: "09:00:00", time_zone: "europe/berlin" }, at: null }]
      ])
      assert.deepInclude(made?.value, {
        id: "schedule-1",
        scheduledAt: "2026-01-01T01:00:00.000Z",
        state: "scheduled",
        delivery: "session-local"
      })
      assert.match(
        made?.text ?? "",
        /^Set schedule-1 "tea": every 1 hour.*\nNext: 2026-01-01T01:00:00.000Z, 2026-01-01T02:00:00.000Z/
      )
      assert.include(again?.text, "schedule-1 is the same")
      assert.strictEqual(berlin?.value?.localTime, "2026-01-01T09:00:00+01:00")
      assert.include(berlin?.text, "2026-01-01T08:00:00.000Z (2026-01-01T09:00:00+01:00)")
    })
  )

  it.effect("list, change and delete", () =>
    Effect.gen(function* () {
      const [, , list, changed, kept, deleted, twice, rest] = yield* results([
        ["schedule_create", { ...tea, every_seconds: 60 }],
        ["schedule_create", { ...tea, title: "cake", prompt: "x".repeat(500), after_seconds: 90 }],
        ["schedule_list", {}],
        ["schedule_update", { id: "schedule-1", cron: { expression: "0 9 * * 1-5", time_zone: "UTC" } }],
        ["schedule_update", { id: "schedule-1", title: "coffee" }],
        ["schedule_delete", { id: "schedule-2" }],
        ["schedule_delete", { id: "schedule-2" }],
        ["schedule_list", {}]
      ])
      const listed = list?.value as { reminders: ReadonlyArray<{ id: string; prompt: string }>; total: number }
      assert.deepStrictEqual(
        listed.reminders.map(({ id, prompt }) => [id, prompt.length]),
        [
          ["schedule-1", 13],
          ["schedule-2", 200]
        ]
      )
      assert.include(list?.text, 'schedule-1 [scheduled] "tea"')
      assert.deepInclude(changed?.value, { id: "schedule-1", scheduledAt: "2026-01-01T09:00:00.000Z" })
      assert.deepInclude(kept?.value, { title: "coffee", scheduledAt: "2026-01-01T09:00:00.000Z" })
      assert.deepStrictEqual<unknown>(deleted?.value, { id: "schedule-2", deleted: true })
      assert.deepStrictEqual<unknown>(twice?.value, { id: "schedule-2", deleted: false, code: "schedule_not_found" })
      assert.deepInclude(rest?.value, { total: 1 })
    })
  )

  it.effect("refuse with a code and what would be right", () =>
    Effect.gen(function* () {
      const refusals = yield* results([
        ["schedule_create", { ...tea }],
        ["schedule_create", { ...tea, every_seconds: 1 }],
        ["schedule_create", { ...tea, daily: { time: "09:00:00", time_zone: "Europe/Budapesst" } }],
        ["schedule_create", { ...tea, title: " ", after_seconds: 1 }],
        ["schedule_create", { ...tea, prompt: "", after_seconds: 1 }],
        ["schedule_create", { ...tea, at: "2026-01-01T10:00:00" }],
        ["schedule_update", { id: "schedule-1" }],
        ["schedule_delete", { id: " schedule-1" }],
        ["schedule_create", { ...tea, whenever: true }]
      ])
      assert.deepStrictEqual(
        refusals.map(({ error }) => error?.code),
        [
          "invalid_selector",
          "frequency_too_high",
          "invalid_time_zone",
          "invalid_title",
          "invalid_prompt",
          "invalid_rule",
          "schedule_not_found",
          "invalid_selector",
          "invalid_arguments"
        ]
      )
      assert.include(refusals[2]?.error?.message, "Europe/Budapest")
    })
  )

  it.effect("say of a store that failed whether something may be stored", () =>
    Effect.gen(function* () {
      for (const [reason, code] of [
        ["unavailable", "persistence_uncertain"],
        ["full", "not_stored"]
      ] as const) {
        const failing = Layer.effect(
          Projections,
          Effect.map(Projections, (projections) => ({
            ...projections,
            decide: () => new SessionStoreError({ reason, message: "no" })
          }))
        )
        const [answer] = yield* results([["schedule_create", { ...tea, after_seconds: 60 }]], (model) =>
          over(Layer.provideMerge(failing, layerMemory), undefined, model.layer)
        )
        assert.strictEqual(answer?.error?.code, code)
      }
    })
  )

  it.effect("are for root agents, unless composed otherwise", () =>
    Effect.gen(function* () {
      const agents = yield* Agents
      const registry = yield* ToolRegistry.ToolRegistry
      const names = (depth: number) =>
        Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* agents.create({ delegationDepth: depth })
            return (yield* registry.tools(agent)).map(({ tool }) => tool.name)
          })
        )
      assert.deepStrictEqual(yield* names(0), [
        "schedule_create",
        "schedule_list",
        "schedule_update",
        "schedule_delete"
      ])
      assert.deepStrictEqual(yield* names(1), [])
    }).pipe(Effect.provide(memory()))
  )

  it.effect("say what a deployment allows", () =>
    Effect.gen(function* () {
      const settings = yield* ScheduleConfig.ScheduleConfig
      const { schedule_create } = ScheduleTools.toolkit(settings).tools
      assert.include(schedule_create.description, "exactly one of")
      assert.include(JSON.stringify(schedule_create.parametersSchema.ast), "at least 300")
    }).pipe(Effect.provide(ScheduleConfig.layer({ minEveryIntervalSeconds: 300 })))
  )
})
