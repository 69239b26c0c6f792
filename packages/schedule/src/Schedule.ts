/**
 * The service of durable reminders: make, list, change and delete them. They come back to their session as turns of its agent
 * (`ReminderDelivery`), also where nobody drives it (`ReminderHost`).
 *
 * @since 0.1.0
 */
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import type { Instant } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { AppendError, ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { InvalidRule } from "./InvalidRule.js"
import * as Mutations from "./internal/mutations.js"
import * as Queries from "./internal/queries.js"
import type { Attached, Shared } from "./internal/service.js"
import type { ReminderId, ReminderRecord } from "./Reminder.js"
import type { ReminderHistory } from "./ReminderHistory.js"
import type { Previewed } from "./RulePreview.js"
import type { DeliveryMode } from "./ScheduleConfig.js"
import { ScheduleConfig } from "./ScheduleConfig.js"
import type { ScheduleError } from "./ScheduleError.js"
import { ScheduleChange } from "./ScheduleEvents.js"
import type { ScheduleFault } from "./ScheduleLog.js"

/**
 * `overdue`: its time is over and it was not delivered yet.
 *
 * @since 0.1.0
 * @category models
 */
export type ReminderState = "scheduled" | "overdue" | "paused"

/**
 * A reminder as it is shown: `words` is its rule in words, `localTime` its `scheduledAt` where the rule names a zone, `upcoming` the
 * first of those that are still to come, `waitsFor` why one that is overdue or paused is not delivered, `problem` why its rule cannot
 * be evaluated in this process.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReminderView extends ReminderRecord {
  readonly words: string
  readonly state: ReminderState
  readonly delivery: DeliveryMode
  readonly localTime?: string
  readonly upcoming: ReadonlyArray<Previewed>
  readonly waitsFor?: string
  readonly problem?: string
}

/**
 * The reminders of a session in the order of their creation, and what of its log could not be taken.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReminderList {
  readonly reminders: ReadonlyArray<ReminderView>
  readonly faults: ReadonlyArray<ScheduleFault>
}

/**
 * What is wanted: `rule` is an object with exactly one of the six rules, of unknown origin.
 *
 * @since 0.1.0
 * @category models
 */
export interface NewReminder {
  readonly title: string
  readonly prompt: string
  readonly rule: unknown
}

/**
 * What is to be different. Absent: it stays.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReminderChanges {
  readonly title?: string | undefined
  readonly prompt?: string | undefined
  readonly rule?: unknown
}

/**
 * What a session's reminders need: how many are due, the next instant, how many messages of theirs wait for a turn.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pending {
  readonly due: number
  readonly next: Instant | undefined
  readonly waiting: number
}

/**
 * Why a change may be refused.
 *
 * @since 0.1.0
 * @category errors
 */
export type ChangeError = ScheduleError | InvalidRule | ReadError | AppendError

/**
 * @since 0.1.0
 * @category tags
 */
export class Schedule extends Context.Tag("@afterturn/schedule/Schedule")<
  Schedule,
  {
    /** Stores a reminder; durable when this returns. `twin` is an active one that says the same under the same rule. */
    readonly create: (
      session: SessionId,
      reminder: NewReminder
    ) => Effect.Effect<{ readonly reminder: ReminderView; readonly twin: ReminderId | undefined }, ChangeError>
    /** Those that are not over. */
    readonly list: (session: SessionId) => Effect.Effect<ReminderList, ReadError>
    readonly get: (session: SessionId, id: string) => Effect.Effect<ReminderView, ScheduleError | ReadError>
    /**
     * Changes a reminder in place. A new rule counts from now and drops an overdue occurrence that was not delivered yet; a delay
     * can't be given anew.
     */
    readonly update: (
      session: SessionId,
      id: string,
      changes: ReminderChanges
    ) => Effect.Effect<ReminderView, ChangeError>
    /** Also one that is over, once; `false`: there is none. A message that waits already stays. */
    readonly delete: (session: SessionId, id: string) => Effect.Effect<boolean, ChangeError>
    /** What comes due while it is paused is skipped. */
    readonly pause: (session: SessionId, id: string) => Effect.Effect<ReminderView, ChangeError>
    /** Goes on with the first occurrence after now; delivers nothing by itself. */
    readonly resume: (session: SessionId, id: string) => Effect.Effect<ReminderView, ChangeError>
    /** Hands it to the inbox now, beside its rule. Of a session that nobody drives the next driver opens the turn. */
    readonly runNow: (session: SessionId, id: string) => Effect.Effect<ReminderView, ChangeError>
    /** All that the log says of a reminder, also of one that is over or deleted. */
    readonly history: (session: SessionId, id: string) => Effect.Effect<ReminderHistory, ScheduleError | ReadError>
    /** The coming occurrences of a rule of unknown origin; nothing is stored. `from` defaults to now, `count` to 3. */
    readonly preview: (
      rule: unknown,
      options?: { readonly from?: Instant; readonly count?: number }
    ) => Effect.Effect<ReadonlyArray<Previewed>, InvalidRule>
    readonly pending: (session: SessionId) => Effect.Effect<Pending, ReadError>
    /** Sets the alarms of a session anew from its log: an import brings none, and no host finds it before. */
    readonly reindex: (session: SessionId) => Effect.Effect<void, ReadError | AppendError>
    /** For the delivery: makes an agent of this process known for as long as the scope is open. */
    readonly attach: (agent: Attached) => Effect.Effect<void, never, Scope.Scope>
    /** Waits until the agent of a session has delivered what is due; at once where none is attached. */
    readonly quiet: (session: SessionId) => Effect.Effect<void>
  }
>() {}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Schedule, never, ScheduleConfig | SessionLog | Projections | EventTypes.EventTypes> =
  Layer.effect(
    Schedule,
    Effect.gen(function* () {
      const shared: Shared = {
        settings: yield* ScheduleConfig,
        log: yield* SessionLog,
        projections: yield* Projections,
        attached: new Map()
      }
      return {
        create: Mutations.create(shared),
        update: Mutations.update(shared),
        delete: Mutations.remove(shared),
        pause: Mutations.pause(shared),
        resume: Mutations.resume(shared),
        runNow: Mutations.runNow(shared),
        list: Queries.list(shared),
        get: Queries.get(shared),
        history: Queries.history(shared),
        preview: Queries.preview(shared),
        pending: Queries.pending(shared),
        reindex: Mutations.reindex(shared),
        attach: attach(shared),
        quiet: (session) => Effect.suspend(() => shared.attached.get(session)?.quiet ?? Effect.void)
      }
    })
  ).pipe(
    // With the agent's events, so that a session can be read and changed where no agent runs.
    Layer.provide(EventTypes.layerRegister(ScheduleChange, ...AgentEvents.all))
  )

const attach = (shared: Shared) => (attached: Attached) =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => void shared.attached.set(attached.agent.id, attached)),
      () =>
        Effect.sync(() => {
          if (shared.attached.get(attached.agent.id) === attached) shared.attached.delete(attached.agent.id)
        })
    )
  )
