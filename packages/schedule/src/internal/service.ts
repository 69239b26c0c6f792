import type { Agent } from "@afterturn/agent/Agent"
import type { Instant } from "@afterturn/session-log/Instant"
import * as Instants from "@afterturn/session-log/Instant"
import type { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { SessionLog } from "@afterturn/session-log/SessionLog"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { InvalidRule } from "../InvalidRule.js"
import type { ReminderId } from "../Reminder.js"
import { ReminderId as ReminderIdSchema } from "../Reminder.js"
import type { ScheduleSettings } from "../ScheduleConfig.js"
import type { ScheduleErrorCode } from "../ScheduleError.js"
import { ScheduleError } from "../ScheduleError.js"
import type { ScheduleChangeData } from "../ScheduleEvents.js"
import { ScheduleChange } from "../ScheduleEvents.js"
import type { Reminder, ScheduleState } from "../ScheduleLog.js"
import * as ScheduleLog from "../ScheduleLog.js"
import { movedAlarms } from "./alarms.js"

/** An agent of this process that delivers its reminders. */
export interface Attached {
  readonly agent: Agent
  /** Makes it look again. */
  readonly signal: Effect.Effect<void>
  /** Waits until it has looked and nothing is left for it to do now. */
  readonly quiet: Effect.Effect<void>
}

/** What the members of the service share. */
export interface Shared {
  readonly settings: ScheduleSettings
  readonly log: Context.Tag.Service<SessionLog>
  readonly projections: Context.Tag.Service<Projections>
  readonly attached: Map<SessionId, Attached>
}

export const refused = (code: ScheduleErrorCode, message: string): ScheduleError => new ScheduleError({ code, message })

const signal = (shared: Shared, session: SessionId): Effect.Effect<void> =>
  Effect.suspend(() => shared.attached.get(session)?.signal ?? Effect.void)

export const corrupt = (session: SessionId, { faultCount, faults }: ScheduleState): ScheduleError => {
  const [first] = faults
  const more = faultCount === 1 ? "" : `, and ${faultCount - 1} more`
  return refused(
    "corrupt_schedule_log",
    `the reminders of session "${session}" can't be changed: the event at ${first?.seq ?? -1} can't be (${first?.reason ?? ""})${more}; ` +
      `\`afterturn sessions verify ${session}\` checks the session`
  )
}

/** What is decided: the change, and what comes of it. */
export interface Decision<A> {
  readonly change: ScheduleChangeData
  readonly value: A
}

export type Refusal = ScheduleError | InvalidRule

/**
 * Decides on the present reminders and stores what was decided, its alarm with it; the session's agent, if it lives here, looks again.
 */
export const change = <A, E>(
  shared: Shared,
  session: SessionId,
  decide: (state: ScheduleState, now: Instant) => Effect.Effect<Decision<A>, E | Refusal>
) =>
  shared.projections
    .decide(session, ScheduleLog.reminders, ({ value: state }) =>
      Effect.gen(function* () {
        if (state.faultCount > 0) return yield* corrupt(session, state)
        const decision = yield* decide(state, yield* Instants.now)
        const after = yield* Either.match(ScheduleLog.transition(state, decision.change), {
          // The fold would set aside what it wrote.
          onLeft: (reason) => Effect.die(new Error(`decided a change of reminders that can't be: ${reason}`)),
          onRight: Effect.succeed
        })
        return {
          events: [ScheduleChange.make(decision.change)],
          alarms: movedAlarms(state, after),
          value: decision.value
        }
      })
    )
    .pipe(Effect.tap(() => signal(shared, session)))

const isId = Schema.is(ReminderIdSchema)

/** The form of an id is checked before anything is read. */
export const readId = (id: string): Either.Either<ReminderId, ScheduleError> =>
  isId(id)
    ? Either.right(id)
    : Either.left(
        refused(
          "invalid_selector",
          `id: expected the exact id of a reminder, such as schedule-1, got ${JSON.stringify(id.slice(0, 100))}`
        )
      )

export const notFound = (id: string): ScheduleError =>
  refused("schedule_not_found", `the session has no active reminder ${id}; schedule_list names those that it has`)

/** The reminder that is not over, or a refusal. */
export const findActive = (state: ScheduleState, id: ReminderId): Either.Either<Reminder, ScheduleError> => {
  const found = ScheduleLog.find(state, id)
  return found === undefined ? Either.left(notFound(id)) : Either.right(found)
}

/** The texts of a reminder, trimmed and within their limits. */
export const readText = (
  settings: ScheduleSettings,
  part: "title" | "prompt",
  text: string
): Either.Either<string, ScheduleError> => {
  const code = part === "title" ? "invalid_title" : "invalid_prompt"
  const max = part === "title" ? settings.maxTitleLength : settings.maxPromptLength
  const trimmed = text.trim()
  if (trimmed === "") return Either.left(refused(code, `${part}: expected some text, got none`))
  // A character outside the basic plane counts once.
  const length = trimmed.length <= max ? trimmed.length : Array.from(trimmed).length
  return length <= max
    ? Either.right(trimmed)
    : Either.left(refused(code, `${part}: expected at most ${max} characters, got ${length}`))
}
