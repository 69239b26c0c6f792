/**
 * The folds of the capabilities that the command has, as `sessions verify` checks them.
 *
 * @since 0.1.0
 */
import * as AgentLog from "@afterturn/agent/AgentLog"
import * as GoalLog from "@afterturn/goals/GoalLog"
import * as JobLog from "@afterturn/jobs/JobLog"
import * as ScheduleLog from "@afterturn/schedule/ScheduleLog"
import * as TodoLog from "@afterturn/todo/TodoLog"
import type { CheckedFold } from "../internal/checkedFold.js"
import { checkedFold } from "../internal/checkedFold.js"

/**
 * Each fold whose snapshots are checked; those that set events aside say which was the first.
 *
 * @since 0.1.0
 * @category constants
 */
export const folds: ReadonlyArray<CheckedFold> = [
  checkedFold(AgentLog.state),
  checkedFold(AgentLog.counters),
  checkedFold(AgentLog.compacted),
  checkedFold(JobLog.ledger),
  checkedFold(JobLog.counters),
  checkedFold(ScheduleLog.reminders, ({ faults }) => faults[0] ?? null),
  checkedFold(ScheduleLog.lastNumber),
  checkedFold(GoalLog.projection, ({ corrupt }) => corrupt),
  checkedFold(TodoLog.projection("every-turn")),
  checkedFold(TodoLog.projection("user-turn"))
]
