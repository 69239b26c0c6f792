/**
 * The tools by which a model reads, lists and stops its background jobs, whatever producer started them.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import { limit } from "@afterturn/agent/CallPatience"
import type { Section } from "@afterturn/agent/SystemPrompt"
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
import type { JobSnapshot } from "./Job.js"
import { isTerminal, JobStatus } from "./Job.js"
import { statusLine } from "./JobNotice.js"
import type { JobRead } from "./Jobs.js"
import { Jobs } from "./Jobs.js"
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
  description:
    "With wait: how long to wait at most, in milliseconds; the configuration sets the default and the longest",
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
    .annotate(Tool.Destructive, false)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => outputText(answer)),
  Tool.make("job_list", {
    description:
      "Lists your background jobs, running and finished, with ids, kinds, statuses and how much output is unread.",
    success: List,
    failure: JobToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "List background jobs")
    .annotate(Tool.Readonly, true)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (list: typeof List.Type) => listText(list)),
  Tool.make("job_kill", {
    description: "Asks a running background job to end, and waits a moment for it to do so.",
    parameters: killParameters,
    success: Answer,
    failure: JobToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Stop a background job")
    .annotate(Tool.Destructive, true)
    .annotate(Tool.Idempotent, true)
    .annotate(Tool.OpenWorld, false)
    .annotate(ToolRegistry.ToolText, (answer: typeof Answer.Type) => killText(answer))
)

/** What the handlers of one composition share. */
interface Handlers {
  readonly jobs: Context.Tag.Service<Jobs>
  readonly projections: Context.Tag.Service<Projections>
  readonly options: JobToolsOptions
}

/**
 * The handlers, and the controller that lets producers start jobs. A default wait above the longest one fails here.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHandlers = (
  options?: Partial<JobToolsOptions>
): Layer.Layer<Tool.HandlersFor<typeof toolkit.tools>, InvalidJobsConfig, Jobs | Projections> =>
  Layer.unwrapScoped(
    Effect.gen(function* () {
      const handlers: Handlers = {
        jobs: yield* Jobs,
        projections: yield* Projections,
        options: yield* settings(options)
      }
      yield* handlers.jobs.attachController("job-tools")
      return toolkit.toLayer({
        job_output: (input) => answered(readJob(handlers, input)),
        job_list: () => answered(listJobs(handlers)),
        job_kill: (input) => answered(killJob(handlers, input))
      })
    })
  )

/**
 * The tools, in the registry of a composition, and their section of the system prompt.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<JobToolsOptions>
): Layer.Layer<never, InvalidJobsConfig, Jobs | Projections | ToolRegistry.ToolRegistry | SystemPrompt> =>
  Layer.merge(
    ToolRegistry.layerToolkit(toolkit, {
      package: "@afterturn/jobs",
      requires: ["@afterturn/jobs/Jobs", "@afterturn/session-log/Projections"],
      writes: ["job/kill-requested"],
      note: "Reads, lists and stops the jobs of every producer. Composing it is what lets producers start jobs."
    }).pipe(Layer.provide(layerHandlers(options))),
    Layer.effectDiscard(
      Effect.gen(function* () {
        const prompt = yield* SystemPrompt
        yield* prompt.section(promptSection)
        yield* prompt.section(activeSection(yield* Jobs))
      })
    )
  )

const promptSection = {
  key: "jobs",
  order: 300,
  text: () =>
    Effect.succeed(
      [
        "Background jobs: keep track of every job id that you are given. You are told when a job ends, so do not poll or sleep for it:",
        "go on with something that does not depend on it, and do not do again what a running job is doing.",
        "Before a final answer, collect what still matters with job_output (wait: true only when nothing else is left to do),",
        "and stop with job_kill what no longer does."
      ].join(" ")
    )
}

/** Names what runs, so that a model whose history was cut still has the ids. What they run is for `job_list`: it is not ours to repeat. */
const activeSection = (jobs: Context.Tag.Service<Jobs>): Section => ({
  key: "active-jobs",
  // Late, for it changes: what comes before may be cached by a provider.
  order: 890,
  text: (agent) =>
    jobs.list(agent.id).pipe(
      Effect.map((all) => all.filter(({ status }) => !isTerminal(status)).map(({ id }) => id)),
      Effect.map((ids) =>
        ids.length === 0 ? "" : `Background jobs that run as this turn starts (job_list says more): ${ids.join(", ")}.`
      ),
      // job_list says so as well; a turn needs no list.
      Effect.catchAll((error) =>
        Effect.as(Effect.logWarning(`the jobs of session "${agent.id}" cannot be listed`, error), "")
      )
    )
})

