/**
 * What reminders contribute to the ledger of wakes.
 *
 * @since 0.1.0
 */
import type { Wakes } from "@afterturn/agent/Wakes"
import { layerSource } from "@afterturn/agent/Wakes"
import { Projections } from "@afterturn/session-log/Projection"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as ScheduleLog from "./ScheduleLog.js"

/**
 * The reminders that wait for an instant, the soonest first, at most 1,000; paused ones open no turn.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<never, never, Wakes | Projections> = layerSource(
  Effect.map(
    Projections,
    (projections) => (id) =>
      Effect.map(projections.get(id, ScheduleLog.reminders), ({ value }) => Array.from(first(value)).map(wakeOf))
  )
)

const maxShown = 1000

function* first(state: ScheduleLog.ScheduleState): Generator<ScheduleLog.Reminder> {
  let count = 0
  for (const reminder of ScheduleLog.soonest(state)) {
    if (count++ === maxShown) return
    yield reminder
  }
}

const wakeOf = ({ id, rule, scheduledAt, title }: ScheduleLog.Reminder) => ({
  kind: "reminder",
  id,
  summary: `${id} at ${scheduledAt}: ${title}`,
  at: scheduledAt,
  detail: { title, rule, scheduledAt }
})
