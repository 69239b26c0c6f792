/**
 * Ending a job of a session that another process drives: the command that goes through the mailbox, and who executes it.
 *
 * @since 0.1.0
 */
import { JobStatus } from "@afterturn/jobs/Job"
import type { Jobs } from "@afterturn/jobs/Jobs"
import type { CommandHandler } from "@afterturn/session-log/Mailbox"
import { handler } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * @since 0.1.0
 * @category schemas
 */
export const JobKillAnswer = Schema.Struct({
  answer: Schema.Literal("cancellation-requested", "already-finished", "not-found"),
  status: optional(JobStatus),
  detail: optional(Schema.String)
})

/**
 * Ends a job. A session that has no such job says so in its answer.
 *
 * @since 0.1.0
 * @category commands
 */
export const JobKill = {
  name: "job-kill",
  input: Schema.Struct({ jobId: Schema.String, reason: optional(Schema.String) }),
  answer: JobKillAnswer
}

/** How long the end of a job is waited for before the answer says where it stands. */
const killWait = Duration.seconds(2)

/**
 * Executes the command for a session of this process.
 *
 * @since 0.1.0
 * @category operations
 */
export const serveKill = (jobs: Context.Tag.Service<Jobs>, session: SessionId): CommandHandler =>
  handler(JobKill, (input) => kill(jobs, session, input))

const kill = (
  jobs: Context.Tag.Service<Jobs>,
  session: SessionId,
  { jobId, reason }: typeof JobKill.input.Type
): Effect.Effect<typeof JobKillAnswer.Type, { readonly message: string }> =>
  jobs.kill(jobId, session, { by: "user", ...(reason === undefined ? {} : { reason }) }).pipe(
    Effect.flatMap(({ answer }) =>
      Effect.map(jobs.wait(jobId, killWait, session), ({ detail, status }) => ({
        answer,
        status,
        ...(detail === undefined ? {} : { detail })
      }))
    ),
    Effect.catchTag("JobNotFound", () => Effect.succeed({ answer: "not-found" as const }))
  )