const settings = (options: Partial<JobToolsOptions> | undefined): Effect.Effect<JobToolsOptions, InvalidJobsConfig> => {
  const all = { waitTimeoutMs: 30_000, maxWaitTimeoutMs: 600_000, killWaitMs: 2_000, listFinished: 20, ...options }
  const wrong = (["waitTimeoutMs", "maxWaitTimeoutMs", "killWaitMs", "listFinished"] as const).find(
    (key) => !Number.isInteger(all[key]) || all[key] < 0 || all[key] > longestTimer
  )
  if (wrong !== undefined) {
    return new InvalidJobsConfig({ reason: `${wrong} must be an integer from 0 to ${longestTimer}, got ${all[wrong]}` })
  }
  return all.waitTimeoutMs > all.maxWaitTimeoutMs
    ? new InvalidJobsConfig({
        reason: `waitTimeoutMs (${all.waitTimeoutMs}) must not be above maxWaitTimeoutMs (${all.maxWaitTimeoutMs})`
      })
    : Effect.succeed(all)
}

/** What a timer of the platform holds, in milliseconds. */
const longestTimer = 2_147_483_647

/** Tools belong to an agent's session; what fails below is said in words that a model can act on. */
const answered = <A, E extends { readonly _tag: string; readonly message: string }>(
  use: (agent: Agent) => Effect.Effect<A, E>
): Effect.Effect<A, JobToolError> =>
  Effect.flatMap(Effect.serviceOption(CurrentAgent), (agent) =>
    Option.isNone(agent)
      ? new JobToolError({
          code: "no_owning_session",
          message: "jobs belong to a session, and no agent makes this call"
        })
      : Effect.mapError(
          use(agent.value),
          (error) =>
            new JobToolError({
              code: error._tag === "JobNotFound" ? "job_not_found" : "jobs_unavailable",
              message: error.message
            })
        )
  )

const readJob =
  (handlers: Handlers, input: { readonly job_id: string; readonly wait?: boolean; readonly timeout_ms?: number }) =>
  (agent: Agent) =>
    Effect.gen(function* () {
      if (input.wait === true) yield* waitFor(handlers, agent, input.job_id, input.timeout_ms)
      const read = yield* handlers.jobs.read(input.job_id, agent.id, { reserveBytes: reservedBytes })
      return answerOf(read.snapshot, { output: outputOf(read), cursor: read.cursor })
    })

/** Room for the status line and the words about what is missing. */
const reservedBytes = 400

/**
 * Waits for a job's end, the time, which is no longer than the caller's own patience, or something else for the agent to attend to.
 * While it waits, the end needs no notice: this call will show it. When it does not, that is given back.
 */
const waitFor = ({ jobs, options, projections }: Handlers, agent: Agent, id: string, timeoutMs: number | undefined) =>
  Effect.gen(function* () {
    const { id: known } = yield* jobs.get(id, agent.id)
    const longest = yield* limit(Math.min(timeoutMs ?? options.waitTimeoutMs, options.maxWaitTimeoutMs))
    const giveBack = jobs.background(known, agent.id)
    yield* jobs.foreground(known, agent.id)
    const snapshot = yield* Effect.raceFirst(
      jobs.wait(known, longest, agent.id),
      Effect.zipRight(somethingWaits(projections, agent), jobs.get(known, agent.id))
    ).pipe(
      Effect.onInterrupt(() => giveBack),
      Effect.tapError(() => giveBack)
    )
    if (!isTerminal(snapshot.status)) yield* giveBack
  })

