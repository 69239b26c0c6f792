/**
 * The event by which a session knows its subagents.
 *
 * @since 0.1.0
 */
import { JobId } from "@afterturn/jobs/Job"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"

/**
 * A subagent works, as a job of this session: for the first time or again. Stored in one append with the `job/start` of that job.
 *
 * @since 0.1.0
 * @category events
 */
export const SubagentRun = EventTypes.make(
  "subagent/run",
  Schema.Struct({ agentId: SessionId, jobId: JobId, label: Schema.String })
)
