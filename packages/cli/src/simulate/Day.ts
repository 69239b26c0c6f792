/**
 * A day of an agent with all that it does around its turns: todos, jobs, reminders and goals, on two hosts.
 *
 * @since 0.1.0
 */
import * as AgentLoop from "@afterturn/agent/AgentLoop"
import * as Approval from "@afterturn/agent/Approval"
import * as GoalConfig from "@afterturn/goals/GoalConfig"
import * as GoalDriver from "@afterturn/goals/GoalDriver"
import * as GoalPrompt from "@afterturn/goals/GoalPrompt"
import * as GoalReferee from "@afterturn/goals/GoalReferee"
import * as Goals from "@afterturn/goals/Goals"
import * as GoalTools from "@afterturn/goals/GoalTools"
import * as GoalWakes from "@afterturn/goals/GoalWakes"
import * as JobDelivery from "@afterturn/jobs/JobDelivery"
import * as Jobs from "@afterturn/jobs/Jobs"
import * as JobTools from "@afterturn/jobs/JobTools"
import * as JobWakes from "@afterturn/jobs/JobWakes"
import * as ReminderDelivery from "@afterturn/schedule/ReminderDelivery"
import * as ReminderHost from "@afterturn/schedule/ReminderHost"
import * as ReminderWakes from "@afterturn/schedule/ReminderWakes"
import * as Schedule from "@afterturn/schedule/Schedule"
import * as ScheduleConfig from "@afterturn/schedule/ScheduleConfig"
import * as SchedulePrompt from "@afterturn/schedule/SchedulePrompt"
import * as ScheduleTools from "@afterturn/schedule/ScheduleTools"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Shell from "@afterturn/shell/Shell"
import * as ShellConfig from "@afterturn/shell/ShellConfig"
import * as ShellTools from "@afterturn/shell/ShellTools"
import type { Scenario, SimulatedHost, World } from "@afterturn/testing/SimulationScenario"
import * as Todo from "@afterturn/todo/Todo"
import * as TodoPrompt from "@afterturn/todo/TodoPrompt"
import * as TodoTools from "@afterturn/todo/TodoTools"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { todoConfig } from "../Compose/Todo.js"
import * as DayPlan from "./DayPlan.js"
import * as SimulatedShell from "./SimulatedShell.js"

type Services = Todo.Todo | Jobs.Jobs | Schedule.Schedule | Goals.Goals

/** The capabilities of the command over processes that are simulated, with a host that drives what nobody drives. */
const host = (machine: SimulatedShell.Machine, simulated: SimulatedHost): ReturnType<World<Services>["host"]> =>
  Layer.mergeAll(
    TodoTools.layer,
    TodoPrompt.layer,
    JobTools.layer(),
    ShellTools.layer(),
    JobDelivery.layer(),
    JobWakes.layer(),
    ReminderDelivery.layer,
    ReminderWakes.layer,
    ScheduleTools.layer(),
    SchedulePrompt.layer,
    GoalDriver.layer,
    GoalTools.layer,
    GoalPrompt.layer,
    GoalWakes.layer,
    ReminderHost.layer({
      pollInterval: Duration.minutes(5),
      onDrive: () => Effect.sync(() => simulated.count("driver", "a reminder drives a session"))
    })
  ).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Todo.layer,
        Jobs.layer({ maxConcurrentJobsPerOwner: 3 }),
        Schedule.layer,
        Goals.layer,
        Shell.layer,
        Approval.layer({ policy: "allow" })
      )
    ),
    Layer.provideMerge(
      Layer.mergeAll(
        todoConfig,
        ScheduleConfig.layer({ delivery: "host", maxActive: 6, maxSleep: Duration.minutes(10) }),
        GoalConfig.layer({ rearmOnResume: simulated.dice.chance(0.5) }),
        GoalReferee.layerNone,
        ShellConfig.layer(),
        machine.layer(simulated)
      )
    ),
    Layer.provideMerge(AgentLoop.layerRuntime({ timeZone: "UTC" }))
  )

const run = (input: unknown, verb: (id: string) => Effect.Effect<unknown, unknown, Services>) =>
  verb(String((input as { readonly id?: unknown }).id))

/** What a person does from the command line, on whatever goal or reminder is there. */
const actions: NonNullable<Scenario<Services>["actions"]> = {
  "goal-pause": (session) => onGoal(session, (goals, goal) => goals.pause(session, goal)),
  "goal-resume": (session) => onGoal(session, (goals, goal) => goals.resume(session, goal)),
  "goal-clear": (session) => onGoal(session, (goals, goal) => goals.clear(session, goal)),
  "reminder-pause": (session, input) =>
    run(input, (id) => Effect.flatMap(Schedule.Schedule, (schedule) => schedule.pause(session, id))),
  "reminder-resume": (session, input) =>
    run(input, (id) => Effect.flatMap(Schedule.Schedule, (schedule) => schedule.resume(session, id))),
  "reminder-run-now": (session, input) =>
    run(input, (id) => Effect.flatMap(Schedule.Schedule, (schedule) => schedule.runNow(session, id))),
  "todo-write": (session, input) =>
    Effect.flatMap(Todo.Todo, (todo) => todo.write(session, input as Parameters<typeof todo.write>[1]))
}

const onGoal = <A, E>(
  session: SessionId,
  verb: (
    goals: Effect.Effect.Success<typeof Goals.Goals>,
    goal: { readonly id: never; readonly revision: never }
  ) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const goals = yield* Goals.Goals
    const goal = yield* goals.get(session)
    if (goal !== undefined) yield* verb(goals, goal as never)
  })

/**
 * The scenario.
 *
 * @since 0.1.0
 * @category scenarios
 */
export const day: Scenario<Services> = {
  name: "day",
  world: Effect.map(SimulatedShell.make, (machine) => ({
    host: (simulated) => host(machine, simulated),
    leftovers: machine.running
  })),
  start: DayPlan.start,
  say: DayPlan.say,
  answer: DayPlan.answer,
  actions,
  act: DayPlan.act,
  observe: (session) =>
    Effect.gen(function* () {
      const todos = yield* Effect.flatMap(Todo.Todo, (todo) => todo.get(session))
      const { faults } = yield* Effect.flatMap(Schedule.Schedule, (schedule) => schedule.list(session))
      const goal = yield* Effect.flatMap(Goals.Goals, (goals) => goals.get(session))
      return { todos, faults, goal: goal ?? null }
    })
}
