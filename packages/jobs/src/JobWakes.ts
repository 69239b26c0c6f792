/**
 * What jobs contribute to the ledger of wakes.
 *
 * @since 0.1.0
 */
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { Wake, Wakes } from "@afterturn/agent/Wakes"
import { layerSource } from "@afterturn/agent/Wakes"
import { Projections } from "@afterturn/session-log/Projection"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { DeliveryOptions } from "./JobDelivery.js"
import * as JobLog from "./JobLog.js"

/**
 * The jobs that run, the ends of which nobody has been told, and what is left of the wake budget. As the log has it: a host that
 * resumed a session in the same process again starts it with a full budget, which the log does not tell.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<Pick<DeliveryOptions, "maxConsecutiveWakes">>
): Layer.Layer<never, never, Wakes | Projections> => {
  const budget = options?.maxConsecutiveWakes ?? 3
  return layerSource(
    Effect.map(
      Projections,
      (projections) => (id) =>
        Effect.gen(function* () {
          const { value: ledger } = yield* projections.get(id, JobLog.ledger)
          const { value: inbox } = yield* projections.get(id, AgentLog.state)
          const named = new Set(
            [...inbox.nextStep, ...inbox.nextTurn].flatMap(({ source }) =>
              source.kind === "job-notice" ? source.jobs : []
            )
          )
          const open = Object.values(ledger.open)
          const ended = JobLog.untoldJobs(ledger).filter(({ id }) => !named.has(id))
          return [...open.map(running), ...ended.map(notice), budgetLeft(ledger, budget)]
        })
    )
  )
}

const running = (job: JobLog.OpenJob): Wake => {
  const status = job.stopping ? "stopping" : "running"
  return {
    kind: "job",
    id: job.id,
    summary: `${job.id} (${job.kind}) ${status}: ${job.label}`,
    detail: { kind: job.kind, label: job.label, status, startedAt: job.startedAt }
  }
}

const notice = (job: JobLog.FinishedJob): Wake => ({
  kind: "notice",
  id: job.id,
  summary: `${job.id} (${job.kind}) ${job.status}, not told yet: ${job.label}`,
  detail: { kind: job.kind, label: job.label, status: job.status, finishedAt: job.finishedAt }
})

const budgetLeft = ({ muted, wakes }: JobLog.Ledger, budget: number): Wake => {
  const left = Math.max(0, budget - wakes)
  return {
    kind: "wake-budget",
    summary: `job notices may open ${left} of ${budget} turns before the user speaks again`,
    detail: { left, budget, spent: wakes, muted }
  }
}
