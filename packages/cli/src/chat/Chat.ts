/**
 * `afterturn chat`: a conversation with the agent of a session, at a terminal or through pipes.
 *
 * @since 0.1.0
 */

import { AgentModel } from "@afterturn/agent/AgentModel"
import { Agents } from "@afterturn/agent/Agents"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Approve from "../Approve.js"
import { fromError } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { hostLayer } from "../Compose/Schedule.js"
import { agentLayer } from "../Compose.js"
import * as Database from "../Database.js"
import { text } from "../internal/input.js"
import { isRunning } from "../internal/outstanding.js"
import { Output } from "../Output.js"
import * as Route from "../Route.js"
import * as Display from "./Display.js"
import * as Interactive from "./Interactive.js"
import * as Plain from "./Plain.js"
import * as Questions from "./Questions.js"
import * as Recall from "./Recall.js"
import * as Row from "./Row.js"
import * as SafeText from "./SafeText.js"
import * as ShellWord from "./ShellWord.js"
import * as SlashCommand from "./SlashCommand.js"
import * as NodeTty from "./Tty/Node.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ChatOptions {
  /** The session to go on with. Default: a new one. */
  readonly session: Option.Option<SessionId>
  readonly model: Option.Option<string>
  readonly baseUrl: Option.Option<string>
  readonly approve: Option.Option<Approve.Policy>
  readonly db: Option.Option<string>
}

/** The turns of a resumed session that are shown again. */
const recalledTurns = 3

/**
 * Talks to the agent of a session. At a terminal that is a screen with an input line; else each line of stdin is a message, and the
 * text goes to stdout.
 *
 * @since 0.1.0
 * @category commands
 */
export const chat = (options: ChatOptions): Handler =>
  Effect.gen(function* () {
    const route = yield* Route.resolve(options.model)
    const db = yield* Database.resolve(options.db)
    const policy = Approve.resolve(options.approve, route)
    const layer = (ask?: Questions.Questions["ask"]) =>
      agentLayer({
        db,
        route,
        baseUrl: Option.getOrUndefined(options.baseUrl),
        approval: { policy, ...(ask === undefined ? {} : { ask }) }
      })
    if (!(yield* isTerminal)) return yield* Effect.provide(throughPipes(options), layer())
    const happenings = yield* Display.makeHappenings
    const questions = Questions.make(happenings)
    yield* Effect.provide(Effect.scoped(atTerminal(options, happenings, questions)), layer(questions.ask)).pipe(
      Effect.locally(FiberRef.currentLoggers, HashSet.make(logInto(happenings))),
      Effect.ensuring(tellTheRest(happenings))
    )
  }).pipe(Effect.mapError((error) => (error._tag === "StdoutClosed" ? error : fromError(error))))

const isTerminal = Effect.gen(function* () {
  const { terminal } = yield* Output
  return terminal && process.stdin.isTTY === true && !Option.contains(yield* Database.variable("TERM"), "dumb")
})

const commandsOfChat = Effect.all([
  SlashCommand.todo,
  SlashCommand.jobs,
  SlashCommand.agents,
  SlashCommand.watch,
  SlashCommand.goal,
  Effect.succeed(SlashCommand.quit)
])

const throughPipes = (options: ChatOptions) =>
  Effect.gen(function* () {
    const opened = yield* open(options)
    yield* lookAfterOthers
    const commands = yield* commandsOfChat
    const input = Stream.splitLines(text("-"))
    yield* Plain.run({ ...opened, input, commands: [...commands, SlashCommand.help(commands, { keys: false })] })
    yield* sayEnded(opened.agent.id, (yield* Output).note)
  }).pipe(Effect.scoped)

const atTerminal = (options: ChatOptions, happenings: Display.Happenings, questions: Questions.Questions) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const output = yield* Output
    const { route } = yield* AgentModel
    const opened = yield* open(options)
    const { agent } = opened
    yield* lookAfterOthers
    const commands = yield* commandsOfChat
    yield* Interactive.run({
      ...opened,
      title: `${route} · ${agent.header.title ?? agent.id}`,
      commands: [...commands, SlashCommand.help(commands, { keys: true })],
      happenings,
      questions,
      color: output.colour
    }).pipe(Effect.scoped, Effect.provide(NodeTty.layer))
    yield* sayEnded(agent.id, output.line)
    if ((yield* log.lastSeq(agent.id)) < 0) return
    const given = [
      typed("--db", Option.map(options.db, Database.shown)),
      typed("--model", options.model),
      typed("--base-url", options.baseUrl)
    ].join("")
    yield* output.line(`To go on: afterturn chat --session ${agent.id}${given}`)
  })

/**
 * While somebody is here, other sessions' reminders are looked after too. Not before the chat drives its own: the host would take that
 * one for a session that nobody drives when a reminder of it is overdue, and the chat would be refused by its own process.
 */
const lookAfterOthers = Layer.build(hostLayer())

/** Jobs end with the process. */
const sayEnded = <E>(session: SessionId, say: (line: string) => Effect.Effect<void, E>) =>
  Effect.gen(function* () {
    const jobs = yield* Effect.flatMap(Jobs, (jobs) => jobs.list(session))
    for (const { id, label } of jobs.filter((job) => job.owner === session && isRunning(job))) {
      yield* say(SafeText.cleanLine(`${id} was still running and is cancelled: ${label}`))
    }
  })

const typed = (name: string, value: Option.Option<string>): string =>
  Option.match(value, { onNone: () => "", onSome: (given) => ` ${name} ${ShellWord.quote(given)}` })

/** Logs go where they do not tear the screen. */
const logInto = (happenings: Display.Happenings): Logger.Logger<unknown, void> =>
  Logger.make(({ cause, logLevel, message }) => {
    const parts = [message].flat().map(String)
    const reason = Cause.isEmpty(cause) ? [] : [Cause.pretty(cause)]
    const line = SafeText.clean([...parts, ...reason].join(" ").slice(0, 2000))
    happenings.unsafeOffer({
      _tag: "Note",
      lines: Row.lines(`${logLevel.label.toLowerCase()}: ${line}`, { style: "dim" })
    })
  })

/** What was logged once the screen was gone. */
const tellTheRest = (happenings: Display.Happenings) =>
  Effect.gen(function* () {
    const output = yield* Output
    for (const happening of yield* happenings.clear) {
      if (happening._tag !== "Note") continue
      for (const { text } of happening.lines) yield* output.note(text)
    }
  })

/** The agent of the session, and what it last said. */
const open = ({ session }: ChatOptions) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const cwd = process.cwd()
    if (Option.isNone(session)) {
      const { id } = yield* createUnlessEmpty(cwd)
      return { agent: yield* agents.resume(id), recalled: Recall.nothing }
    }
    const create = Effect.map(agents.create({ id: session.value, cwd }), (agent) => ({
      agent,
      recalled: Recall.nothing
    }))
    const resume = Effect.gen(function* () {
      const recalled = yield* Recall.recall(session.value, recalledTurns)
      return { agent: yield* agents.resume(session.value), recalled }
    })
    return yield* Effect.catchTag(resume, "SessionNotFound", () => create)
  })

/** A session that nobody named and in which nothing was said is not kept. */
const createUnlessEmpty = (cwd: string) =>
  Effect.flatMap(SessionLog, (log) =>
    Effect.acquireRelease(log.create({ cwd }), ({ id }) =>
      Effect.flatMap(log.lastSeq(id), (lastSeq) => (lastSeq < 0 ? log.remove(id) : Effect.void)).pipe(
        // An empty session that stays is no loss.
        Effect.ignore
      )
    )
  )
