/**
 * `afterturn run`: one turn and what it wakes.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import type { Goal, NewGoal } from "@afterturn/goals/Goal"
import { toRef } from "@afterturn/goals/Goal"
import * as GoalLog from "@afterturn/goals/GoalLog"
import { GoalExists, Goals } from "@afterturn/goals/Goals"
import * as GoalText from "@afterturn/goals/GoalText"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Approve from "../Approve.js"
import type { CliError } from "../CliError.js"
import { blocked, failure, fromError, usage } from "../CliError.js"
import type { Handler, Services } from "../Commands.js"
import { hostLayer } from "../Compose/Schedule.js"
import { agentLayer } from "../Compose.js"
import * as SafeText from "../chat/SafeText.js"
import * as Database from "../Database.js"
import { text } from "../internal/input.js"
import { jsonText } from "../internal/json.js"
import * as Outstanding from "../internal/outstanding.js"
import * as RunPrinter from "../internal/runPrinter.js"
import { Output } from "../Output.js"
import * as Route from "../Route.js"
import { budgets } from "./goal.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface RunOptions {
  readonly session: Option.Option<SessionId>
  readonly model: Option.Option<string>
  readonly baseUrl: Option.Option<string>
  readonly maxWait: Option.Option<Duration.Duration>
  readonly approve: Option.Option<Approve.Policy>
  readonly db: Option.Option<string>
  /** `-` stands for what stdin holds. */
  readonly prompt: Option.Option<string>
  /** What the session is to achieve, in place of a prompt; the id of its goal: to go on with that. */
  readonly goal: Option.Option<string>
  readonly maxRounds: Option.Option<number>
  readonly maxTokens: Option.Option<number>
  readonly maxDuration: Option.Option<Duration.Duration>
  /** A command that has to exit 0 before a goal counts as complete. */
  readonly check: Option.Option<string>
}

/** What there is to do: a prompt, or a goal. */
type Work = { readonly _tag: "Prompt"; readonly text: string } | { readonly _tag: "Goal"; readonly spec: NewGoal }

type LiveOptions = Pick<RunOptions, "session" | "maxWait"> & { readonly work: Work }

/**
 * Puts a prompt to the agent of a session and stays until it is quiet.
 *
 * @since 0.1.0
 * @category commands
 */
export const run = (options: RunOptions): Handler =>
  Effect.gen(function* () {
    if (Option.isNone(options.prompt) && Option.isNone(options.goal)) {
      return yield* usage("expected PROMPT or --goal; see afterturn run --help")
    }
    const route = yield* Route.resolve(options.model)
    const db = yield* Database.resolve(options.db)
    const work = yield* readWork(options)
    const { maxWait, session } = options
    const live = Effect.scoped(converse({ session, maxWait, work }))
    const approval = { policy: Approve.resolve(options.approve, route) }
    const check = Option.map(options.check, (command) => ({ check: { command, workdir: process.cwd() } }))
    const goals = { rearmOnResume: work._tag === "Goal", ...Option.getOrElse(check, () => ({})) }
    const baseUrl = Option.getOrUndefined(options.baseUrl)
    // Whoever stays for reminders looks after those of other sessions too; the end of a short run would cut their turns off.
    const host = Option.isSome(maxWait) ? hostLayer() : Layer.empty
    yield* Effect.provide(live, Layer.provideMerge(host, agentLayer({ db, route, baseUrl, approval, goals })))
  }).pipe(Effect.mapError((error) => (error._tag === "StdoutClosed" ? error : fromError(error))))

