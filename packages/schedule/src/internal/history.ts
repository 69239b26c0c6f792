import * as AgentEvents from "@afterturn/agent/AgentEvents"
import { dataOf } from "@afterturn/agent/AgentLog"
import type { Instant } from "@afterturn/session-log/Instant"
import { now, toMillis } from "@afterturn/session-log/Instant"
import type { SessionEvent, SessionId } from "@afterturn/session-log/SessionEvent"
import { seedLength } from "@afterturn/session-log/SessionEvent"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Stream from "effect/Stream"
import type { ReminderId } from "../Reminder.js"
import type { DeliveredOccurrence, ReminderEvent } from "../ReminderHistory.js"
import { isReminder } from "../ReminderMessage.js"
import type { Schedule } from "../Schedule.js"
import type { ScheduleChangeData } from "../ScheduleEvents.js"
import { ScheduleChange } from "../ScheduleEvents.js"
import * as ScheduleLog from "../ScheduleLog.js"
import type { Shared } from "./service.js"
import { refused } from "./service.js"
import { viewOf } from "./view.js"

type Mutable<A> = { -readonly [K in keyof A]: A[K] }

interface Entry extends Omit<Mutable<DeliveredOccurrence>, "turns"> {
  turns: Array<number>
  /** The message that carries it, as long as it is known. */
  message: string | undefined
}

/** What is known on the way through a session's events. */
class Reader {
  readonly changes: Array<ReminderEvent> = []
  readonly entries: Array<Entry> = []
  private turn = 0
  /** The message that the newest insert put into the inbox for this reminder: a change in the same append is of it. */
  private inserted: { readonly message: string; readonly occurrenceAt: Instant } | undefined
  private claimed = new Set<string>()
  /** What the newest splice took out: a message that is inserted right after it takes their place. */
  private discarded: ReadonlySet<string> = new Set()

  private readonly id: ReminderId

  constructor(id: ReminderId) {
    this.id = id
  }

  add(event: SessionEvent): void {
    switch (event.type) {
      case ScheduleChange.type:
        return Either.match(ScheduleChange.decode(event), {
          // An event that can't be read is no part of anyone's history.
          onLeft: () => undefined,
          onRight: (change) => this.change(change, event)
        })
      case AgentEvents.InboxSpliced.type:
        return this.splice(dataOf(AgentEvents.InboxSpliced, event))
      case AgentEvents.TurnStart.type:
        this.turn = dataOf(AgentEvents.TurnStart, event).turn
        return
      case AgentEvents.UserMessage.type:
        return this.claim(dataOf(AgentEvents.UserMessage, event).id)
      case AgentEvents.AssistantMessage.type:
        return this.answer(event.time)
      case AgentEvents.TurnEnd.type:
        this.claimed.clear()
        return
    }
  }

  private change(change: ScheduleChangeData, { seq, time }: SessionEvent): void {
    if (("record" in change ? change.record.id : change.id) !== this.id) return
    if (change.operation === "dispatch") {
      const { acceptedAt, missed, occurrenceAt } = change
      return this.dispatched({ occurrenceAt, decidedAt: acceptedAt, missed, byHand: false })
    }
    if (change.operation === "run-now") {
      const occurrenceAt = this.inserted?.occurrenceAt ?? time
      return this.dispatched({ occurrenceAt, decidedAt: occurrenceAt, missed: 0, byHand: true })
    }
    const record = "record" in change ? change.record : undefined
    this.changes.push({ seq, time, operation: change.operation, record })
  }

  private dispatched(given: Pick<Entry, "occurrenceAt" | "decidedAt" | "missed" | "byHand">): void {
    this.entries.push({
      ...given,
      lateBySeconds: (toMillis(given.decidedAt) - toMillis(given.occurrenceAt)) / 1000,
      turns: [],
      deliveredAt: undefined,
      outcome: "waiting",
      message: this.inserted?.message
    })
  }

  private splice(change: ReturnType<typeof spliced>): void {
    if (change.op === "insert") for (const message of change.messages ?? []) this.insert(message)
    // What a newer message takes over goes with it; its own occurrence of this reminder does not.
    if (change.op === "discard") this.discarded = new Set(change.ids)
  }

  private insert(message: Parameters<typeof isReminder>[0]): void {
    if (!isReminder(message)) return
    const own = message.source.occurrences.find(({ id }) => id === this.id)
    for (const entry of this.entries) {
      if (entry.message === undefined || !this.discarded.has(entry.message)) continue
      const goesAlong = own !== undefined && own.occurrenceAt === entry.occurrenceAt
      entry.message = goesAlong ? message.id : undefined
      if (!goesAlong) entry.outcome = "coalesced"
    }
    this.discarded = new Set()
    this.inserted = own === undefined ? undefined : { message: message.id, occurrenceAt: own.occurrenceAt }
  }

  private claim(message: string): void {
    for (const entry of this.entries) {
      if (entry.message !== message || entry.outcome !== "waiting") continue
      entry.turns.push(this.turn)
      this.claimed.add(message)
    }
  }

  private answer(time: Instant): void {
    for (const entry of this.entries) {
      if (entry.outcome !== "waiting" || entry.message === undefined || !this.claimed.has(entry.message)) continue
      entry.outcome = "delivered"
      entry.deliveredAt = time
    }
    this.claimed.clear()
  }
}

const spliced = (event: SessionEvent) => dataOf(AgentEvents.InboxSpliced, event)

const types: ReadonlyArray<string> = [
  ScheduleChange.type,
  AgentEvents.InboxSpliced.type,
  AgentEvents.TurnStart.type,
  AgentEvents.TurnEnd.type,
  AgentEvents.UserMessage.type,
  AgentEvents.AssistantMessage.type
]

/** Of a session's own events: those of the one that it was forked from are not its reminders. */
export const readHistory = (
  shared: Shared,
  session: SessionId,
  id: ReminderId
): ReturnType<(typeof Schedule)["Service"]["history"]> =>
  Effect.gen(function* () {
    const header = yield* shared.log.header(session)
    const reader = new Reader(id)
    const events = shared.log.read(session, { fromSeq: seedLength(header), types })
    yield* Stream.runForEach(events, (event) => Effect.sync(() => reader.add(event)))
    if (reader.changes.length === 0) {
      return yield* refused("schedule_not_found", `the session never had a reminder ${id}`)
    }
    const { value: state } = yield* shared.projections.get(session, ScheduleLog.reminders)
    const present = ScheduleLog.find(state, id)
    const options = { now: yield* now, delivery: shared.settings.delivery, waitsFor: undefined }
    return {
      id,
      changes: reader.changes,
      occurrences: reader.entries.map(({ message: _, ...entry }) => entry),
      now: present && viewOf(present, options)
    }
  })
