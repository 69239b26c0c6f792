/**
 * What a person asks the chat itself: lines that begin with `/`. A capability adds its own by one more of these.
 *
 * @since 0.1.0
 */
import type { Agent } from "@afterturn/agent/Agent"
import type { Goal } from "@afterturn/goals/Goal"
import { Goals } from "@afterturn/goals/Goals"
import * as GoalText from "@afterturn/goals/GoalText"
import type { JobSnapshot } from "@afterturn/jobs/Job"
import { labelLine } from "@afterturn/jobs/Job"
import { statusLine } from "@afterturn/jobs/JobNotice"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import * as SubagentTree from "@afterturn/subagent/SubagentTree"
import { Todo } from "@afterturn/todo/Todo"
import { counts, countsText } from "@afterturn/todo/TodoList"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import type * as Scope from "effect/Scope"
import * as GoalVerb from "../Compose/GoalVerb.js"
import * as Children from "./Children.js"
import * as Row from "./Row.js"
import * as SafeText from "./SafeText.js"
import * as View from "./View.js"

/**
 * What a command may do beside reading services: answer, and leave the chat.
 *
 * @since 0.1.0
 * @category models
 */
export interface Chat {
  readonly agent: Agent
  readonly print: (lines: ReadonlyArray<Row.Line>) => Effect.Effect<void>
  readonly quit: Effect.Effect<void>
}

/**
 * `name` is without the slash. `argument` is what follows it, trimmed. A failure is shown as one line.
 *
 * @since 0.1.0
 * @category models
 */
export interface SlashCommand {
  readonly name: string
  readonly summary: string
  readonly run: (argument: string, chat: Chat) => Effect.Effect<void, { readonly message: string }>
}

const keys: ReadonlyArray<readonly [string, string]> = [
  ["Enter", "says it to the agent: while it works, it reads it with its next step"],
  ["Alt-Enter", "a line break (also Shift-Enter where the terminal tells it apart, and Ctrl-J)"],
  ["Up, Down", "what was entered before"],
  ["Ctrl-C", "stops the agent; twice within 2 seconds leaves"],
  ["Ctrl-D", "leaves, when nothing is entered"],
  ["Ctrl-L", "draws the screen anew"],
  ["//text", "says /text to the agent"]
]

/**
 * `/help`: the commands, and the keys where there are keys.
 *
 * @since 0.1.0
 * @category commands
 */
export const help = (commands: ReadonlyArray<SlashCommand>, options: { readonly keys: boolean }): SlashCommand => {
  const command: SlashCommand = {
    name: "help",
    summary: "shows this",
    run: (_, chat) => {
      const named = [...commands, command].map(({ name, summary }) => [`/${name}`, summary] as const)
      return chat.print([...named, ...(options.keys ? keys : [])].map(([term, text]) => entry(term, text)))
    }
  }
  return command
}

const entry = (term: string, text: string): Row.Line =>
  Row.line(text, { label: Row.span(`  ${term.padEnd(11)}`, "accent"), style: "dim" })

/**
 * `/todo`: the whole list, however long.
 *
 * @since 0.1.0
 * @category commands
 */
export const todo: Effect.Effect<SlashCommand, never, Todo> = Effect.map(Todo, (service) => ({
  name: "todo",
  summary: "shows the todo list",
  run: (_, chat) => Effect.flatMap(service.get(chat.agent.id), (todos) => chat.print(todoLines(todos)))
}))

const todoLines = (todos: Parameters<typeof View.checklistLines>[0] | null): ReadonlyArray<Row.Line> =>
  todos === null || todos.length === 0
    ? [Row.line("There is no todo list.", { style: "dim" })]
    : [...View.checklistLines(todos), Row.line(countsText(counts(todos)), { style: "dim" })]

/**
 * `/jobs`: running and finished ones, the newest last.
 *
 * @since 0.1.0
 * @category commands
 */
export const jobs: Effect.Effect<SlashCommand, never, Jobs> = Effect.map(Jobs, (service) => ({
  name: "jobs",
  summary: "shows the background jobs",
  run: (_, chat) => Effect.flatMap(service.list(chat.agent.id), (list) => chat.print(jobLines(list)))
}))

/** Of more the newest are shown. */
const mostJobs = 30

const jobLines = (list: ReadonlyArray<JobSnapshot>): ReadonlyArray<Row.Line> => {
  if (list.length === 0) return [Row.line("There are no background jobs.", { style: "dim" })]
  const earlier = list.length - mostJobs
  return [
    ...(earlier > 0 ? [Row.line(`… ${earlier} earlier`, { style: "dim" })] : []),
    ...list.slice(-mostJobs).map(({ detail, id, label, status }) =>
      Row.line(SafeText.cleanLine(`${statusLine(status, detail)} ${labelLine(label)}`), {
        label: Row.span(`  ${id} `, "accent"),
        style: "dim"
      })
    )
  ]
}