const readWork = (options: RunOptions) =>
  Effect.gen(function* (): Effect.fn.Return<Work, CliError, Services> {
    const { goal, prompt } = options
    if (Option.isSome(goal)) {
      if (Option.isSome(prompt)) return yield* usage("expected PROMPT or --goal, got both; see afterturn run --help")
      return { _tag: "Goal", spec: { objective: goal.value, ...budgets(options) } }
    }
    const { check, maxDuration, maxRounds, maxTokens } = options
    const ofGoals: Readonly<Record<string, Option.Option<unknown>>> = { check, maxDuration, maxRounds, maxTokens }
    const misplaced = Object.keys(ofGoals).find((key) => Option.isSome(ofGoals[key] ?? Option.none()))
    if (misplaced !== undefined) {
      const name = misplaced.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
      return yield* usage(`--${name} belongs to --goal; see afterturn run --help`)
    }
    const given = Option.getOrElse(prompt, () => "")
    const spoken = given === "-" ? yield* Stream.mkString(text("-")) : given
    if (spoken.trim() === "") {
      return yield* usage("PROMPT: expected some text, got none; see afterturn run --help")
    }
    return { _tag: "Prompt", text: spoken }
  })

const converse = (options: LiveOptions) =>
  Effect.gen(function* () {
    const output = yield* Output
    const scope = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
    const { agent, fromSeq } = yield* Scope.extend(open(options), scope)
    if (Option.isNone(options.session)) {
      yield* output.note(output.json ? JSON.stringify({ session: agent.id }) : `session ${agent.id}`)
    }
    const printer = RunPrinter.make(output)
    const finish = yield* follow(agent, fromSeq, printer)
    const stop = (cause: string, by: "person" | "time") => stopAgent(agent, scope, cause, by)
    const messageId = yield* begin(agent, options.work)
    const stay = yield* untilSettled(agent, options.maxWait, stop).pipe(
      Effect.onInterrupt(() =>
        // What could not be cancelled or shown is in the log, where the next run finds it.
        Effect.ignore(Effect.zipRight(Effect.flatMap(stop("the command was interrupted", "person"), sayLeft), finish))
      )
    )
    yield* finish
    yield* sayLeft(stay.left)
    yield* conclude({
      agent,
      messageId,
      fromSeq,
      failed: printer.failed(),
      cancelled: stay.left.running.length,
      maxWait: stay.inTime ? Option.none() : options.maxWait
    })
    // Only now: the turn was paid for, and what it came to is in the log.
    const closed = printer.closed()
    if (closed !== undefined) return yield* closed
  })

/**
 * Ends the turn and the jobs, and answers what those were; what waits in the inbox stays for the next run. A cancel alone would let
 * the agent open a turn for that at once, so it is disposed while it closes the one that runs.
 */
const stopAgent = (agent: Agent, scope: Scope.CloseableScope, cause: string, by: "person" | "time") =>
  Effect.gen(function* () {
    const projections = yield* Projections
    const goals = yield* Goals
    const { value } = yield* projections.get(agent.id, AgentLog.state)
    const left = yield* Outstanding.look(agent.id)
    if (left.goal !== undefined) {
      // A person who ends the work pauses it; when only the time was over, the next run goes on.
      yield* by === "person" ? Effect.ignore(goals.pause(agent.id, left.goal)) : goals.disarm(agent.id)
    }
    const cancel = agent.cancel(cause, { keepInbox: true }).pipe(
      // It had closed by itself.
      Effect.catchTag("AgentClosed", () => Effect.void)
    )
    const isQuiet = value.nextTurn.length === 0 && left.running.length === 0 && !left.wakes && left.goal === undefined
    const dispose = Scope.close(scope, Exit.void)
    yield* isQuiet
      ? // A store that does not take the turn's end must not hold up the command's: the next resume closes the turn.
        Effect.flatMap(Effect.timeoutOption(cancel, "5 seconds"), (done) =>
          Option.isSome(done) ? Effect.void : dispose
        )
      : Effect.all([cancel, dispose], { concurrency: "unbounded", discard: true })
    return left
  })

