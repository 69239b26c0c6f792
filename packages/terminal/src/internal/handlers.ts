import type { Agent } from "@afterturn/agent/Agent"
import { CurrentAgent } from "@afterturn/agent/Agent"
import type { Approval } from "@afterturn/agent/Approval"
import * as CallPatience from "@afterturn/agent/CallPatience"
import type { Jobs, StartError } from "@afterturn/jobs/Jobs"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TerminalSignal } from "../TerminalBackend.js"
import type { TerminalSettings } from "../TerminalConfig.js"
import type { OpenError, SendError, TerminalNotEnded } from "../TerminalError.js"
import { TerminalToolError } from "../TerminalError.js"
import type { Terminals } from "../Terminals.js"
import type { SendAnswer } from "./answers.js"
import { closeAnswer, readAnswer, sendAnswer, shown } from "./answers.js"

/**
 * What the handlers of one composition share.
 */
export interface Handlers {
  readonly terminals: Context.Tag.Service<Terminals>
  readonly settings: TerminalSettings
  /** Absent where the composition has no background. */
  readonly jobs: Context.Tag.Service<Jobs> | undefined
  /** Absent where the composition gates nothing. */
  readonly approval: Context.Tag.Service<Approval> | undefined
}

export interface OpenParameters {
  readonly type: string
  readonly name?: string
  readonly cwd?: string
}

export interface SendParameters {
  readonly sessionId: string
  readonly text: string
  readonly submit?: boolean
  readonly run_in_background?: boolean
}

/** Terminals belong to an agent's session; what fails below is said in words that a model can act on. */
const answered = <A, E extends Failure>(
  use: (agent: Agent) => Effect.Effect<A, E>
): Effect.Effect<A, TerminalToolError> =>
  Effect.flatMap(Effect.serviceOption(CurrentAgent), (agent) =>
    Option.isNone(agent)
      ? new TerminalToolError({
          code: "no_owning_session",
          message: "terminals belong to an agent's session and this call was made outside one; nothing was done"
        })
      : Effect.mapError(use(agent.value), refusal)
  )

export const open = ({ terminals }: Handlers, { cwd, name, type }: OpenParameters) =>
  answered((agent) =>
    Effect.flatMap(folderOf(agent, cwd), (folder) =>
      Effect.map(terminals.open(agent.id, { type, cwd: folder, ...(name === undefined ? {} : { name }) }), shown)
    )
  )

const folderOf = ({ header }: Agent, cwd: string | undefined): Effect.Effect<string, TerminalToolError> => {
  if (cwd?.startsWith("/") === true) return Effect.succeed(cwd)
  if (header.cwd !== undefined) return Effect.succeed(cwd === undefined ? header.cwd : `${header.cwd}/${cwd}`)
  return new TerminalToolError({
    code: "cwd_not_found",
    message: "no terminal was opened: the session has no folder of its own, so cwd must be an absolute path"
  })
}

export const list = ({ terminals }: Handlers) =>
  answered((agent) => Effect.map(terminals.list(agent.id), (all) => ({ terminals: all.map(shown) })))

export const read = (
  { settings, terminals }: Handlers,
  { sessionId, ...page }: { readonly sessionId: string; readonly offset?: number; readonly count?: number }
) =>
  answered((agent) =>
    Effect.map(terminals.read(agent.id, sessionId, page), (found) => readAnswer(found, settings.outputLimitBytes))
  )

export const send = (handlers: Handlers, input: SendParameters): Effect.Effect<SendAnswer, TerminalToolError> =>
  answered((agent) =>
    // A text for no terminal is not put to anybody.
    Effect.zipRight(handlers.terminals.job(agent.id, input.sessionId, input), allowed(handlers, input)).pipe(
      Effect.zipRight(
        input.run_in_background === true ? inBackground(handlers, agent, input) : inForeground(handlers, agent, input)
      )
    )
  )

const inForeground = ({ settings, terminals }: Handlers, agent: Agent, input: SendParameters) =>
  Effect.flatMap(CallPatience.limit(settings.timeout), (longest) =>
    Effect.map(terminals.send(agent.id, input.sessionId, input, longest), (result) =>
      sendAnswer(result, settings.outputLimitBytes)
    )
  )

const inBackground = ({ jobs, terminals }: Handlers, agent: Agent, input: SendParameters) =>
  Effect.gen(function* () {
    if (jobs === undefined) {
      return yield* new TerminalToolError({
        code: "background_unavailable",
        message: "nothing was sent: this composition has no background jobs; send it without run_in_background"
      })
    }
    const spec = yield* terminals.job(agent.id, input.sessionId, input)
    const { id, status } = yield* jobs.start(spec)
    const answer: SendAnswer = {
      sessionId: input.sessionId,
      output: "",
      state: "running",
      full_screen: false,
      job_id: id,
      status
    }
    return answer
  })

const allowed = ({ approval }: Handlers, { text }: SendParameters): Effect.Effect<void, TerminalToolError> =>
  approval === undefined
    ? Effect.void
    : Effect.flatMap(approval.decide({ tool: "terminal_send", action: actionOf(text) }), (decision) =>
        decision._tag === "allowed"
          ? Effect.void
          : new TerminalToolError({
              code: "approval_denied",
              message: `nothing was sent: ${decision.reason}; do not try to do the same in another way`
            })
      )

/**
 * A text as somebody would judge it. With keys in it (Ctrl-U takes a line back, an arrow brings an earlier one) the line that runs need
 * not begin as the text does: no rule about beginnings may hold for it.
 */
const actionOf = (text: string): string => {
  const lines = text.replace(/\r\n?/g, "\n")
  return control.test(lines) ? `keys ${JSON.stringify(lines)}` : lines
}

const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/

export const signal = (
  { settings, terminals }: Handlers,
  input: { readonly sessionId: string; readonly signal: TerminalSignal }
) =>
  answered((agent) =>
    Effect.map(terminals.signal(agent.id, input.sessionId, input.signal), (result) =>
      sendAnswer(result, settings.outputLimitBytes)
    )
  )

export const close = ({ terminals }: Handlers, { sessionId }: { readonly sessionId: string }) =>
  answered((agent) => Effect.map(terminals.close(agent.id, sessionId), ({ exit, id }) => closeAnswer(id, exit)))

type Failure = TerminalToolError | OpenError | SendError | TerminalNotEnded | StartError

const refusal = (error: Failure): TerminalToolError => {
  switch (error._tag) {
    case "TerminalToolError":
      return error
    case "TerminalNotFound":
    case "TerminalExited":
    case "TerminalRefused":
    case "TerminalNotEnded":
    case "UnknownTerminalType":
    case "TerminalLimitReached":
    case "TerminalFolderNotFound":
    case "TerminalOpenFailed":
    case "TerminalOwnerAbsent":
    case "JobLimitReached":
    case "JobUncontrolled":
      return new TerminalToolError({ code: error.code, message: error.message })
    default:
      return new TerminalToolError({ code: "jobs_unavailable", message: error.message })
  }
}
