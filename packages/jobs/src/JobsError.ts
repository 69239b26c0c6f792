/**
 * What may go wrong with a job. `Jobs` exports the same names.
 *
 * @since 0.1.0
 */
import type { AppendError } from "@afterturn/session-log/SessionLog"
import * as Schema from "effect/Schema"

/**
 * No job of the caller has this id. A foreign job and one that never was give the same answer.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobNotFound extends Schema.TaggedError<JobNotFound>("@afterturn/jobs/JobNotFound")("JobNotFound", {
  code: Schema.Literal("job_not_found"),
  jobId: Schema.String
}) {
  override get message(): string {
    return `there is no job ${JSON.stringify(this.jobId)}; job_list shows those that there are`
  }
}

/**
 * The owner has as many active jobs as it may. Nothing was started.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobLimitReached extends Schema.TaggedError<JobLimitReached>("@afterturn/jobs/JobLimitReached")(
  "JobLimitReached",
  { code: Schema.Literal("job_limit_reached"), limit: Schema.Int, active: Schema.Array(Schema.String) }
) {
  override get message(): string {
    return `${this.limit} background jobs are active, which is the limit (${this.active.join(", ")}): use job_kill on one that is not needed, wait for it to finish, then retry`
  }
}

/**
 * Nothing in this composition could collect or stop a job of this owner. Nothing was started.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobUncontrolled extends Schema.TaggedError<JobUncontrolled>("@afterturn/jobs/JobUncontrolled")(
  "JobUncontrolled",
  { code: Schema.Literal("job_uncontrolled"), owner: Schema.NullOr(Schema.String) }
) {
  override get message(): string {
    return this.owner === null
      ? "no controller serves jobs without an owner"
      : `no controller serves jobs of session "${this.owner}", or it has no live agent`
  }
}

/**
 * A spec that is no job: the kind is no lower-case word, the label is empty, or a limit is no positive integer. Nothing was started.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidJobSpec extends Schema.TaggedError<InvalidJobSpec>("@afterturn/jobs/InvalidJobSpec")(
  "InvalidJobSpec",
  { code: Schema.Literal("invalid_job"), reason: Schema.String }
) {
  override get message(): string {
    return `no job can be started: ${this.reason}`
  }
}

/**
 * Why a job may not start. Nothing of it is left then: no id, no record, no event.
 *
 * @since 0.1.0
 * @category errors
 */
export type StartError = InvalidJobSpec | JobUncontrolled | JobLimitReached | AppendError