/** Names on stderr what the run leaves: jobs that end with it, notices that nobody has read, reminders beyond its end. */
const sayLeft = ({ held, reminders, running }: Outstanding.Outstanding) =>
  Effect.gen(function* () {
    const output = yield* Output
    if (running.length === 0 && held.length === 0 && reminders.length === 0) return
    if (output.json) {
      const left = {
        cancelledJobs: running.map(({ id, label }) => ({ id, label })),
        heldNotices: held,
        ...(reminders.length === 0
          ? {}
          : { reminders: reminders.map(({ id, scheduledAt, title }) => ({ id, title, scheduledAt })) })
      }
      return yield* output.note(jsonText({ left }, output))
    }
    for (const { id, label } of running) {
      yield* output.note(SafeText.cleanLine(`${id} was still running and was cancelled: ${label}`))
    }
    for (const { id, scheduledAt, title } of reminders) {
      yield* output.note(
        SafeText.cleanLine(`${id} is due at ${scheduledAt}: ${title}; afterturn host or the next run delivers it`)
      )
    }
    if (held.length > 0) yield* output.note(`${held.join(", ")} ended: the notice waits for the next turn`)
  })

/** The agent of the session, and the seq of the first event that is new. */
const open = ({ session, work }: LiveOptions) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const log = yield* SessionLog
    const title = titleOf(work._tag === "Prompt" ? work.text : work.spec.objective)
    if (Option.isSome(session) && work._tag === "Goal" && (yield* log.exists(session.value))) {
      yield* refuseOtherGoal(session.value, work.spec)
    }
    const create = (id: Option.Option<SessionId>) =>
      Effect.map(
        agents.create({ title, cwd: process.cwd(), ...(Option.isSome(id) ? { id: id.value } : {}) }),
        (agent) => ({ agent, fromSeq: 0 })
      )
    if (Option.isNone(session)) return yield* create(session)
    const resume = Effect.flatMap(log.header(session.value), ({ lastSeq }) =>
      Effect.map(agents.resume(session.value), (agent) => ({ agent, fromSeq: lastSeq + 1 }))
    )
    return yield* resume.pipe(
      Effect.catchTag("SessionNotFound", () => create(session)),
      // Another process created it in between.
      Effect.catchTag("SessionExists", () => resume)
    )
  })

/** Before the session is resumed: a goal that is armed there would open a round first. */
const refuseOtherGoal = (session: SessionId, spec: NewGoal) =>
  Effect.gen(function* () {
    const goal = yield* Effect.flatMap(Goals, (goals) => goals.get(session))
    if (goal === undefined || goal.phase === "complete" || isMeant(goal, spec)) return
    return yield* new GoalExists({ current: toRef(goal), phase: goal.phase, objective: goal.objective })
  })

const isMeant = ({ id, objective }: Goal, spec: NewGoal): boolean =>
  id === spec.objective.trim() || objective === spec.objective.trim()

/** Says the prompt, or goes to work on the goal; the id of the message, where there is one. */
const begin = (agent: Agent, work: Work) =>
  Effect.gen(function* () {
    if (work._tag === "Prompt") return (yield* agent.followup(user(work.text))).id
    const goals = yield* Goals
    const present = yield* goals.get(agent.id)
    if (present === undefined || present.phase === "complete") {
      yield* goals.create(agent.id, work.spec)
      return undefined
    }
    const { objective: _, ...budgets } = work.spec
    const goal = Object.keys(budgets).length === 0 ? present : yield* goals.edit(agent.id, present, budgets)
    if (goal.activation !== "armed") yield* goals.resume(agent.id, goal)
    return undefined
  })

const maxTitle = 80

/** The first line of the prompt that says something. */
const titleOf = (prompt: string): string => {
  const line = prompt.trim().split(/\r?\n/, 1)[0] ?? ""
  const characters = Array.from(line)
  return characters.length > maxTitle ? `${characters.slice(0, maxTitle - 1).join("")}…` : line
}

