/**
 * What a person does with a reminder: on the command line, and through the mailbox where another process drives the session.
 *
 * @since 0.1.0
 */
import type { ChangeError, ReminderView, Schedule } from "@afterturn/schedule/Schedule"
import { Instant } from "@afterturn/session-log/Instant"
import type { CommandHandler } from "@afterturn/session-log/Mailbox"
import { handler } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { fromError } from "../CliError.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * A verb and what it takes.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleVerbInput = Schema.Union(
  Schema.Struct({ verb: Schema.Literal("create"), title: Schema.String, prompt: Schema.String, rule: Schema.Unknown }),
  Schema.Struct({
    verb: Schema.Literal("update"),
    id: Schema.String,
    title: optional(Schema.String),
    prompt: optional(Schema.String),
    rule: optional(Schema.Unknown)
  }),
  Schema.Struct({ verb: Schema.Literal("delete", "pause", "resume", "run-now"), id: Schema.String })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type ScheduleVerbInput = typeof ScheduleVerbInput.Type

/**
 * A reminder as it is shown, of what the command says.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ShownReminder = Schema.Struct({
  id: Schema.String,
  title: Schema.String,
  prompt: Schema.String,
  rule: Schema.Unknown,
  words: Schema.String,
  state: Schema.Literal("scheduled", "overdue", "paused"),
  createdAt: Instant,
  scheduledAt: Instant,
  localTime: optional(Schema.String),
  delivery: Schema.String,
  upcoming: Schema.Array(Schema.Struct({ at: Instant, local: Schema.String, note: optional(Schema.String) })),
  waitsFor: optional(Schema.String),
  problem: optional(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ShownReminder = typeof ShownReminder.Type

/**
 * The reminder as it is then; none after a deletion, of which `deleted` tells. `twin` says the same under the same rule.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleVerbDone = Schema.Struct({
  reminder: optional(ShownReminder),
  deleted: optional(Schema.Boolean),
  twin: optional(Schema.String)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ScheduleVerbDone = typeof ScheduleVerbDone.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const ScheduleVerbAnswer = Schema.Union(
  Schema.Struct({ ok: Schema.Literal(true), done: ScheduleVerbDone }),
  Schema.Struct({ ok: Schema.Literal(false), code: Schema.String, message: Schema.String })
)

/**
 * Executes a verb in the process that drives the session.
 *
 * @since 0.1.0
 * @category commands
 */
export const ScheduleVerb = { name: "schedule", input: ScheduleVerbInput, answer: ScheduleVerbAnswer }

/**
 * Does what a person asks for.
 *
 * @since 0.1.0
 * @category operations
 */
export const apply = (
  schedule: Context.Tag.Service<Schedule>,
  session: SessionId,
  input: ScheduleVerbInput
): Effect.Effect<ScheduleVerbDone, ChangeError> => {
  const shown = Effect.map((reminder: ReminderView): ScheduleVerbDone => ({ reminder }))
  switch (input.verb) {
    case "create":
      return Effect.map(schedule.create(session, input), ({ reminder, twin }) => ({
        reminder,
        ...(twin === undefined ? {} : { twin })
      }))
    case "update":
      return shown(schedule.update(session, input.id, input))
    case "delete":
      return Effect.map(schedule.delete(session, input.id), (deleted) => ({ deleted }))
    case "pause":
      return shown(schedule.pause(session, input.id))
    case "resume":
      return shown(schedule.resume(session, input.id))
    case "run-now":
      return shown(schedule.runNow(session, input.id))
  }
}

/**
 * Executes the verbs that reach a session of this process. What is refused is part of the answer.
 *
 * @since 0.1.0
 * @category operations
 */
export const serveSchedule = (schedule: Context.Tag.Service<Schedule>, session: SessionId): CommandHandler =>
  handler(ScheduleVerb, (input) =>
    apply(schedule, session, input).pipe(
      Effect.match({
        onSuccess: (done): typeof ScheduleVerbAnswer.Type => ({ ok: true, done }),
        onFailure: (error): typeof ScheduleVerbAnswer.Type => {
          const { code, message } = fromError(error)
          return { ok: false, code, message }
        }
      })
    )
  )
