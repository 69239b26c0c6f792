import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import type { Approval } from "@afterturn/agent/Approval"
import { limit } from "@afterturn/agent/CallPatience"
import type { JobId } from "@afterturn/jobs/Job"
import { isTerminal } from "@afterturn/jobs/Job"
import { byCancelledCall } from "@afterturn/jobs/JobEvents"
import type { JobSpool } from "@afterturn/jobs/JobSpool"
import type { JobNotFound, JobRead, Jobs, StartError } from "@afterturn/jobs/Jobs"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type { CommandEnd, CommandJob, Shell, ShellCommand } from "../Shell.js"
import type { ShellSettings, ShellToolsOptions } from "../ShellConfig.js"
import type { ShellError } from "../ShellError.js"
import { ShellToolError } from "../ShellError.js"
import type { Answer } from "./answer.js"
import { wordsBytes } from "./answer.js"
import * as OutputTail from "./outputTail.js"

/**
 * What the handlers of one composition share.
 */
export interface Handlers {
  readonly shell: Context.Tag.Service<Shell>
  readonly settings: ShellSettings
  readonly options: ShellToolsOptions
  /** Absent where the composition gates nothing. */
  readonly approval: Context.Tag.Service<Approval> | undefined
}

export interface JobHandlers extends Handlers {
  readonly jobs: Context.Tag.Service<Jobs>
  /** Absent where nobody can look at the output that is kept. */
  readonly spool: Context.Tag.Service<JobSpool> | undefined
}

/**
 * A call as the tool's parameters have it.
 */
export interface BashInput {
  readonly description: string
  readonly command: string
  readonly timeoutMs?: number
  readonly workdir?: string
  readonly run_in_background?: boolean
}

/** Runs a command as a job of the agent that calls. */
export const runAsJob = (handlers: JobHandlers, input: BashInput): Effect.Effect<Answer, ShellToolError> =>
  Effect.gen(function* () {
    const agent = yield* Effect.serviceOption(CurrentAgent)
    if (Option.isNone(agent)) return yield* noOwningSession
    const command = yield* allowed(handlers, agent.value, input)
    const job = yield* handlers.shell.job(command)
    if (input.run_in_background === true) return yield* inBackground(handlers, agent.value, job)
    const time = timeOf(handlers.options, input)
    // Where a command can go on in the background, it need not outlast whoever waits for it.
    const held = handlers.options.enableRunInBackground ? yield* limit(time) : time
    return yield* inForeground(handlers, agent.value, job, held)
  }).pipe(Effect.mapError(refusal))

const noOwningSession = new ShellToolError({
  code: "no_owning_session",
  message: "a command belongs to an agent's session and this call was made outside one; nothing was run"
})

/** The command, once somebody who may has allowed it. */
const allowed = (
  { approval }: Handlers,
  agent: Agent | undefined,
  { command, workdir }: BashInput
): Effect.Effect<ShellCommand, ShellToolError> =>
  Effect.gen(function* () {
    const folder = yield* folderOf(agent?.header.cwd, workdir)
    const decision = yield* approval === undefined
      ? Effect.succeed({ _tag: "allowed" as const })
      : approval.decide({ tool: "bash", action: command })
    if (decision._tag === "denied") {
      return yield* new ShellToolError({
        code: "approval_denied",
        message: `the command was not run: ${decision.reason}; do not try to do the same in another way`
      })
    }
    return { command, workdir: folder, ...(agent === undefined ? {} : { owner: agent.id }) }
  })

const folderOf = (cwd: string | undefined, workdir: string | undefined): Effect.Effect<string, ShellToolError> => {
  if (workdir?.startsWith("/") === true) return Effect.succeed(workdir)
  if (cwd !== undefined) return Effect.succeed(workdir === undefined ? cwd : `${cwd}/${workdir}`)
  return new ShellToolError({
    code: "workdir_not_found",
    message: "the command was not run: the session has no folder of its own, so workdir must be an absolute path"
  })
}

const timeOf = ({ maxTimeoutMs, timeoutMs }: ShellToolsOptions, input: BashInput): Duration.Duration =>
  Duration.millis(Math.min(input.timeoutMs ?? timeoutMs, maxTimeoutMs))

const inBackground = (handlers: JobHandlers, agent: Agent, job: CommandJob) =>
  Effect.map(handlers.jobs.start(job.spec), ({ id, status }): Answer => {
    const path = pathOf(handlers, agent, id)
    return { job_id: id, status, output: "", ...(path === undefined ? {} : { output_path: path }) }
  })

/**
 * From the start on somebody is there for the end: this call, or, when it is interrupted, who ends the command. An interruption may come
 * before the start has answered, so the id is taken from the preparation; and after the command went on in the background, where it is
 * told of like any other.
 */
const inForeground = (handlers: JobHandlers, agent: Agent, job: CommandJob, time: Duration.Duration) =>
  Effect.suspend(() => {
    let awaited: JobId | undefined
    const prepare = (id: JobId) => {
      awaited = id
      return job.spec.prepare(id)
    }
    const letGo = (id: JobId) =>
      Effect.uninterruptible(
        Effect.suspend(() => {
          awaited = undefined
          return handlers.jobs.background(id, agent.id)
        })
      )
    return Effect.onInterrupt(
      Effect.flatMap(handlers.jobs.start({ ...job.spec, foreground: true, prepare }), ({ id }) =>
        collect(handlers, agent, job, id, time).pipe(
          // Only now: what ended before the answer was put together is told by it.
          Effect.tap((answer) => (isTerminal(answer.status) ? Effect.void : letGo(id))),
          // Nobody will show this end, so it is told like any other's.
          Effect.tapError(() => letGo(id))
        )
      ),
      () => (awaited === undefined ? Effect.void : end(handlers, agent, awaited, turnCancelled))
    )
  })

