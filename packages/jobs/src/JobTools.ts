/**
 * The tools by which a model reads, lists and stops its background jobs, whatever producer started them.
 *
 * @since 0.1.0
 */
import { type Agent, CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import { SystemPrompt } from "@afterturn/agent/SystemPrompt"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { toMillis } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { isTerminal, JobId, type JobSnapshot, JobStatus } from "./Job.js"
import { statusLine } from "./JobNotice.js"
import { Jobs, type JobRead } from "./Jobs.js"
import { InvalidJobsConfig } from "./JobsConfig.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface JobToolsOptions {
  /** How long `wait: true` waits when the model names no time. Default 30,000. */
  readonly waitTimeoutMs: number
  /** The longest wait; a longer one that the model names is cut to it. Default 600,000. */
  readonly maxWaitTimeoutMs: number
  /** How long `job_kill` waits for the end of what it stops. Default 2,000. */
  readonly killWaitMs: number
  /** Finished jobs that `job_list` shows; the others are counted. Default 20. */
  readonly listFinished: number
}

/**
 * Why a call was refused, for the model.
 *
 * @since 0.1.0
 * @category errors
 */
export class JobToolError extends Schema.TaggedError<JobToolError>("@afterturn/jobs/JobToolError")("JobToolError", {
  code: Schema.Literal("job_not_found", "no_owning_session", "jobs_unavailable"),
  message: Schema.String
}) {}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const jobId = Schema.String.annotations({
  description: "The job's id, as the tool that started it gave it",
  examples: ["bash-1"]
})

const timeout = Schema.Number.pipe(Schema.int(), Schema.nonNegative()).annotations({
  description: "With wait: how long to wait at most, in milliseconds; the configuration sets the default and the longest",
  examples: [30_000]
})

const outputParameters = {
  job_id: jobId,
  wait: optional(
    Schema.Boolean.annotations({
      description: "Wait until the job ends or the time is over; the job goes on when the time is over. Default false"
    })
  ),
  timeout_ms: optional(timeout)
}

const killParameters = {
  job_id: jobId,
  reason: optional(
    Schema.String.annotations({ description: "Why, in a few words; kept in the log and passed on to the job" })
  )
}

const Answer = Schema.Struct({
  job_id: Schema.String,
  status: JobStatus,
  detail: optional(Schema.String),
  output: optional(Schema.String),
  cursor: optional(Schema.Number),
  answer: optional(Schema.Literal("cancellation-requested", "already-finished"))
})

const ListedJob = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  status: JobStatus,
  detail: optional(Schema.String),
  label: Schema.String,
  started_at: Schema.String,
  ran_for_ms: Schema.Number,
  unread_bytes: Schema.Number
})

const List = Schema.Struct({ jobs: Schema.Array(ListedJob), older: Schema.Number })

/**
 * The three tools.
 *
 * @since 0.1.0
 * @category tools
 */
export const toolkit = Toolkit.make(
  Tool.make("job_output", {
    description: [
      "Reads a background job: what it has written since you last read it, or the result of one that ends with a result.",
      "Returns at once unless wait is true. The last line says where the job stands."
    ].join(" "),
    parameters: outputParameters,
    success: Answer,
    failure: JobToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Read a background job")
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => outputText(answer)),
  Tool.make("job_list", {
    description: "Lists your background jobs, running and finished, with ids, kinds, statuses and how much output is unread.",
    success: List,
    failure: JobToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "List background jobs")
    .annotate(Tool.Readonly, true)
    .annotate(ToolRegistry.ToolText, (list: typeof List.Type) => listText(list)),
  Tool.make("job_kill", {
    description: "Asks a running background job to end, and waits a moment for it to do so.",
    parameters: killParameters,
    success: Answer,
    failure: JobToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Stop a background job")
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => killText(answer))
)
