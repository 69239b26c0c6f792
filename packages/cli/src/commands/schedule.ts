/**
 * `afterturn schedule …`
 *
 * @since 0.1.0
 */
import type { InvalidRule } from "@afterturn/schedule/InvalidRule"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import type { Previewed } from "@afterturn/schedule/RulePreview"
import * as RulePreview from "@afterturn/schedule/RulePreview"
import * as RuleText from "@afterturn/schedule/RuleText"
import { Schedule } from "@afterturn/schedule/Schedule"
import * as Instant from "@afterturn/session-log/Instant"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { CliError, ForeignError } from "../CliError.js"
import { failure, usage } from "../CliError.js"
import type { Handler, Services } from "../Commands.js"
import { scheduleLayer } from "../Compose/Schedule.js"
import type { ScheduleVerbDone, ScheduleVerbInput } from "../Compose/ScheduleVerb.js"
import { apply, ScheduleVerb } from "../Compose/ScheduleVerb.js"
import type { Store } from "../Compose/Store.js"
import * as SafeText from "../chat/SafeText.js"
import { jsonText } from "../internal/json.js"
import { withExistingStore } from "../internal/withStore.js"
import type { StdoutClosed } from "../Output.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import type { DbOption } from "./sessions.js"

const defaultCount = 5
const maxCount = 10_000

/**
 * Shows when a rule comes due, without a session.
 *
 * @since 0.1.0
 * @category commands
 */
export const preview = (options: {
  readonly rule: string
  readonly from: Option.Option<string>
  readonly count: Option.Option<number>
}): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const input = yield* parseJson(options.rule)
    const from = yield* Option.match(options.from, { onNone: () => Instant.now, onSome: readInstant })
    const count = Option.getOrElse(options.count, () => defaultCount)
    if (count > maxCount) return yield* usage(`--count: expected at most ${maxCount}, got ${count}`)
    const { rule, scheduledAt } = yield* orFail(RuleInput.parse(input, { now: from }))
    const coming = yield* orFail(RulePreview.preview(rule, { from, count, anchor: scheduledAt }))
    if (output.json) return yield* output.line(jsonText(coming, output))
    yield* output.line([RuleText.describe(rule), ...coming.map(lineOf)].join("\n"))
  })

const lineOf = ({ at, local, note }: Previewed): string => `${at}  ${local}${note === undefined ? "" : `  ${note}`}`

const parseJson = (text: string): Effect.Effect<unknown, CliError> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => usage(`--rule: expected JSON such as '{"every_seconds":3600}', got ${JSON.stringify(text)}`)
  })

const readInstant = (text: string): Effect.Effect<Instant.Instant, CliError> =>
  Effect.mapError(RuleInput.parseInstant(text, "--from"), ({ message }) => usage(message))

const orFail = <A>(result: Either.Either<A, InvalidRule>): Effect.Effect<A, CliError> =>
  Either.mapLeft(result, ({ code, message }) => failure(code, message))

/**
 * Whose reminders.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScheduleOptions extends DbOption {
  readonly session: SessionId
}

/**
 * Lists the reminders of a session that are not over, in the order of their creation.
 *
 * @since 0.1.0
 * @category commands
 */
export const list = (options: ScheduleOptions): Handler =>
  withSchedule(options, (schedule) =>
    Effect.gen(function* () {
      const output = yield* Output
      const { faults, reminders } = yield* schedule.list(options.session)
      if (output.json) yield* output.line(jsonText(reminders, output))
      else yield* output.line(Render.reminders(reminders, output))
      for (const { reason, seq } of faults) {
        yield* output.note(SafeText.cleanLine(`the event at ${seq} can't be and is left out: ${reason}`))
      }
    })
  )

/**
 * Tells what was done to a reminder and what became of its occurrences.
 *
 * @since 0.1.0
 * @category commands
 */
export const history = (options: ScheduleOptions & { readonly id: string }): Handler =>
  withSchedule(options, (schedule) =>
    Effect.gen(function* () {
      const output = yield* Output
      const found = yield* schedule.history(options.session, options.id)
      yield* output.line(output.json ? jsonText(found, output) : Render.reminderHistory(found, output))
    })
  )

/**
 * Sets a reminder.
 *
 * @since 0.1.0
 * @category commands
 */
export const create = (
  options: ScheduleOptions & { readonly title: string; readonly prompt: string; readonly rule: string }
): Handler =>
  Effect.flatMap(parseJson(options.rule), (rule) =>
    change(options, { verb: "create", title: options.title, prompt: options.prompt, rule })
  )

/**
 * Changes a reminder in place.
 *
 * @since 0.1.0
 * @category commands
 */
export const update = (
  options: ScheduleOptions & {
    readonly id: string
    readonly title: Option.Option<string>
    readonly prompt: Option.Option<string>
    readonly rule: Option.Option<string>
  }
): Handler =>
  Effect.gen(function* () {
    const rule = Option.isSome(options.rule) ? { rule: yield* parseJson(options.rule.value) } : {}
    yield* change(options, {
      verb: "update",
      id: options.id,
      ...(Option.isSome(options.title) ? { title: options.title.value } : {}),
      ...(Option.isSome(options.prompt) ? { prompt: options.prompt.value } : {}),
      ...rule
    })
  })

/**
 * Deletes, pauses, resumes or runs a reminder.
 *
 * @since 0.1.0
 * @category commands
 */
export const simple = (
  options: ScheduleOptions & { readonly id: string; readonly verb: "delete" | "pause" | "resume" | "run-now" }
): Handler => change(options, { verb: options.verb, id: options.id })

type Service = Context.Tag.Service<Schedule>

/** Reads the reminders of a session that has to be there; it takes no lease. */
const withSchedule = <E extends ForeignError | CliError | StdoutClosed>(
  { db, session }: ScheduleOptions,
  body: (schedule: Service) => Effect.Effect<void, E, Store | Services>
): Handler =>
  withExistingStore(
    db,
    Effect.zipRight(
      Effect.flatMap(SessionLog, (log) => log.header(session)),
      Effect.flatMap(Schedule, body)
    ).pipe(Effect.provide(scheduleLayer))
  )

/** In the process that drives the session; where there is none, here, under the session's lease. */
const change = (options: ScheduleOptions, input: ScheduleVerbInput): Handler =>
  withSchedule(options, (schedule) =>
    Effect.gen(function* () {
      const { session } = options
      const here = Effect.scoped(
        Effect.zipRight(
          Effect.flatMap(SessionLeases, (leases) => leases.acquire(session)),
          apply(schedule, session, input)
        )
      )
      const there = Effect.flatMap(Mailbox, (mailbox) => mailbox.send(session, ScheduleVerb, input)).pipe(
        Effect.flatMap((answer) =>
          answer.ok ? Effect.succeed(answer.done) : Effect.fail(failure(answer.code, answer.message))
        )
      )
      yield* sayDone(input, yield* Effect.catchTag(here, "SessionLeased", () => there))
    })
  )

const sayDone = (input: ScheduleVerbInput, done: ScheduleVerbDone) =>
  Effect.gen(function* () {
    const output = yield* Output
    if (done.deleted === false) {
      return yield* failure("schedule_not_found", `the session has no reminder ${"id" in input ? input.id : ""}`)
    }
    if (output.json) return yield* output.line(jsonText(done, output))
    if (done.reminder === undefined) return yield* output.line(`deleted ${"id" in input ? input.id : ""}`)
    yield* output.line(Render.reminder(done.reminder))
    if (done.twin !== undefined) yield* output.note(`${done.twin} is the same: title, prompt and rule; both will come`)
  })
