/**
 * Delivers the reminders of each agent that lives here: one fiber sleeps until the earliest is due and hands it to the inbox.
 *
 * An occurrence and its message are one append, on the condition that the log has not moved on, so that nothing is lost and nothing is
 * delivered twice whatever instant the process dies at. The message waits in the inbox until a turn that carried it to the model has
 * ended. Nothing comes early: the clock is read again after each sleep, and no sleep is long.
 *
 * @since 0.1.0
 */
import type { Agent, AgentError } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { AgentMessage } from "@afterturn/agent/AgentMessage"
import { AgentExtensions } from "@afterturn/agent/Agents"
import * as Instants from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Stream from "effect/Stream"
import { dueAlarm, dueKey, inboxAlarm, inboxKey, movedAlarms } from "./internal/alarms.js"
import type { Broken, Dispatch } from "./internal/due.js"
import { dispatchOf, firstTarget, nextGroup } from "./internal/due.js"
import * as ReminderMessage from "./ReminderMessage.js"
import { Schedule } from "./Schedule.js"
import type { ScheduleSettings } from "./ScheduleConfig.js"
import { ScheduleConfig } from "./ScheduleConfig.js"
import { ScheduleChange } from "./ScheduleEvents.js"
import type { ScheduleState } from "./ScheduleLog.js"
import * as ScheduleLog from "./ScheduleLog.js"

/**
 * From the instant at which a reminder was due to its message in the inbox, in milliseconds.
 *
 * @since 0.1.0
 * @category metrics
 */
export const reminderLateness = Metric.histogram(
  "afterturn_reminder_lateness_ms",
  MetricBoundaries.exponential({ start: 1, factor: 4, count: 12 })
)

interface Services {
  readonly schedule: Context.Tag.Service<Schedule>
  readonly settings: ScheduleSettings
  readonly log: Context.Tag.Service<SessionLog>
  readonly projections: Context.Tag.Service<Projections>
  readonly alarms: Context.Tag.Service<SessionAlarms>
}

interface Delivery extends Services {
  readonly agent: Agent
  /** Open when something may have changed. */
  readonly latch: Effect.Latch
  /** Who waits for a look that finds nothing to do. Each look answers those that asked before it began. */
  readonly asking: Set<Deferred.Deferred<void>>
  readonly broken: Broken
  /** Whether the alarm for messages that wait is set. */
  armed: boolean
  /** Failures in a row of the store. */
  failures: number
  /** When messages that a failed turn left behind may open another one. */
  retry: { readonly attempt: number; readonly at: number } | undefined
}

/**
 * Delivers for every agent of the composition.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<
  never,
  never,
  Schedule | ScheduleConfig | AgentExtensions | SessionLog | Projections | SessionAlarms
> = Layer.effectDiscard(
  Effect.gen(function* () {
    const services: Services = {
      schedule: yield* Schedule,
      settings: yield* ScheduleConfig,
      log: yield* SessionLog,
      projections: yield* Projections,
      alarms: yield* SessionAlarms
    }
    const extensions = yield* AgentExtensions
    yield* extensions.register((agent) => begin(services, agent))
  })
)

const begin = (services: Services, agent: Agent) =>
  Effect.gen(function* () {
    const delivery: Delivery = {
      ...services,
      agent,
      latch: Effect.unsafeMakeLatch(true),
      asking: new Set(),
      broken: new Map(),
      armed: false,
      failures: 0,
      retry: undefined
    }
    yield* Effect.addFinalizer(() => leave(delivery))
    yield* services.schedule.attach({
      agent,
      signal: Effect.asVoid(delivery.latch.open),
      quiet: quiet(delivery)
    })
    yield* Effect.forkScoped(Stream.runForEach(agent.statusChanges, () => delivery.latch.open))
    yield* Effect.forkScoped(supervised(delivery))
  })

/** Asks for a look that begins from now on, and waits for one that finds nothing to do. */
const quiet = ({ asking, latch }: Delivery): Effect.Effect<void> =>
  Effect.flatMap(Deferred.make<void>(), (found) =>
    Effect.ensuring(
      Effect.suspend(() =>
        Effect.zipRight(
          Effect.zipRight(
            Effect.sync(() => asking.add(found)),
            latch.open
          ),
          Deferred.await(found)
        )
      ),
      Effect.sync(() => asking.delete(found))
    )
  )

/** A defect of one look must not end all later ones. */
const supervised = (delivery: Delivery): Effect.Effect<void> =>
  // Nothing is lost: it is logged, and what is due is still in the log.
  Effect.catchAllCause(Effect.zipRight(setAlarms(delivery), run(delivery)), (cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause as Cause.Cause<never>)
      : Effect.logError("the delivery of reminders begins anew", cause).pipe(
          Effect.zipRight(Effect.sleep("30 seconds")),
          Effect.zipRight(supervised(delivery))
        )
  )