/**
 * `/agents`: the subagents, and those below them.
 *
 * @since 0.1.0
 * @category commands
 */
export const agents: Effect.Effect<SlashCommand, never, Projections> = Effect.map(
  Effect.context<Projections>(),
  (context) => ({
    name: "agents",
    summary: "shows the subagents",
    run: (_, chat) =>
      Effect.flatMap(agentsBelow(chat), (found) =>
        chat.print(found.length === 0 ? [Row.line("There are no subagents.", { style: "dim" })] : Children.lines(found))
      ).pipe(Effect.provide(context))
  })
)

const agentsBelow = ({ agent }: Chat) => Effect.map(SubagentTree.below(agent.id), SubagentTree.flatten)

/**
 * `/watch`: what a subagent says and does is shown as it goes on, one at a time, for as long as the scope is open.
 *
 * @since 0.1.0
 * @category commands
 */
export const watch: Effect.Effect<SlashCommand, never, Projections | SessionLog | Scope.Scope> = Effect.gen(
  function* () {
    const context = yield* Effect.context<Projections | SessionLog>()
    const watching = yield* FiberHandle.make()
    const say = (chat: Chat, text: string, style: Row.Style) =>
      chat.print([Row.line(SafeText.cleanLine(text), { style })])
    return {
      name: "watch",
      summary: "follows a subagent: /watch AGENT, by its id or job as /agents shows them; /watch off",
      run: (argument, chat) =>
        Effect.gen(function* () {
          if (argument === "off") {
            yield* FiberHandle.clear(watching)
            return yield* say(chat, "No subagent is followed any more.", "dim")
          }
          const found = Children.find(yield* agentsBelow(chat), argument)
          if (found === undefined) {
            return yield* say(
              chat,
              `which subagent? there is not exactly one that "${argument}" names; /agents shows them`,
              "warn"
            )
          }
          yield* say(chat, `┊ ${found.id}, ${found.label}; /watch off ends this`, "accent")
          const failed = ({ message }: { readonly message: string }) => say(chat, `${found.id}: ${message}`, "bad")
          yield* FiberHandle.run(watching, Effect.catchAll(Children.watch(found.id, chat.print), failed))
        }).pipe(Effect.provide(context))
    }
  }
)

/**
 * `/goal`: shows the goal, or changes it without asking the model.
 *
 * @since 0.1.0
 * @category commands
 */
export const goal: Effect.Effect<SlashCommand, never, Goals> = Effect.map(Goals, (goals) => ({
  name: "goal",
  summary: "shows the goal; /goal TEXT sets one; /goal edit TEXT, pause, resume, clear",
  run: (argument, chat) => {
    const input = readGoal(argument)
    return input === undefined
      ? chat.print([Row.line("/goal edit TEXT changes the objective; what is the text?", { style: "warn" })])
      : Effect.flatMap(GoalVerb.apply(goals, chat.agent.id, input), (shown) => chat.print(goalLines(shown, argument)))
  }
}))

const readGoal = (argument: string): GoalVerb.GoalVerbInput | undefined => {
  const verb = (["pause", "resume", "clear"] as const).find((name) => name === argument)
  if (verb !== undefined) return { verb }
  if (argument === "") return { verb: "show" }
  if (argument === "edit") return undefined
  const edited = /^edit\s+(.+)$/s.exec(argument)?.[1]
  return edited === undefined ? { verb: "create", objective: argument } : { verb: "edit", objective: edited }
}

const goalLines = (shown: Goal | undefined, argument: string): ReadonlyArray<Row.Line> =>
  shown === undefined
    ? [
        Row.line(
          argument === "clear"
            ? "The goal is cleared."
            : "There is no goal. /goal TEXT sets one: it goes on by itself.",
          {
            style: "dim"
          }
        )
      ]
    : GoalText.lines(shown).flatMap((line, index) =>
        Row.lines(SafeText.clean(line), index === 0 ? {} : { style: "dim" })
      )

/**
 * `/quit`: leaves the chat. The session stays.
 *
 * @since 0.1.0
 * @category commands
 */
export const quit: SlashCommand = {
  name: "quit",
  summary: "leaves the chat; the session stays",
  run: (_, chat) => chat.quit
}

/**
 * Runs the command of that name, or says that there is none.
 *
 * @since 0.1.0
 * @category running
 */
export const run = (
  commands: ReadonlyArray<SlashCommand>,
  entered: { readonly name: string; readonly argument: string },
  chat: Chat
): Effect.Effect<void> => {
  const command = commands.find(({ name }) => name === entered.name)
  if (command === undefined) {
    const text = `there is no command /${SafeText.cleanLine(entered.name)}; /help names them, // begins a message with a slash`
    return chat.print([Row.line(text, { style: "warn" })])
  }
  return Effect.catchAll(command.run(entered.argument, chat), ({ message }) =>
    chat.print(Row.lines(`/${command.name}: ${SafeText.clean(message)}`, { style: "bad" }))
  )
}
