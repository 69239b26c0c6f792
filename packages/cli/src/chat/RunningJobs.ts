/**
 * The background jobs that run for an agent, as a screen shows them.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import type { JobSnapshot } from "@afterturn/jobs/Job"
import { isTerminal } from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import { toMillis } from "@afterturn/session-log/Instant"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { RunningJob } from "./ChatState.js"

/**
 * Those that run now, then after each change. A command in the foreground is not among them: it is shown as the call that waits for it.
 *
 * @since 0.1.0
 * @category streams
 */
export const changes = (agent: Agent): Stream.Stream<ReadonlyArray<RunningJob>, ReadError, Jobs> =>
  Stream.unwrap(
    Effect.map(Jobs, (jobs) =>
      Stream.merge(
        Stream.filter(jobs.changes, (owner) => owner === agent.id),
        // Jobs begin within turns: what was missed before the subscription shows at the next change of the status.
        agent.statusChanges
      ).pipe(Stream.mapEffect(() => Effect.map(jobs.list(agent.id), (list) => list.flatMap(toRunning))))
    )
  )

const toRunning = ({ foreground, id, label, owner, startedAt, status }: JobSnapshot): ReadonlyArray<RunningJob> =>
  foreground || owner === undefined || isTerminal(status)
    ? []
    : [{ id, label, stopping: status === "stopping", since: toMillis(startedAt) }]
