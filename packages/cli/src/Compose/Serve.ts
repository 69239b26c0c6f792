/**
 * Executes the commands that other processes leave for the agents of this one.
 *
 * @since 0.1.0
 */
import { AgentExtensions } from "@afterturn/agent/Agents"
import { Jobs } from "@afterturn/jobs/Jobs"
import { Schedule } from "@afterturn/schedule/Schedule"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { serveKill } from "./JobKill.js"
import { serveSchedule } from "./ScheduleVerb.js"

/**
 * One reader a session, for all kinds of commands: each is taken once.
 *
 * @since 0.1.0
 * @category layers
 */
export const serveCommands: Layer.Layer<never, never, AgentExtensions | Jobs | Mailbox | Schedule> =
  Layer.effectDiscard(
    Effect.gen(function* () {
      const extensions = yield* AgentExtensions
      const jobs = yield* Jobs
      const mailbox = yield* Mailbox
      const schedule = yield* Schedule
      yield* extensions.register(({ id }) =>
        Effect.asVoid(Effect.forkScoped(mailbox.serve(id, [serveKill(jobs, id), serveSchedule(schedule, id)])))
      )
    })
  )
