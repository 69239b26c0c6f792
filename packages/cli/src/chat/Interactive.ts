/**
 * A chat at a terminal: one loop that takes what happens, draws, and says what is to be done.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import { user } from "@afterturn/agent/AgentMessage"
import type { Jobs } from "@afterturn/jobs/Jobs"
import type { Projections } from "@afterturn/session-log/Projection"
import type { ReadError, SessionLog } from "@afterturn/session-log/SessionLog"
import { Todo } from "@afterturn/todo/Todo"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as ChatState from "./ChatState.js"
import * as Children from "./Children.js"
import * as Display from "./Display.js"
import * as Feed from "./Feed.js"
import * as Keyboard from "./Keyboard.js"
import type { Questions } from "./Questions.js"
import * as Race from "./Race.js"
import type { Recalled } from "./Recall.js"
import * as Row from "./Row.js"
import * as RunningJobs from "./RunningJobs.js"
import * as SafeText from "./SafeText.js"
import * as SlashCommand from "./SlashCommand.js"
import { Tty } from "./Tty.js"

/**
 * Runs the chat until the person leaves or the terminal goes away. The screen is left as it is, without the rows at its bottom.
 *
 * @since 0.1.0
 * @category running
 */
export const run = (options: {
  readonly agent: Agent
  readonly title: string
  readonly commands: ReadonlyArray<SlashCommand.SlashCommand>
  readonly recalled: Recalled
  readonly happenings: Display.Happenings
  readonly questions: Questions
  readonly color: boolean
}): Effect.Effect<void, ReadError, Tty | SessionLog | Projections | Todo | Jobs | Scope.Scope> =>
  Effect.gen(function* () {
    const { agent, happenings, recalled } = options
    const tty = yield* Tty
    const todo = yield* Todo
    const happen = (happening: ChatState.Happening) => Effect.asVoid(happenings.offer(happening))
    const feed = yield* Feed.follow(agent, recalled.nextSeq, (item) => happen({ _tag: "Output", item }))
    const status = Stream.runForEach(agent.statusChanges, (status) =>
      // What the last turn left is complete once it is over.
      Effect.zipRight(status === "idle" ? feed.sync : Effect.void, happen({ _tag: "Status", status }))
    )
    const todos = Stream.runForEach(todo.changes(agent.id), ({ todos }) =>
      happen({ _tag: "Todos", todos: todos ?? [] })
    )
    const jobs = Stream.runForEach(RunningJobs.changes(agent), (jobs) => happen({ _tag: "Jobs", jobs }))
    const children = Children.follow(agent.id, (job, doing) => happen({ _tag: "Doing", job, doing }))
    const resizes = Stream.runForEach(tty.resizes, () => happen({ _tag: "Tick" }))
    const sources = yield* Effect.forkScoped(
      Effect.all([status, todos, jobs, children, feed.join, resizes], { concurrency: "unbounded", discard: true })
    )
    const typing = yield* Effect.forkScoped(Keyboard.read(tty.input, (key) => happen({ _tag: "Key", key })))
    const quit = yield* Deferred.make<void>()
    const actions = yield* Queue.unbounded<Display.WorkAction>()
    const chat: SlashCommand.Chat = {
      agent,
      print: (lines) => happen({ _tag: "Note", lines }),
      quit: Effect.asVoid(Deferred.succeed(quit, undefined))
    }
    yield* Effect.forkScoped(
      Effect.forever(Effect.flatMap(Queue.take(actions), (action) => perform(action, chat, options)))
    )
    const display = Display.run({
      ...options,
      transcript: recalled.transcript,
      input: true,
      perform: (action) => Queue.offer(actions, action)
    })
    yield* Race.first<void, ReadError, Tty>(
      display,
      Deferred.await(quit),
      // They run for good: the end of one is a failure to read the session.
      Effect.zipRight(Fiber.join(sources), Effect.never),
      // The terminal went away.
      Fiber.join(typing)
    )
  })

const perform = (
  action: Display.WorkAction,
  chat: SlashCommand.Chat,
  {
    commands,
    questions
  }: { readonly commands: ReadonlyArray<SlashCommand.SlashCommand>; readonly questions: Questions }
): Effect.Effect<void> => {
  const refused = (what: string) => (error: { readonly message: string }) =>
    chat.print(Row.lines(`${what}: ${SafeText.clean(error.message)}`, { style: "bad" }))
  switch (action._tag) {
    case "Send":
      return Effect.catchAll(Effect.asVoid(chat.agent.steer(user(action.text))), refused(`not sent, "${action.text}"`))
    case "Cancel":
      return Effect.catchAll(chat.agent.cancel("the user pressed Ctrl-C"), refused("not stopped"))
    case "Answer":
      return questions.answer(action.answer)
    case "Command":
      return SlashCommand.run(commands, action, chat)
  }
}