/** Looks until the agent is gone. */
const run = Effect.fnUntraced(function* (delivery: Delivery) {
  while (true) {
    yield* delivery.latch.close
    const found = yield* Effect.either(look(delivery))
    if (Either.isLeft(found)) {
      const wait = yield* failed(delivery, found.left)
      if (wait === undefined) return
      // Whatever happens meanwhile: the attempt itself makes the agent busy and idle again.
      yield* Effect.sleep(wait)
      continue
    }
    yield* changeWithin(delivery, found.right)
  }
})

/** Waits until something may have changed, at most so many milliseconds or as long as a sleep may last. */
const changeWithin = (delivery: Delivery, wait: number): Effect.Effect<void> => {
  const { latch } = delivery
  if (wait === Infinity) return latch.await
  // One fiber more, where a race would start two at each occurrence.
  const alarm = Effect.zipRight(Effect.sleep(slice(delivery, wait)), latch.open)
  return Effect.flatMap(Effect.fork(alarm), (fiber) => Effect.ensuring(latch.await, Fiber.interrupt(fiber)))
}

const slice = ({ settings }: Delivery, wait: number): number =>
  Math.max(0, Math.min(wait, Duration.toMillis(settings.maxSleep)))

/** Milliseconds until the next attempt; `undefined`: the session is no longer this agent's. */
const failed = (delivery: Delivery, error: AgentError | ReadError): Effect.Effect<number | undefined> => {
  if (error._tag === "AgentClosed" || error._tag === "LeaseLost" || error._tag === "SessionNotFound") {
    return Effect.succeed(undefined)
  }
  const wait = Math.min(30_000, 100 * 2 ** Math.min(delivery.failures++, 10))
  return Effect.as(Effect.logWarning("reminders could not be delivered, they are tried again", error), wait)
}

/** Delivers what is due. Answers how many milliseconds it may sleep. */
const look = Effect.fnUntraced(function* (delivery: Delivery) {
  const { agent, broken, projections } = delivery
  const asking = [...delivery.asking]
  const { value: state } = yield* projections.get(agent.id, ScheduleLog.reminders)
  const now = yield* Clock.currentTimeMillis
  const target = firstTarget(state, broken)
  const busy = (yield* agent.status) === "running"
  if (target !== undefined && target <= now) {
    return yield* agent.wakesItself ? deliverWhenIdle(delivery, busy) : deliverNow(delivery)
  }
  if (busy && agent.wakesItself) return Infinity
  const stranded = yield* agent.wakesItself ? wakeStranded(delivery, now) : Effect.succeed(Infinity)
  delivery.failures = 0
  if (!busy && stranded > 0)
    yield* Effect.forEach(asking, (found) => Deferred.succeed(found, undefined), { discard: true })
  return Math.min(target === undefined ? Infinity : target - now, stranded)
})

/** The end of what keeps the agent busy makes the delivery look again. */
const deliverWhenIdle = Effect.fnUntraced(function* (delivery: Delivery, busy: boolean) {
  const { agent } = delivery
  if (busy) return Infinity
  yield* Effect.catchTag(agent.runMaintenance(deliver(delivery)), "AgentBusy", () => Effect.void)
  delivery.failures = 0
  return (yield* agent.status) === "running" ? Infinity : 0
})

/** Who drives the agent takes the message with an answer: its turn is over only when nothing was called for a while. */
const deliverNow = Effect.fnUntraced(function* (delivery: Delivery) {
  yield* deliver(delivery)
  delivery.failures = 0
  return 0
})

/** All that is due at one instant, a message at a time, each on the reminders as they are then. */
const deliver = Effect.fnUntraced(function* (delivery: Delivery) {
  const { agent, broken, projections, settings } = delivery
  const now = yield* Instants.now
  while (true) {
    const { asOfSeq, value: state } = yield* projections.get(agent.id, ScheduleLog.reminders)
    const inbox = yield* projections.get(agent.id, AgentLog.state)
    // The two folds must show the same instant: the insert below is conditional on it.
    if (inbox.asOfSeq !== asOfSeq) continue
    const group = nextGroup(state, now, settings, broken)
    if (group.length === 0) return
    const dispatches: Array<Dispatch> = []
    for (const reminder of group) {
      const dispatch = dispatchOf(reminder, now)
      if (Either.isRight(dispatch)) dispatches.push(dispatch.right)
      else {
        broken.set(reminder.id, reminder)
        yield* Effect.logWarning(`${reminder.id} waits: its rule cannot be evaluated here`, dispatch.left)
      }
    }
    if (dispatches.length > 0)
      yield* hand(delivery, { state, asOfSeq, now, dispatches, waiting: waitingOf(inbox.value) })
  }
})

