/** What a run has met, as its sessions tell: kinds of rules, changes of clocks, limits, ends. */
import type { Evidence, RawEvent } from "../../SimulationCheck.js"
import { offsetAt } from "../checks/occurrences.js"
import { own } from "../checks/own.js"
import type { Coverage } from "./coverage.js"

/** Answers and reasons that say that a limit was reached. */
const limits = new Set([
  "job_limit_reached",
  "too_many_reminders",
  "goal_exhausted",
  "too_many_in_progress",
  "round-limit",
  "no-progress"
])

export const countMet = (coverage: Coverage, { sessions }: Evidence): void => {
  for (const session of sessions) {
    if (session.parent !== null) coverage.count("sessions", "forked")
    for (const event of own(session)) countEvent(coverage, event)
  }
}

const countEvent = (coverage: Coverage, { data, type }: RawEvent): void => {
  switch (type) {
    case "turn/start":
      return coverage.count("turns opened by", data.source.kind)
    case "turn/end":
      return coverage.count("turns ended as", data.reason.kind)
    case "tool/result":
      if (data.ok === false) countCode(coverage, data.error?.code)
      return
    case "job/settle":
      return coverage.count("jobs", String(data.detail ?? "").startsWith("lost") ? "lost" : data.status)
    case "job/wakes-muted":
      return coverage.count("limits", "wake budget")
    case "goal/change":
      if (data.operation === "block") countCode(coverage, data.goal.blockedReason.code)
      return coverage.count("goals", data.operation)
    case "schedule/change":
      return countSchedule(coverage, data)
    default:
  }
}

const countCode = (coverage: Coverage, code: unknown): void =>
  coverage.count(limits.has(String(code)) ? "limits" : "refusals", String(code))

const countSchedule = (coverage: Coverage, data: RawEvent["data"]): void => {
  coverage.count("reminders", data.operation)
  if (data.missed > 0) coverage.count("reminders", "occurrences missed", data.missed)
  if (data.record === undefined) return
  const [kind = "none"] = Object.keys(data.record.rule)
  coverage.count("rules", kind)
  const zone = data.record.rule[kind]?.time_zone
  if (zone !== undefined) countZone(coverage, zone, Date.parse(data.record.scheduledAt))
}

const day = 86_400_000

/** A reminder that comes within a day of a change of its clocks. */
const countZone = (coverage: Coverage, zone: string, at: number): void => {
  const moved = offsetAt(zone, at + day) - offsetAt(zone, at - day)
  if (moved !== 0) coverage.count("clocks change", `${zone} by ${moved / 60_000} minutes`)
}
