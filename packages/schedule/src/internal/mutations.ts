import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { Instant } from "@afterturn/session-log/Instant"
import * as Instants from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Occurrences from "../Occurrences.js"
import type { ReminderRecord } from "../Reminder.js"
import { idOf } from "../Reminder.js"
import * as ReminderMessage from "../ReminderMessage.js"
import { isOnce } from "../ReminderRule.js"
import * as RuleInput from "../RuleInput.js"
import type { NewReminder, ReminderChanges, Schedule } from "../Schedule.js"
import type { ScheduleError } from "../ScheduleError.js"
import { ScheduleChange } from "../ScheduleEvents.js"
import type { Reminder, ScheduleState } from "../ScheduleLog.js"
import * as ScheduleLog from "../ScheduleLog.js"
import { dueAlarm, inboxAlarm } from "./alarms.js"
import type { Attached, Decision, Refusal, Shared } from "./service.js"
import { change, corrupt, findActive, notFound, readId, readText, refused } from "./service.js"
import { viewOf } from "./view.js"

type Service = (typeof Schedule)["Service"]

const changedAt = (reminder: Reminder, shared: Shared, now: Instant) =>
  viewOf(reminder, { now, delivery: shared.settings.delivery, waitsFor: undefined })

export const create = (shared: Shared): Service["create"] =>
  Effect.fn("Schedule.create")((session: SessionId, given: NewReminder) =>
    Effect.gen(function* () {
      const { settings } = shared
      const title = yield* readText(settings, "title", given.title)
      const prompt = yield* readText(settings, "prompt", given.prompt)
      return yield* change(shared, session, (state, now) =>
        Effect.gen(function* () {
          const parsed = yield* RuleInput.parse(given.rule, { now, ...settings })
          yield* hasRoom(shared, state)
          const { value: last } = yield* shared.projections.get(session, ScheduleLog.lastNumber)
          const id = idOf(Math.max(last, state.last) + 1)
          const record: ReminderRecord = { id, title, prompt, ...parsed, createdAt: now }
          return {
            change: { version: 1, operation: "create", record } as const,
            value: {
              reminder: changedAt({ ...record, paused: false }, shared, now),
              twin: ScheduleLog.twinOf(state, record)?.id
            }
          }
        })
      )
    })
  )

const hasRoom = ({ settings }: Shared, state: ScheduleState): Either.Either<void, ScheduleError> => {
  const count = ScheduleLog.size(state)
  return count < settings.maxActive
    ? Either.right(undefined)
    : Either.left(
        refused(
          "too_many_reminders",
          `the session has ${count} active reminders, as many as it may; delete one that is no longer needed first`
        )
      )
}

/** A change of a reminder that is not over. */
const changeOne = (
  shared: Shared,
  session: SessionId,
  given: string,
  decide: (reminder: Reminder, now: Instant) => Effect.Effect<Decision<Reminder>, Refusal>
) =>
  Effect.flatMap(readId(given), (id) =>
    change(shared, session, (state, now) =>
      Effect.flatMap(findActive(state, id), (reminder) =>
        Effect.map(decide(reminder, now), (decision) => ({
          ...decision,
          value: changedAt(decision.value, shared, now)
        }))
      )
    )
  )

export const update = (shared: Shared): Service["update"] =>
  Effect.fn("Schedule.update")((session: SessionId, given: string, changes: ReminderChanges) =>
    changeOne(shared, session, given, (reminder, now) =>
      Effect.gen(function* () {
        const { settings } = shared
        if (changes.title === undefined && changes.prompt === undefined && changes.rule === undefined) {
          return yield* refused("invalid_rule", "expected a new title, prompt or rule, got nothing to change")
        }
        const timing = changes.rule === undefined ? reminder : yield* newRule(shared, changes.rule, now)
        const { paused, ...before } = reminder
        const record: ReminderRecord = {
          ...before,
          title: changes.title === undefined ? before.title : yield* readText(settings, "title", changes.title),
          prompt: changes.prompt === undefined ? before.prompt : yield* readText(settings, "prompt", changes.prompt),
          rule: timing.rule,
          scheduledAt: timing.scheduledAt
        }
        return { change: { version: 1, operation: "update", record } as const, value: { ...record, paused } }
      })
    )
  )

const newRule = ({ settings }: Shared, rule: unknown, now: Instant): Either.Either<RuleInput.Parsed, Refusal> =>
  Either.filterOrLeft(
    RuleInput.parse(rule, { now, ...settings }),
    (parsed) => !("after_seconds" in parsed.rule),
    (): Refusal =>
      refused(
        "invalid_rule",
        "after_seconds: a delay counts from the creation and can't be given anew; create another reminder"
      )
  )

export const remove = (shared: Shared): Service["delete"] =>
  Effect.fn("Schedule.delete")((session: SessionId, given: string) =>
    Effect.flatMap(readId(given), (id) =>
      change(shared, session, (state) => {
        const known = ScheduleLog.find(state, id) !== undefined || ScheduleLog.isFinished(state, id)
        return known
          ? Effect.succeed({ change: { version: 1, operation: "delete", id } as const, value: true })
          : Effect.fail(notFound(id))
      })
    ).pipe(
      Effect.catchIf(
        (error) => error._tag === "ScheduleError" && error.code === "schedule_not_found",
        () => Effect.succeed(false)
      )
    )
  )

export const pause = (shared: Shared): Service["pause"] =>
  Effect.fn("Schedule.pause")((session: SessionId, given: string) =>
    changeOne(shared, session, given, (reminder) =>
      reminder.paused
        ? Effect.fail(refused("invalid_rule", `${reminder.id} is paused already`))
        : Effect.succeed({
            change: { version: 1, operation: "pause", id: reminder.id } as const,
            value: { ...reminder, paused: true }
          })
    )
  )

