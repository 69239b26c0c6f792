/**
 * `afterturn demo`: a scripted session on a real database, to be watched.
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { user } from "@afterturn/agent/AgentMessage"
import { Agents } from "@afterturn/agent/Agents"
import { Goals } from "@afterturn/goals/Goals"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { Todo } from "@afterturn/todo/Todo"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { failure, fromError, usage } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { storeLayer } from "../Compose/Store.js"
import { agentLayer } from "../Compose.js"
import * as ShellWord from "../chat/ShellWord.js"
import * as NodeTty from "../chat/Tty/Node.js"
import * as View from "../chat/View.js"
import * as Database from "../Database.js"
import * as Outstanding from "../internal/outstanding.js"
import { Output } from "../Output.js"
import * as DemoScript from "./DemoScript.js"
import * as Stage from "./Stage.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface DemoOptions {
  readonly db: Option.Option<string>
}

/**
 * Plays the demo in a new session, and says how to look at what it left behind. Live at a terminal, at once elsewhere.
 *
 * @since 0.1.0
 * @category commands
 */
export const demo = (options: DemoOptions): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const place = yield* prepare(options)
    const told = (stage: Stage.Stage) => tell(stage, place)
    const left = yield* output.terminal
      ? Effect.provide(Stage.atTerminal("afterturn demo", told), NodeTty.layer)
      : Stage.plainly(told)
    yield* Effect.forEach(yield* farewell(options, place, left), (line) => output.line(line), { discard: true })
  }).pipe(Effect.mapError((error) => (error._tag === "StdoutClosed" ? error : fromError(error))))

/** Where the demo takes place. */
interface Place {
  readonly db: string
  /** The script, as a file: `chat` can go on with it. */
  readonly script: string
}

const prepare = (options: DemoOptions) =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const given = yield* Database.resolve(options.db)
    if (given === ":memory:" || Database.target(given)._tag === "Server") {
      return yield* usage("--db: expected a file: the demo closes its database and opens it again")
    }
    const db = path.resolve(Database.shown(given))
    const script = path.join(path.dirname(db), "demo.script.json")
    // Opening the database makes its folder.
    yield* Effect.scoped(Layer.build(storeLayer(db)))
    yield* Effect.mapError(
      fileSystem.writeFileString(script, `${JSON.stringify(DemoScript.script, null, 2)}\n`),
      (error) => failure("output_unwritable", `${script} cannot be written: ${error.message}`)
    )
    return { db, script }
  })

/** What the demo leaves behind. */
interface Left {
  readonly session: SessionId
  readonly fork: SessionId
}

/** Each chapter opens the database anew: nothing but the file goes from one to the next. */
const tell = (stage: Stage.Stage, place: Place) => {
  const chapter = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.provide(
      Effect.scoped(effect),
      agentLayer({
        ...pace(stage),
        db: place.db,
        route: `scripted:${place.script}`,
        approval: { policy: "allow" }
      })
    )
  return Effect.gen(function* () {
    yield* stage.say(
      `A new session in ${place.db}\nThe model follows a script, so its work is make-believe. ` +
        "The log, the turns, the tool calls, the command that it runs and the file are real.\n" +
        "It gets two messages. The second comes while it works, and waits for a turn of its own."
    )
    yield* stage.pause("1200 millis")
    const session = yield* chapter(twoMessagesAndGoal(stage))
    yield* stage.happen({ _tag: "Todos", todos: [] })
    yield* stage.say("The agent is closed, and its database with it: this process has forgotten everything.")
    yield* stage.pause("1300 millis")
    yield* chapter(resumed(stage, session))
    const fork = yield* chapter(forked(stage, session))
    return { session, fork }
  })
}

/** How fast the model speaks to whoever watches. */
const pace = ({ live }: Stage.Stage) =>
  live ? { scripted: { deltaLength: 10, deltaDelay: "18 millis" } as const } : {}

/** Plans, works, takes up what was queued meanwhile; then goes from round to round by itself until its goal is reached. */
const twoMessagesAndGoal = (stage: Stage.Stage) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const agent = yield* agents.create({ title: "demo: release 0.2", cwd: process.cwd() })
    const feed = yield* Stage.watch(stage, agent, 0)
    yield* agent.followup(user(DemoScript.messages.plan))
    yield* stage.pause("1600 millis")
    yield* agent.followup(user(DemoScript.messages.announce))
    yield* Stage.quiet(stage, agent, feed)
    yield* stage.pause("400 millis")
    yield* stage.say(
      "Now a goal, and nobody says another word. A round starts a real command, which goes on when the turn has ended; its own end " +
        "opens the next turn, and the round after that looks whether the goal is reached."
    )
    yield* stage.pause("900 millis")
    yield* Effect.flatMap(Goals, (goals) =>
      goals.create(agent.id, { objective: DemoScript.objective, maxGoalRounds: 5 })
    )
    yield* Outstanding.untilSettled(agent)
    yield* Stage.quiet(stage, agent, feed)
    yield* stage.pause("400 millis")
    return agent.id
  })