/** Shows what the agent does while the scope is open; the effect that it answers shows what is stored and not shown yet. */
const follow = (agent: Agent, fromSeq: number, printer: RunPrinter.RunPrinter) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const { json } = yield* Output
    const events = Stream.map(log.changes(agent.id, { fromSeq }), (event) => ({ _tag: "Event", event }) as const)
    // The log has all that counts; the agent's own output has the text before it is a message.
    const items = json
      ? events
      : Stream.merge(
          events,
          Stream.filter(agent.output, (item) => item._tag !== "Event")
        )
    const following = yield* Effect.forkScoped(Stream.runForEach(items, printer.print))
    return Fiber.interrupt(following).pipe(
      Effect.zipRight(
        Effect.suspend(() =>
          Stream.runForEach(log.read(agent.id, { fromSeq: Math.max(printer.lastSeq() + 1, fromSeq) }), (event) =>
            printer.print({ _tag: "Event", event })
          )
        )
      )
    )
  })

/** Waits until nothing runs and nothing is about to; not `inTime`: the time was over first, and the agent was stopped. */
const untilSettled = <E, R>(
  agent: Agent,
  maxWait: Option.Option<Duration.Duration>,
  stop: (cause: string, by: "person" | "time") => Effect.Effect<Outstanding.Outstanding, E, R>
) => {
  const settled = (options?: { readonly remindersUntil: number }) =>
    Effect.map(Outstanding.untilSettled(agent, options), (left) => ({ inTime: true, left }))
  return Option.match(maxWait, {
    onNone: () => settled(),
    onSome: (duration) =>
      Effect.gen(function* () {
        const remindersUntil = (yield* Clock.currentTimeMillis) + Duration.toMillis(duration)
        const stay = yield* Effect.timeoutOption(settled({ remindersUntil }), duration)
        if (Option.isSome(stay)) return stay.value
        const left = yield* stop(`--max-wait ${Duration.format(duration)} was over`, "time")
        return { inTime: false, left }
      })
  })
}

/** Fails, naming what went wrong and what is left, unless everything was done. */
const conclude = (result: {
  readonly agent: Agent
  readonly messageId: string | undefined
  /** The first event of this run. */
  readonly fromSeq: number
  readonly failed: ReadonlyArray<RunPrinter.FailedTurn>
  /** How many jobs ended with it. */
  readonly cancelled: number
  readonly maxWait: Option.Option<Duration.Duration>
}) =>
  Effect.gen(function* () {
    const projections = yield* Projections
    const { value } = yield* projections.get(result.agent.id, AgentLog.state)
    const waiting = [...value.nextTurn, ...value.nextStep]
    const reasons = result.failed.map(RunPrinter.failureText)
    const { cancelled } = result
    const jobs = cancelled === 0 ? [] : [`${cancelled} ${cancelled === 1 ? "job" : "jobs"} cancelled`]
    const left = waiting.length === 0 ? [] : [`${waiting.length} waiting in the inbox for the next run`]
    const say = (first: ReadonlyArray<string>) => [...first, ...jobs, ...left].join("; ")
    if (Option.isSome(result.maxWait)) {
      return yield* failure("max_wait", say([`stopped after ${Duration.format(result.maxWait.value)}`, ...reasons]))
    }
    yield* concludeGoal(result.agent.id, result.fromSeq, say)
    const [first] = result.failed
    if (first !== undefined) {
      return yield* failure(
        first.reason.kind === "error" ? first.reason.error.code : `turn_${first.reason.kind}`,
        say(reasons)
      )
    }
    if (waiting.some(({ id }) => id === result.messageId)) {
      return yield* failure("agent_closed", say(["the agent stopped before it read the prompt"]))
    }
  })

/** What became of the goal that this run worked on. */
const concludeGoal = (session: SessionId, fromSeq: number, say: (first: ReadonlyArray<string>) => string) =>
  Effect.gen(function* () {
    const output = yield* Output
    const { value } = yield* Effect.flatMap(Projections, (projections) => projections.get(session, GoalLog.projection))
    const { goal } = value
    if (goal === null || value.changedSeq < fromSeq) return
    const line = GoalText.statusLine(goal)
    if (goal.phase === "blocked") return yield* blocked(say([line]))
    if (goal.phase === "complete") return yield* output.note(SafeText.cleanLine(line))
    return yield* failure(`goal_${goal.phase}`, say([line]))
  })