export const resume = (shared: Shared): Service["resume"] =>
  Effect.fn("Schedule.resume")((session: SessionId, given: string) =>
    changeOne(shared, session, given, (reminder, now) =>
      Effect.gen(function* () {
        if (!reminder.paused) return yield* refused("invalid_rule", `${reminder.id} is not paused`)
        const scheduledAt = yield* onward(reminder, now)
        return {
          change: { version: 1, operation: "resume", id: reminder.id, scheduledAt } as const,
          value: { ...reminder, paused: false, scheduledAt }
        }
      })
    )
  )

/** The occurrence that a reminder goes on with: what came due while it was paused is skipped. */
const onward = (reminder: Reminder, now: Instant): Either.Either<Instant, Refusal> => {
  if (Instants.toMillis(reminder.scheduledAt) > Instants.toMillis(now)) return Either.right(reminder.scheduledAt)
  const over = refused(
    "not_future",
    `${reminder.id} came due at ${reminder.scheduledAt}, while it was paused; give it a new rule, or delete it`
  )
  if (isOnce(reminder.rule)) return Either.left(over)
  return Either.flatMap(Occurrences.next(reminder.rule, { after: now, anchor: reminder.scheduledAt }), (next) =>
    Either.fromOption(next, (): Refusal => over)
  )
}

export const reindex =
  (shared: Shared): Service["reindex"] =>
  (session) =>
    shared.projections.decide(session, ScheduleLog.reminders, ({ value: state }) =>
      Effect.gen(function* () {
        const { value: inbox } = yield* shared.projections.get(session, AgentLog.state)
        const waits = [...inbox.nextTurn, ...inbox.nextStep].some(ReminderMessage.isReminder)
        const alarms = [dueAlarm(state), inboxAlarm(waits ? yield* Instants.now : null)]
        return { events: [], alarms, value: undefined }
      })
    )

export const runNow = (shared: Shared): Service["runNow"] =>
  Effect.fn("Schedule.runNow")((session: SessionId, given: string) =>
    Effect.flatMap(readId(given), (id) =>
      Effect.suspend(() => {
        const attached = shared.attached.get(session)
        return attached === undefined ? runCold(shared, session, id) : runLive(shared, attached, id)
      })
    )
  )

/** Through the agent, which opens the turn. */
const runLive = (shared: Shared, attached: Attached, id: Reminder["id"]): ReturnType<Service["runNow"]> =>
  Effect.gen(function* () {
    const { agent, signal } = attached
    const { asOfSeq, value: state } = yield* shared.projections.get(agent.id, ScheduleLog.reminders)
    const inbox = yield* shared.projections.get(agent.id, AgentLog.state)
    if (inbox.asOfSeq !== asOfSeq) return yield* runLive(shared, attached, id)
    const now = yield* Instants.now
    const { composed, reminder } = yield* runNowMessage(agent.id, state, inbox.value, id, now)
    const sent = agent.followup(composed.message, {
      events: [runNowEvent(id)],
      replaces: composed.replaces,
      alarms: [inboxAlarm(now)],
      expectedSeq: asOfSeq
    })
    const stored = yield* Effect.as(sent, true).pipe(
      Effect.catchTag("SessionConflict", () => Effect.succeed(false)),
      Effect.catchTag("AgentClosed", () => Effect.succeed(undefined))
    )
    if (stored === undefined) return yield* runCold(shared, agent.id, id)
    if (!stored) return yield* runLive(shared, attached, id)
    yield* signal
    return changedAt(reminder, shared, now)
  })

const runNowEvent = (id: Reminder["id"]) => ScheduleChange.make({ version: 1, operation: "run-now", id })

const runNowMessage = (
  session: SessionId,
  state: ScheduleState,
  inbox: AgentLog.AgentState,
  id: Reminder["id"],
  now: Instant
): Either.Either<{ readonly composed: ReminderMessage.Composed; readonly reminder: Reminder }, ScheduleError> =>
  Either.map(state.faultCount > 0 ? Either.left(corrupt(session, state)) : findActive(state, id), (reminder) => ({
    reminder,
    composed: ReminderMessage.compose(
      [{ reminder, occurrenceAt: now, missed: 0, byHand: true }],
      [...inbox.nextTurn, ...inbox.nextStep]
    )
  }))

/** Into the inbox of a session without an agent here: whoever drives it next opens the turn, and its alarm calls for a host. */
const runCold = (shared: Shared, session: SessionId, id: Reminder["id"]): ReturnType<Service["runNow"]> =>
  shared.projections.decide(session, AgentLog.state, ({ value: inbox }) =>
    Effect.gen(function* () {
      const { value: state } = yield* shared.projections.get(session, ScheduleLog.reminders)
      const { value: counters } = yield* shared.projections.get(session, AgentLog.counters)
      const now = yield* Instants.now
      const { composed, reminder } = yield* runNowMessage(session, state, inbox, id, now)
      const stored = { id: AgentLog.messageId(counters.message + 1), ...composed.message }
      const gone = new Set(composed.replaces)
      const discards = (["nextTurn", "nextStep"] as const).flatMap((list) => {
        const ids = inbox[list].filter((message) => gone.has(message.id)).map((message) => message.id)
        return ids.length === 0 ? [] : [AgentEvents.InboxSpliced.make({ list, op: "discard", ids })]
      })
      return {
        events: [
          ...discards,
          AgentEvents.InboxSpliced.make({ list: "nextTurn", op: "insert", messages: [stored] }),
          runNowEvent(id)
        ],
        alarms: [inboxAlarm(now)],
        value: changedAt(reminder, shared, now)
      }
    })
  )
