import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as Wakes from "@afterturn/agent/Wakes"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import * as JobWakes from "@afterturn/jobs/JobWakes"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import type { EventInput } from "@afterturn/session-log/SessionEvent"
import { layerMemory, SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const layer = JobWakes.layer({ maxConsecutiveWakes: 2 }).pipe(
  Layer.provideMerge(Wakes.layer),
  Layer.provide(EventTypes.layerRegister(...JobEvents.all)),
  Layer.provideMerge(layerMemory)
)

const at = "2026-01-01T00:00:00.000Z"
const start = (id: string) => JobEvents.JobStart.make({ id: JobId.make(id), kind: "bash", label: "make" })
const settle = (id: string) =>
  JobEvents.JobSettle.make({ id: JobId.make(id), status: "failed", startedAt: at, finishedAt: at })
const noticeOf = (id: string) => ({
  id: "msg-1",
  source: { kind: "job-notice" as const, jobs: [id] },
  content: [{ type: "text" as const, text: "ended" }]
})

/** What the ledger says of a session with these events. */
const wakesOf = (...events: ReadonlyArray<EventInput>) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const { id } = yield* log.create()
    yield* log.append(id, events)
    return yield* Effect.flatMap(Wakes.Wakes, ({ of }) => of(id))
  })

describe("jobs in the ledger of wakes", () => {
  it.effect("are there while they run, and say when they were asked to stop", () =>
    Effect.gen(function* () {
      const wakes = yield* wakesOf(
        start("bash-1"),
        start("bash-2"),
        JobEvents.JobKillRequested.make({ id: JobId.make("bash-2"), by: "user" })
      )
      assert.deepStrictEqual(
        wakes.map(({ summary }) => summary),
        [
          "bash-1 (bash) running: make",
          "bash-2 (bash) stopping: make",
          "job notices may open 2 of 2 turns before the user speaks again"
        ]
      )
      assert.deepStrictEqual(
        wakes.map(({ kind, id }) => [kind, id]),
        [
          ["job", "bash-1"],
          ["job", "bash-2"],
          ["wake-budget", undefined]
        ]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("leave a notice until a message in the inbox tells of their end", () =>
    Effect.gen(function* () {
      const ended = [start("bash-1"), settle("bash-1")]
      const untold = yield* wakesOf(...ended)
      assert.deepStrictEqual(
        untold.map(({ kind, summary }) => [kind, summary]),
        [
          ["notice", "bash-1 (bash) failed, not told yet: make"],
          ["wake-budget", "job notices may open 2 of 2 turns before the user speaks again"]
        ]
      )
      const insert = AgentEvents.InboxSpliced.make({ list: "nextStep", op: "insert", messages: [noticeOf("bash-1")] })
      const waiting = yield* wakesOf(...ended, insert)
      assert.deepStrictEqual(
        waiting.map(({ kind }) => kind),
        ["inbox", "wake-budget"]
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("tell what is left of the wake budget, never less than nothing", () =>
    Effect.gen(function* () {
      const opened = (turn: number) => [
        AgentEvents.TurnStart.make({ turn, source: { kind: "job-notice", jobs: ["bash-1"] } }),
        AgentEvents.TurnEnd.make({ turn, reason: { kind: "completed" } })
      ]
      const muted = JobEvents.JobWakesMuted.make({ budget: 2, pending: [] })
      const spent = yield* wakesOf(...opened(1), ...opened(2), ...opened(3), muted)
      assert.deepStrictEqual(spent[0]?.detail, { left: 0, budget: 2, spent: 3, muted: true })
    }).pipe(Effect.provide(layer))
  )
})
