/**
 * `afterturn jobs …`
 *
 * @since 0.1.0
 */
import type { AgentExtensions } from "@afterturn/agent/Agents"
import type { JobSnapshot } from "@afterturn/jobs/Job"
import { statusLine } from "@afterturn/jobs/JobNotice"
import { JobSpool } from "@afterturn/jobs/JobSpool"
import type { OutputChunk } from "@afterturn/jobs/Jobs"
import { Jobs } from "@afterturn/jobs/Jobs"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CliError, ForeignError } from "../CliError.js"
import { failure } from "../CliError.js"
import type { Handler, Services } from "../Commands.js"
import { JobKill } from "../Compose/JobKill.js"
import { jobsReader, settleLost } from "../Compose/Jobs.js"
import type { Store } from "../Compose/Store.js"
import * as SafeText from "../chat/SafeText.js"
import * as Database from "../Database.js"
import { isDriven, lostNote } from "../internal/driven.js"
import { jsonText } from "../internal/json.js"
import { isRunning } from "../internal/outstanding.js"
import { withExistingStore } from "../internal/withStore.js"
import type { StdoutClosed } from "../Output.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import type { DbOption } from "./sessions.js"

/**
 * Whose jobs.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobsOptions extends DbOption {
  readonly session: SessionId
}

/**
 * Which job.
 *
 * @since 0.1.0
 * @category models
 */
export interface JobOptions extends JobsOptions {
  readonly job: string
}

/**
 * Lists the jobs of a session in the order in which they started, of finished ones the newest 100.
 *
 * @since 0.1.0
 * @category commands
 */
export const list = (options: JobsOptions): Handler =>
  withJobs(
    options,
    Effect.gen(function* () {
      const output = yield* Output
      const jobs = yield* Effect.flatMap(Jobs, (jobs) => jobs.list(options.session))
      if (output.json) {
        const spool = yield* JobSpool
        return yield* output.line(
          jsonText(
            jobs.map((job) => publicJob(job, spool.location(job))),
            output
          )
        )
      }
      yield* output.line(Render.jobs(jobs, output))
      if (jobs.some(isRunning) && !(yield* isDriven(options.session))) yield* output.note(lostNote(options.session))
    })
  )

/**
 * Prints the output of a job, with `follow` until the job has ended.
 *
 * @since 0.1.0
 * @category commands
 */
export const output = (options: JobOptions & { readonly follow: boolean }): Handler =>
  withJobs(
    options,
    Effect.gen(function* () {
      const { follow, job: id, session } = options
      const output = yield* Output
      const jobs = yield* Jobs
      const from = { offset: 0 }
      while (true) {
        // Looked at before the output: what a job that has ended wrote is all there.
        const job = yield* jobs.get(id, session)
        const isOver = !isRunning(job)
        const isLost = !isOver && !(yield* isDriven(session))
        yield* Stream.runForEach(jobs.output(id, session, { from: from.offset }), (chunk) => {
          from.offset = chunk.offset + Buffer.byteLength(chunk.text)
          return writeChunk(chunk)
        })
        if (isOver || isLost || !follow) {
          if (output.json) return yield* output.line(jsonText({ job: publicJob(job) }, output))
          if (isOver && from.offset === 0 && job.outputBytes === 0) yield* output.note("(no output is kept)")
          yield* output.note(SafeText.cleanLine(statusLine(job.status, job.detail)))
          return isLost ? yield* output.note(lostNote(session)) : undefined
        }
        yield* Effect.sleep(pollInterval)
      }
    })
  )

const pollInterval = Duration.millis(300)

const writeChunk = (chunk: OutputChunk) =>
  Effect.gen(function* () {
    const output = yield* Output
    if (output.json) return yield* output.line(jsonText(chunk, output))
    if (chunk.droppedBytes > 0) yield* output.note(`… ${chunk.droppedBytes} bytes before this are no longer kept …`)
    yield* output.write(output.terminal ? SafeText.clean(chunk.text) : chunk.text)
  })

/**
 * Ends a job. The process that drives the session does it; where there is none, what its last one left open is settled as lost.
 *
 * @since 0.1.0
 * @category commands
 */
export const kill = (options: JobOptions & { readonly reason: Option.Option<string> }): Handler =>
  withJobs(
    options,
    Effect.gen(function* () {
      const { job: id, session } = options
      const jobs = yield* Jobs
      if (!isRunning(yield* jobs.get(id, session))) return yield* sayKilled(options, "already-finished")
      const settled = yield* Effect.as(settleLost(session), true).pipe(
        Effect.catchTag("SessionLeased", () => Effect.succeed(false))
      )
      if (settled) return yield* sayKilled(options, "settled-as-lost")
      const mailbox = yield* Mailbox
      const reason = Option.isSome(options.reason) ? { reason: options.reason.value } : {}
      const { answer } = yield* mailbox.send(session, JobKill, { jobId: id, ...reason })
      if (answer === "not-found") return yield* notFound(options)
      yield* sayKilled(options, answer)
    })
  )

type KillAnswer = "cancellation-requested" | "already-finished" | "settled-as-lost"

const words: { readonly [answer in KillAnswer]: string } = {
  "cancellation-requested": "asked to end",
  "already-finished": "it had ended",
  "settled-as-lost": "no process drives the session: its last one left the job open, which is settled now"
}

const sayKilled = (options: JobOptions, answer: KillAnswer) =>
  Effect.gen(function* () {
    const output = yield* Output
    const job = yield* Effect.flatMap(Jobs, (jobs) => jobs.get(options.job, options.session))
    if (output.json) return yield* output.line(jsonText({ answer, job: publicJob(job) }, output))
    const line = `${job.id}: ${words[answer]} ${statusLine(job.status, job.detail)}`
    yield* output.line(SafeText.cleanLine(line))
  })

type Body = Effect.Effect<
  void,
  ForeignError | CliError | StdoutClosed,
  Jobs | JobSpool | AgentExtensions | Store | Services
>

/** Runs a command on the jobs of a session that has to be there. It takes no lease by itself. */
const withJobs = (options: JobsOptions & { readonly job?: string }, body: Body): Handler =>
  Effect.flatMap(Database.resolve(options.db), (file) =>
    withExistingStore(
      Option.some(file),
      Effect.flatMap(SessionLog, (log) => log.header(options.session)).pipe(
        Effect.zipRight(body),
        Effect.catchIf(
          (error) => error._tag === "JobNotFound",
          () => notFound({ session: options.session, job: options.job ?? "" })
        ),
        Effect.provide(jobsReader(file))
      )
    )
  )

const notFound = ({ job, session }: Pick<JobOptions, "job" | "session">): Effect.Effect<never, CliError> =>
  Effect.fail(
    failure(
      "job_not_found",
      `session "${session}" has no job ${JSON.stringify(job)}; afterturn jobs list --session ${session} names those that it has`
    )
  )

/** A job as JSON shows it. */
const publicJob = (job: JobSnapshot, folder?: string) => ({
  id: job.id,
  kind: job.kind,
  label: job.label,
  status: job.status,
  detail: job.detail,
  reason: job.reason,
  startedAt: job.startedAt,
  finishedAt: job.finishedAt,
  outputBytes: job.outputBytes,
  outputFolder: folder
})