/** Done once a message waits for the agent's next step, or a word of the user for its next turn. */
const somethingWaits = (projections: Context.Tag.Service<Projections>, agent: Agent) =>
  projections.changes(agent.id, AgentLog.state).pipe(
    Stream.filter(
      ({ value }) => value.nextStep.length > 0 || value.nextTurn.some(({ source }) => source.kind === "user")
    ),
    Stream.take(1),
    Stream.runDrain
  )

const listJobs = (handlers: Handlers) => (agent: Agent) =>
  Effect.gen(function* () {
    const all = yield* handlers.jobs.list(agent.id)
    const now = yield* Clock.currentTimeMillis
    const active = all.filter(({ status }) => !isTerminal(status))
    const finished = all.filter(({ status }) => isTerminal(status))
    const shown = finished.slice(-handlers.options.listFinished)
    return {
      jobs: [...active, ...shown].map((job) => listed(job, now)),
      older: finished.length - shown.length
    }
  })

const listed = (job: JobSnapshot, now: number): typeof ListedJob.Type => ({
  id: job.id,
  kind: job.kind,
  status: job.status,
  ...(job.detail === undefined ? {} : { detail: job.detail }),
  label: job.label,
  started_at: job.startedAt,
  ran_for_ms: Math.max(
    0,
    (job.finishedAt === undefined ? Math.floor(now) : toMillis(job.finishedAt)) - toMillis(job.startedAt)
  ),
  unread_bytes: job.unreadBytes
})

const killJob = (handlers: Handlers, input: { readonly job_id: string; readonly reason?: string }) => (agent: Agent) =>
  Effect.gen(function* () {
    const { jobs, options } = handlers
    const { id } = yield* jobs.get(input.job_id, agent.id)
    yield* jobs.foreground(id, agent.id)
    const giveBack = jobs.background(id, agent.id)
    const { answer, snapshot } = yield* jobs
      .kill(id, agent.id, { by: "model", ...(input.reason === undefined ? {} : { reason: input.reason }) })
      .pipe(
        Effect.flatMap(({ answer }) =>
          Effect.map(jobs.wait(id, Duration.millis(options.killWaitMs), agent.id), (snapshot) => ({ answer, snapshot }))
        ),
        Effect.onInterrupt(() => giveBack),
        Effect.tapError(() => giveBack)
      )
    if (!isTerminal(snapshot.status)) yield* giveBack
    return { ...answerOf(snapshot, {}), answer }
  })

const answerOf = (
  { detail, id, status }: JobSnapshot,
  more: { readonly output?: string; readonly cursor?: number }
): typeof Answer.Type => ({ job_id: id, status, ...(detail === undefined ? {} : { detail }), ...more })

const outputOf = ({ droppedBytes, expired, output, snapshot }: JobRead): string => {
  if (expired) return "(its output was kept for a while and is gone)"
  const cut = droppedBytes > 0 ? `[… ${droppedBytes} earlier bytes are left out …]\n` : ""
  if (output !== "") return `${cut}${output}`
  return isTerminal(snapshot.status) ? `${cut}(no new output)` : `${cut}(no new output yet)`
}

const outputText = (answer: typeof Answer.Type): string => {
  const output = answer.output ?? ""
  return `${output}${output.endsWith("\n") ? "" : "\n"}${statusLine(answer.status, answer.detail)}`
}

const killText = (answer: typeof Answer.Type): string =>
  `${answer.job_id}: ${answer.answer ?? "unknown"}\n${statusLine(answer.status, answer.detail)}`

const listText = ({ jobs, older }: typeof List.Type): string => {
  if (jobs.length === 0) return "no background jobs"
  const lines = jobs.map(
    (job) =>
      `${job.id} (${job.kind}) ${statusLine(job.status, job.detail)} ${JSON.stringify(job.label)}, started ${job.started_at}, ran for ${Duration.format(Duration.millis(job.ran_for_ms))}, ${job.unread_bytes} bytes unread`
  )
  return [...lines, ...(older > 0 ? [`and ${older} older finished ones`] : [])].join("\n")
}
