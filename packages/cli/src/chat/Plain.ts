/**
 * A chat without a terminal: lines in, text out.
 *
 * @since 0.1.0
 */
import type { Agent, AgentError, AgentOutput } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { user } from "@afterturn/agent/AgentMessage"
import type { ReadError, SessionLog } from "@afterturn/session-log/SessionLog"
import { TodoWrite } from "@afterturn/todo/TodoLog"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CliError } from "../CliError.js"
import { failure } from "../CliError.js"
import type { StdoutClosed } from "../Output.js"
import { Output } from "../Output.js"
import * as ChatState from "./ChatState.js"
import * as Feed from "./Feed.js"
import * as Race from "./Race.js"
import type { Recalled } from "./Recall.js"
import * as Row from "./Row.js"
import * as SlashCommand from "./SlashCommand.js"
import * as Transcript from "./Transcript.js"
import * as View from "./View.js"

/**
 * Each line of the input is a message with a turn of its own, or a command; the next is read once the agent is quiet. Ends with the
 * input, or by `/quit`. Fails when the last turn ended in an error.
 *
 * @since 0.1.0
 * @category running
 */
export const run = <E, R>(options: {
  readonly agent: Agent
  readonly input: Stream.Stream<string, E, R>
  readonly commands: ReadonlyArray<SlashCommand.SlashCommand>
  readonly recalled: Recalled
}): Effect.Effect<void, CliError | StdoutClosed | ReadError | AgentError | E, Output | SessionLog | Scope.Scope | R> =>
  Effect.gen(function* () {
    const { agent, commands, input, recalled } = options
    const printer = yield* makePrinter(recalled.transcript)
    const quit = yield* Deferred.make<void>()
    const feed = yield* Feed.follow(agent, recalled.nextSeq, printer.add)
    const quiet = Effect.zipRight(agent.whenIdle, feed.sync)
    const chat: SlashCommand.Chat = {
      agent,
      print: printer.print,
      quit: Effect.asVoid(Deferred.succeed(quit, undefined))
    }
    /** Whether to read on. */
    const enter = (line: string) => {
      const entered = ChatState.read(line)
      if (entered === undefined) return Effect.succeed(true)
      return entered._tag === "Command"
        ? Effect.zipRight(SlashCommand.run(commands, entered, chat), Effect.negate(Deferred.isDone(quit)))
        : Effect.as(Effect.zipRight(agent.followup(user(entered.text)), quiet), true)
    }
    yield* Race.first<void, CliError | StdoutClosed | ReadError | AgentError | E, R>(
      Effect.zipRight(quiet, Stream.runForEachWhile(input, enter)),
      printer.closed
    )
    yield* Effect.flatMap(printer.problem, (problem) =>
      problem === undefined ? Effect.void : failure("turn_failed", `the last turn ended in an error: ${problem}`)
    )
  })

/** Rows that lose what does not fit, where nothing says how much fits. */
const cutColumns = 160

/**
 * Prints a transcript, line by line as they become complete, to `Output`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makePrinter = Effect.fnUntraced(function* (initial: Transcript.Transcript) {
  const output = yield* Output
  const closed = yield* Deferred.make<never, StdoutClosed>()
  const problem = yield* Ref.make<string | undefined>(undefined)
  const transcript = yield* Ref.make(initial)
  const print = Effect.fnUntraced(function* (next: (state: Transcript.Transcript) => Transcript.Transcript) {
    const lines = yield* Ref.modify(transcript, (state) => Transcript.take(next(state)))
    if (lines.length === 0) return
    const text = lines.flatMap((line) =>
      Row.rows(line, line.cut ? cutColumns : Number.POSITIVE_INFINITY).map(
        (row) => `${Row.encode(row, { color: output.colour })}\n`
      )
    )
    yield* Effect.catchAll(output.write(text.join("")), (error) => Deferred.fail(closed, error))
  })
  yield* print((state) => state)
  return {
    add: (item: AgentOutput) =>
      Effect.zipRight(
        noteProblem(problem, item),
        print((state) => addPlain(state, item))
      ),
    print: (lines: ReadonlyArray<Row.Line>) => print((state) => Transcript.note(state, lines)),
    /** Why the last turn failed, if it did. */
    problem: Ref.get(problem),
    /** Fails once nobody reads any more. */
    closed: Deferred.await(closed)
  }
})

const noteProblem = (problem: Ref.Ref<string | undefined>, item: AgentOutput): Effect.Effect<void> => {
  if (item._tag !== "Event" || item.event.type !== AgentEvents.TurnEnd.type) return Effect.void
  return Either.match(AgentEvents.TurnEnd.decode(item.event), {
    onLeft: () => Effect.void,
    onRight: ({ reason }) => Ref.set(problem, reason.kind === "error" ? reason.error.message : undefined)
  })
}

/** No checklist stays in view here: each version of it is printed. */
const addPlain = (state: Transcript.Transcript, item: AgentOutput): Transcript.Transcript => {
  const next = Transcript.add(state, item)
  if (item._tag !== "Event" || item.event.type !== TodoWrite.type) return next
  return Either.match(TodoWrite.decode(item.event), {
    onLeft: () => next,
    onRight: ({ todos }) => Transcript.note(next, View.checklistLines(todos))
  })
}