/** What was stored is all there; the agent goes on. */
const resumed = (stage: Stage.Stage, session: SessionId) =>
  Effect.gen(function* () {
    const todo = yield* Todo
    const turns = yield* turnEnds(session)
    const { agent, feed, lastSeq } = yield* resume(stage, session)
    yield* stage.say(
      `The file is opened again and the session resumed: ${lastSeq + 1} events, ${turns.length} turns, and the todo list:`
    )
    const todos = yield* todo.get(session)
    yield* stage.happen({ _tag: "Note", lines: View.checklistLines(todos ?? []) })
    yield* stage.pause("1200 millis")
    yield* agent.followup(user(DemoScript.messages.left))
    yield* Stage.quiet(stage, agent, feed)
    yield* stage.say(
      "The turn has ended and nothing runs. The reminder that it set comes due by itself, and opens a turn."
    )
    const now = yield* Clock.currentTimeMillis
    yield* Outstanding.untilSettled(agent, { remindersUntil: now + Duration.toMillis("1 minute") })
    yield* Stage.quiet(stage, agent, feed)
    yield* stage.pause("400 millis")
  })

/** Another course of events from the end of the first turn. */
const forked = (stage: Stage.Stage, session: SessionId) =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    const [boundary = -1] = yield* turnEnds(session)
    const before = yield* log.lastSeq(session)
    const { id } = yield* log.fork(session, { boundary, title: "demo: release 0.2, held back" })
    const { agent, feed } = yield* resume(stage, id)
    yield* stage.say(
      `A fork from the end of the first turn: it shares those ${boundary + 1} events and goes its own way.`
    )
    yield* stage.pause("700 millis")
    yield* agent.followup(user(DemoScript.messages.hold))
    yield* Stage.quiet(stage, agent, feed)
    const after = yield* log.lastSeq(session)
    const fork = yield* log.lastSeq(id)
    yield* stage.say(
      after === before
        ? `The fork has ${fork + 1} events now. The session that it came from has its ${after + 1}, as before.`
        : `The session that it came from changed meanwhile: it has ${after + 1} events.`
    )
    return id
  })

const resume = (stage: Stage.Stage, session: SessionId) =>
  Effect.gen(function* () {
    const agents = yield* Agents
    const lastSeq = yield* Effect.flatMap(SessionLog, (log) => log.lastSeq(session))
    const agent = yield* agents.resume(session)
    return { agent, feed: yield* Stage.watch(stage, agent, lastSeq + 1), lastSeq }
  })

/** The seqs at which turns of a session ended. */
const turnEnds = (session: SessionId) =>
  Effect.flatMap(SessionLog, (log) =>
    log.read(session, { types: [AgentEvents.TurnEnd.type] }).pipe(
      Stream.map(({ seq }) => seq),
      Stream.runCollect,
      Effect.map(Chunk.toReadonlyArray)
    )
  )

const farewell = (options: DemoOptions, place: Place, left: Left) =>
  Effect.gen(function* () {
    // Set where a script of package.json runs, as `pnpm start` does: there the command is another script of it. Whoever came by npx
    // has no pnpm of his own.
    const runner = /^pnpm\/(\S+)/.exec(Option.getOrElse(yield* Database.variable("npm_config_user_agent"), () => ""))
    const script = yield* Database.variable("npm_lifecycle_event")
    const command = Option.isSome(script)
      ? `npx -y pnpm${runner === null ? "" : `@${runner[1]}`} -s afterturn`
      : "afterturn"
    const db = Option.isSome(options.db) ? ` --db ${ShellWord.quote(place.db)}` : ""
    return [
      "",
      "To look at what is left:",
      `  ${command} sessions show ${left.session}${db}`,
      `  ${command} todo show ${left.session} --history${db}`,
      `  ${command} sessions export ${left.session}${db}`,
      `  ${command} sessions list --parent ${left.session}${db}`,
      `  ${command} goal show --session ${left.session}${db}`,
      `  ${command} wakes ${left.session}${db}`,
      `  ${command} schedule history --session ${left.session} schedule-1${db}`,
      `  ${command} jobs output --session ${left.session} bash-1${db}`,
      "To go on with it:",
      `  ${command} chat --session ${left.session} --model ${ShellWord.quote(`scripted:${place.script}`)}${db}`
    ]
  })