const waitingOf = (inbox: AgentLog.AgentState): ReadonlyArray<AgentMessage> => [...inbox.nextTurn, ...inbox.nextStep]

/** One append: the message, what it takes the place of, what the log says of it, and the alarms. */
const hand = (
  delivery: Delivery,
  given: {
    readonly state: ScheduleState
    readonly asOfSeq: number
    readonly now: Instants.Instant
    readonly dispatches: ReadonlyArray<Dispatch>
    readonly waiting: ReadonlyArray<AgentMessage>
  }
): Effect.Effect<void, AgentError> =>
  Effect.suspend(() => {
    const changes = given.dispatches.map(({ change }) => change)
    const after = changes.reduce(
      (state, change) => Either.getOrThrow(ScheduleLog.transition(state, change)),
      given.state
    )
    const { message, replaces } = ReminderMessage.compose(
      given.dispatches.map(({ occurrence }) => occurrence),
      given.waiting
    )
    const alarms = [...movedAlarms(given.state, after), ...(delivery.armed ? [] : [inboxAlarm(given.now)])]
    return delivery.agent
      .followup(message, {
        events: changes.map((change) => ScheduleChange.make(change)),
        replaces,
        alarms,
        expectedSeq: given.asOfSeq
      })
      .pipe(
        Effect.zipRight(measure(given.dispatches)),
        Effect.tap(() =>
          Effect.sync(() => {
            delivery.armed = true
          })
        ),
        // Something else was stored in between: decided anew on what there is then.
        Effect.catchTag("SessionConflict", () => Effect.void)
      )
  })

const measure = (dispatches: ReadonlyArray<Dispatch>): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.forEach(
      dispatches,
      ({ change }) => Metric.update(reminderLateness, Math.max(0, now - Instants.toMillis(change.occurrenceAt))),
      { discard: true }
    )
  )

/**
 * Messages of reminders that wait while the agent is idle come from a turn that failed: after a while they open another. Answers the
 * milliseconds until then, 0 when a turn was asked for.
 */
const wakeStranded = Effect.fnUntraced(function* (delivery: Delivery, now: number) {
  const { agent, projections, settings } = delivery
  const { asOfSeq, value: inbox } = yield* projections.get(agent.id, AgentLog.state)
  const stranded = [...inbox.nextStep, ...inbox.nextTurn].find(ReminderMessage.isReminder)
  if (stranded === undefined) {
    delivery.retry = undefined
    return Infinity
  }
  const retry = delivery.retry ?? { attempt: 0, at: now + retryDelay(settings, 0) }
  delivery.retry = retry
  if (now < retry.at) return retry.at - now
  const { id, ...message } = stranded
  delivery.retry = { attempt: retry.attempt + 1, at: now + retryDelay(settings, retry.attempt + 1) }
  yield* Effect.catchTag(
    agent.steer(message, { replaces: [id], expectedSeq: asOfSeq }),
    "SessionConflict",
    () => Effect.void
  )
  return 0
})

const hour = 3_600_000

const retryDelay = ({ retryAfter }: ScheduleSettings, attempt: number): number =>
  Math.min(Math.max(hour, Duration.toMillis(retryAfter)), Duration.toMillis(retryAfter) * 2 ** Math.min(attempt, 20))

/** Alarms of a session that came by an import, or that an earlier process left behind, are brought in line with its log. */
const setAlarms = Effect.fnUntraced(function* (delivery: Delivery) {
  const { agent, alarms, projections } = delivery
  const set = new Map((yield* alarms.of(agent.id)).map(({ dueAt, key }) => [key, dueAt]))
  delivery.armed = set.has(inboxKey)
  yield* projections.decide(agent.id, ScheduleLog.reminders, ({ value: state }) =>
    Effect.succeed({
      events: [],
      alarms: ScheduleLog.earliest(state) === set.get(dueKey) ? [] : [dueAlarm(state)],
      value: undefined
    })
  )
})

/** The agent leaves: while a message waits the session needs a host, at once or when its turn may be tried again. */
const leave = (delivery: Delivery): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { agent, armed, log, projections, retry } = delivery
    const { value: inbox } = yield* projections.get(agent.id, AgentLog.state)
    const isWaiting = waitingOf(inbox).some(ReminderMessage.isReminder)
    if (!isWaiting && !armed) return
    const dueAt = retry === undefined ? yield* Instants.now : Instants.format(retry.at)
    yield* log.append(agent.id, [], { alarms: [inboxAlarm(isWaiting ? dueAt : null)] })
  }).pipe(
    // An alarm that stays calls a host that finds nothing to do; one that is not moved calls it early.
    Effect.catchAll((error) => Effect.logDebug("the alarm of waiting reminders stays as it was", error))
  )