/** Waits for the end of a command, and for no longer than it may take: then it is to go on in the background, or is ended. */
const collect = Effect.fnUntraced(function* (
  handlers: JobHandlers,
  agent: Agent,
  job: CommandJob,
  id: JobId,
  time: Duration.Duration
) {
  const { jobs, options } = handlers
  const { status } = yield* jobs.wait(id, time, agent.id)
  if (isTerminal(status)) return yield* answerOf(handlers, agent, job, id, false)
  if (!options.enableRunInBackground) {
    yield* end(handlers, agent, id, { reason: `it took longer than ${Duration.format(time)}`, by: "host" })
  }
  return yield* answerOf(handlers, agent, job, id, true)
})

/** How long an end that was asked for is waited for: Jobs gives up on it before. */
const endLimit = Duration.seconds(15)

/** Why a command is ended, and by whom. */
interface EndRequest {
  readonly reason: string
  readonly by: string
}

const turnCancelled: EndRequest = { reason: "the turn was cancelled", by: byCancelledCall }

/** Ends a command and waits for its end. A ledger that fails keeps nothing from being ended. */
const end = ({ jobs }: JobHandlers, agent: Agent, id: JobId, request: EndRequest): Effect.Effect<void> =>
  jobs.kill(id, agent.id, request).pipe(
    // A fiber of its own: this one may be interrupted already, and what waits in it could not be given up.
    Effect.zipRight(Effect.timeoutOption(Effect.interruptible(jobs.wait(id, endLimit, agent.id)), endLimit)),
    Effect.asVoid,
    Effect.catchAll((error) =>
      // It was interrupted before it was one.
      error._tag === "JobNotFound" ? Effect.void : Effect.logWarning(`job "${id}" is ended, unseen`, error)
    )
  )

const answerOf = (handlers: JobHandlers, agent: Agent, job: CommandJob, id: JobId, isLate: boolean) =>
  Effect.gen(function* () {
    const path = pathOf(handlers, agent, id)
    const read = yield* handlers.jobs.read(id, agent.id, { reserveBytes: wordsBytes + (path?.length ?? 0) * 4 })
    const ended = isTerminal(read.snapshot.status) ? yield* job.end : Option.none<CommandEnd>()
    return answerFrom(read, { path, ended, isLate: isLate })
  })

const answerFrom = (
  { cursor, droppedBytes, output, snapshot }: JobRead,
  facts: { readonly path: string | undefined; readonly ended: Option.Option<CommandEnd>; readonly isLate: boolean }
): Answer => ({
  job_id: snapshot.id,
  status: snapshot.status,
  ...(snapshot.detail === undefined ? {} : { detail: snapshot.detail }),
  ...exitCode(facts.ended),
  output,
  ...(droppedBytes > 0 ? { dropped_bytes: droppedBytes } : {}),
  ...(facts.path === undefined ? {} : { output_path: facts.path }),
  ...(facts.isLate ? { timed_out: true } : {}),
  cursor
})

const exitCode = (ended: Option.Option<CommandEnd>): Pick<Answer, "exit_code"> =>
  Option.isSome(ended) && ended.value.exit._tag === "Exited" ? { exit_code: ended.value.exit.code } : {}

const pathOf = ({ spool }: JobHandlers, agent: Agent, id: JobId): string | undefined =>
  spool?.location({ owner: agent.id, id })

/** Runs a command without a job, for whoever calls: to its end, or to the end of its time. */
export const runAlone = (handlers: Handlers, input: BashInput): Effect.Effect<Answer, ShellToolError> =>
  Effect.gen(function* () {
    const agent = yield* Effect.serviceOption(CurrentAgent)
    const command = yield* allowed(handlers, Option.getOrUndefined(agent), input)
    const tail = OutputTail.make(Math.max(0, handlers.settings.outputLimitBytes - wordsBytes))
    const detail = yield* Ref.make<string | undefined>(undefined)
    const sink = {
      write: (chunk: Uint8Array) => Effect.sync(() => tail.write(chunk)),
      setDetail: (words: string) => Ref.set(detail, words)
    }
    const ended = yield* Effect.timeoutOption(handlers.shell.run(command, sink), timeOf(handlers.options, input))
    const words = yield* Ref.get(detail)
    const { droppedBytes, text } = tail.text()
    const isCompleted = Option.isSome(ended) && ended.value.exit._tag === "Exited"
    const answer: Answer = {
      status: isCompleted ? "completed" : "killed",
      ...(words === undefined ? {} : { detail: words }),
      ...exitCode(ended),
      output: text,
      ...(droppedBytes > 0 ? { dropped_bytes: droppedBytes } : {}),
      ...(Option.isNone(ended) ? { timed_out: true } : {})
    }
    return answer
  }).pipe(Effect.mapError(refusal))

type Failure = ShellToolError | ShellError | StartError | JobNotFound | ReadError

const refusal = (error: Failure): ShellToolError => {
  switch (error._tag) {
    case "ShellToolError":
      return error
    case "WorkdirNotFound":
    case "ShellNotFound":
    case "SpawnFailed":
    case "InvalidCommand":
    case "PlatformNotSupported":
    case "JobLimitReached":
    case "JobUncontrolled":
      return new ShellToolError({ code: error.code, message: error.message })
    default:
      return new ShellToolError({ code: "jobs_unavailable", message: error.message })
  }
}
