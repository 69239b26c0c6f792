import * as Metric from "effect/Metric"
import type { TerminalStatus } from "../Job.js"

const running = Metric.gauge("afterturn_jobs_running", { description: "jobs that are running or stopping" })

const started = Metric.counter("afterturn_jobs_started", { description: "jobs started", incremental: true })

const settled = Metric.counter("afterturn_jobs_settled", { description: "jobs settled", incremental: true })

const settledAs = {
  completed: Metric.tagged(settled, "status", "completed"),
  killed: Metric.tagged(settled, "status", "killed"),
  failed: Metric.tagged(settled, "status", "failed")
}

export const onStart = (): void => {
  started.unsafeUpdate(1, [])
  running.unsafeModify(1, [])
}

export const onSettle = (status: TerminalStatus): void => {
  settledAs[status].unsafeUpdate(1, [])
  running.unsafeModify(-1, [])
}

/** A job that an earlier run left open: nothing of it ran here. */
export const onLost = (): void => settledAs.failed.unsafeUpdate(1, [])
