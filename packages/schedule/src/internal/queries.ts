import * as AgentLog from "@afterturn/agent/AgentLog"
import { format, now, toMillis } from "@afterturn/session-log/Instant"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import { isReminder } from "../ReminderMessage.js"
import * as RuleInput from "../RuleInput.js"
import * as RulePreview from "../RulePreview.js"
import type { Schedule } from "../Schedule.js"
import type { ScheduleState } from "../ScheduleLog.js"
import * as ScheduleLog from "../ScheduleLog.js"
import { readHistory } from "./history.js"
import type { Shared } from "./service.js"
import { findActive, readId } from "./service.js"
import { viewOf } from "./view.js"

type Service = (typeof Schedule)["Service"]

/** What those that are overdue wait for, the same for all of a session. */
const waitsFor = ({ attached, settings }: Shared, session: SessionId): Effect.Effect<string> =>
  Effect.suspend(() => {
    const live = attached.get(session)
    if (live !== undefined) {
      return Effect.map(live.agent.status, (status) =>
        status === "running" ? "the agent is busy; it comes when that is idle" : "it is about to be delivered"
      )
    }
    return Effect.succeed(
      settings.delivery === "host"
        ? "no agent drives the session here; a host delivers it"
        : "no agent drives the session; it comes when that is resumed"
    )
  })

const viewing = (shared: Shared, session: SessionId) =>
  Effect.gen(function* () {
    const { value: state } = yield* shared.projections.get(session, ScheduleLog.reminders)
    const options = {
      now: yield* now,
      delivery: shared.settings.delivery,
      waitsFor: yield* waitsFor(shared, session)
    }
    return { state, view: (reminder: ScheduleLog.Reminder) => viewOf(reminder, options) }
  })

export const list =
  (shared: Shared): Service["list"] =>
  (session) =>
    Effect.map(viewing(shared, session), ({ state, view }) => ({
      reminders: ScheduleLog.list(state).map(view),
      faults: state.faults
    }))

export const get =
  (shared: Shared): Service["get"] =>
  (session, given) =>
    Effect.flatMap(readId(given), (id) =>
      Effect.flatMap(viewing(shared, session), ({ state, view }) => Effect.map(findActive(state, id), view))
    )

export const history =
  (shared: Shared): Service["history"] =>
  (session, given) =>
    Effect.flatMap(readId(given), (id) => readHistory(shared, session, id))

export const preview =
  (shared: Shared): Service["preview"] =>
  (rule, options) =>
    Effect.gen(function* () {
      const from = options?.from ?? (yield* now)
      const parsed = yield* RuleInput.parse(rule, { now: from, ...shared.settings })
      return yield* RulePreview.preview(parsed.rule, { from, count: options?.count ?? 3, anchor: parsed.scheduledAt })
    })

export const pending =
  (shared: Shared): Service["pending"] =>
  (session) =>
    Effect.gen(function* () {
      const { value: state } = yield* shared.projections.get(session, ScheduleLog.reminders)
      const { value: inbox } = yield* shared.projections.get(session, AgentLog.state)
      return {
        ...duePart(state, toMillis(yield* now)),
        waiting: [...inbox.nextTurn, ...inbox.nextStep].filter(isReminder).length
      }
    })

const duePart = (state: ScheduleState, now: number) => {
  let due = 0
  for (const { scheduledAt } of ScheduleLog.soonest(state)) {
    if (toMillis(scheduledAt) > now) return { due, next: format(toMillis(scheduledAt)) }
    due++
  }
  return { due, next: undefined }
}
