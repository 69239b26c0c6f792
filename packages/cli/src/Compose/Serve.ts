/**
 * Executes the commands that other processes leave for the agents of this one.
 *
 * @since 0.1.0
 */
import { AgentExtensions } from "@afterturn/agent/Agents"
import { Wake, Wakes } from "@afterturn/agent/Wakes"
import { Goals } from "@afterturn/goals/Goals"
import { Jobs } from "@afterturn/jobs/Jobs"
import { Schedule } from "@afterturn/schedule/Schedule"
import { handler, Mailbox } from "@afterturn/session-log/Mailbox"
import { Terminals } from "@afterturn/terminal/Terminals"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { serveGoal } from "./GoalVerb.js"
import { serveKill } from "./JobKill.js"
import { serveSchedule } from "./ScheduleVerb.js"
import { serveTerminals } from "./TerminalControl.js"

/**
 * Tells what can wake a session, as the process that drives it knows.
 *
 * @since 0.1.0
 * @category commands
 */
export const SessionWakes = { name: "wakes", input: Schema.Struct({}), answer: Schema.Array(Wake) }

/**
 * One reader a session, for all kinds of commands: each is taken once.
 *
 * @since 0.1.0
 * @category layers
 */
export const serveCommands: Layer.Layer<
  never,
  never,
  AgentExtensions | Goals | Jobs | Mailbox | Schedule | Terminals | Wakes
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const extensions = yield* AgentExtensions
    const goals = yield* Goals
    const jobs = yield* Jobs
    const mailbox = yield* Mailbox
    const schedule = yield* Schedule
    const terminals = yield* Terminals
    const wakes = yield* Wakes
    yield* extensions.register(({ id }) =>
      Effect.asVoid(
        Effect.forkScoped(
          mailbox.serve(id, [
            serveKill(jobs, id),
            serveGoal(goals, id),
            serveSchedule(schedule, id),
            serveTerminals(terminals, id),
            handler(SessionWakes, () => wakes.of(id))
          ])
        )
      )
    )
  })
)
