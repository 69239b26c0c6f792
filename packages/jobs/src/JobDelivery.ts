/**
 * Tells each owner of the ends of its jobs: once each, in one message for all that are pending, waking it within a budget.
 *
 * The obligation is the `job/settle` event itself. A job counts as told once a claimed message names it or a tool's answer showed its
 * terminal status; what is neither told nor waiting in the inbox is composed into one message here, on the condition that the log has
 * not moved on. So nothing is lost and nothing doubled, whatever instant the process dies.
 *
 * @since 0.1.0
 */
import type { Agent, AgentError } from "@afterturn/agent/Agent"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { AgentMessage } from "@afterturn/agent/AgentMessage"
import { AgentExtensions } from "@afterturn/agent/Agents"
import type { Instant } from "@afterturn/session-log/Instant"
import { toMillis } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Option from "effect/Option"
import * as EffectSchedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { JobId } from "./Job.js"
import * as JobEvents from "./JobEvents.js"
import * as JobLog from "./JobLog.js"
import type { NoticedJob } from "./JobNotice.js"
import { compose } from "./JobNotice.js"
import { Jobs } from "./Jobs.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface DeliveryOptions {
  /** `wakeup` opens a turn for an idle owner; `quiet` leaves the notice to whatever turn comes. Default `wakeup`. */
  readonly completionDelivery: "wakeup" | "quiet"
  /** Turns in a row that notices may open before the user speaks again. Default 3. */
  readonly maxConsecutiveWakes: number
  /** Gives one wake back for each of these periods. Default: never. */
  readonly wakeBudgetRefill: Duration.Duration | undefined
  /** How long a notice whose turn failed waits before it may wake the owner again. Default 30 seconds. */
  readonly retryWakeAfter: Duration.Duration
  /**
   * How long an end waits, before it wakes an idle owner of which other jobs run, for further ends to be told in the same turn. Default
   * 100 milliseconds; zero waits for none.
   */
  readonly gatherFor: Duration.Duration
}

/**
 * From settlement to the message in the owner's inbox, in milliseconds.
 *
 * @since 0.1.0
 * @category metrics
 */
export const noticeLatency = Metric.histogram(
  "afterturn_job_notice_latency_ms",
  MetricBoundaries.exponential({ start: 1, factor: 4, count: 10 })
)

interface Delivery {
  readonly agent: Agent
  readonly jobs: Context.Tag.Service<Jobs>
  readonly projections: Context.Tag.Service<Projections>
  readonly options: DeliveryOptions
  readonly signal: Effect.Effect<void>
  /** Wakes that an earlier agent of this session spent in this process: one that replaces it starts with a full budget. */
  spentBefore: number
  /** Jobs whose notice has woken the owner here. Waiting again, it comes from a turn that failed. */
  readonly woken: Set<string>
  /** When a notice that comes from a failed turn may wake again, in milliseconds since the epoch. */
  retryAt: number | undefined
}

/**
 * Delivers for every agent of the composition.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<DeliveryOptions>
): Layer.Layer<never, never, Jobs | AgentExtensions | Projections> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const extensions = yield* AgentExtensions
      const jobs = yield* Jobs
      const projections = yield* Projections
      const settings: DeliveryOptions = {
        completionDelivery: "wakeup",
        maxConsecutiveWakes: 3,
        wakeBudgetRefill: undefined,
        retryWakeAfter: Duration.seconds(30),
        gatherFor: Duration.millis(100),
        ...options
      }
      const seen = new Set<SessionId>()
      yield* extensions.register((agent) =>
        Effect.gen(function* () {
          const spentBefore = seen.has(agent.id) ? yield* wakesSpent(projections, agent.id) : 0
          seen.add(agent.id)
          yield* run({ agent, jobs, projections, options: settings, spentBefore })
        })
      )
    })
  )

/** Without the ledger nothing can be delivered; the fold's own failure is reported by whoever reads it for more than a number. */
const wakesSpent = (projections: Context.Tag.Service<Projections>, id: SessionId): Effect.Effect<number> =>
  projections.get(id, JobLog.ledger).pipe(
    Effect.map(({ value }) => value.wakes),
    Effect.catchAll((error) => Effect.as(Effect.logWarning("the wake budget could not be read", error), 0))
  )

/**
 * One fiber an agent. It looks again whenever something may have changed; signals that come while it looks make it look once more.
 */
const run = (options: Omit<Delivery, "signal" | "woken" | "retryAt">) =>
  Effect.gen(function* () {
    const signals = yield* Mailbox.make<void>({ capacity: 1, strategy: "dropping" })
    const signal = Effect.asVoid(signals.offer(undefined))
    const delivery: Delivery = { ...options, signal, woken: new Set(), retryAt: undefined }
    const { agent, jobs } = delivery
    const watch = <A>(changes: Stream.Stream<A>) => Effect.forkScoped(Stream.runForEach(changes, () => signal))
    yield* watch(Stream.filter(jobs.completions, ({ owner }) => owner === agent.id))
    yield* watch(Stream.filter(agent.statusChanges, (status) => status === "idle"))
    if (delivery.options.wakeBudgetRefill !== undefined) {
      yield* watch(Stream.fromSchedule(EffectSchedule.spaced(delivery.options.wakeBudgetRefill)))
    }
    yield* signal
    yield* Effect.forkScoped(Stream.runForEach(Mailbox.toStream(signals), () => look(delivery)))
  })

/** What the store refuses for now is tried again; an agent that closed leaves the rest to the next resume. */
const look = (delivery: Delivery): Effect.Effect<void, never, Scope.Scope> =>
  deliver(delivery).pipe(
    Effect.retry({
      schedule: EffectSchedule.exponential("100 millis").pipe(
        EffectSchedule.union(EffectSchedule.spaced("30 seconds"))
      ),
      while: (error) => error._tag === "SessionStoreError"
    }),
    Effect.catchAll((error) =>
      error._tag === "AgentClosed" ? Effect.void : Effect.logWarning("a job notice waits for the next resume", error)
    )
  )

const deliver = (delivery: Delivery, hasGathered = false): Effect.Effect<void, AgentError | ReadError, Scope.Scope> =>
  Effect.suspend(() =>
    Effect.catchTag(attempt(delivery, hasGathered), "SessionConflict", () => deliver(delivery, hasGathered))
  )

const attempt = Effect.fnUntraced(function* (
  delivery: Delivery,
  hasGathered: boolean
): Effect.fn.Return<void, AgentError | ReadError, Scope.Scope> {
  const { agent, options, projections } = delivery
  const { asOfSeq, value: ledger } = yield* projections.get(agent.id, JobLog.ledger)
  const inbox = yield* projections.get(agent.id, AgentLog.state)
  // The two folds must show the same instant: the insert below is conditional on it.
  if (inbox.asOfSeq !== asOfSeq) return yield* deliver(delivery, hasGathered)
  const waiting = [...inbox.value.nextStep, ...inbox.value.nextTurn].filter(isNotice)
  const named = new Set(waiting.flatMap(({ source }) => source.jobs))
  const busy = (yield* agent.status) === "running"
  const fresh = yield* untold(delivery, ledger, named, busy)
  const ids = [...named, ...fresh.map(({ id }) => id)]
  const wakeup = options.completionDelivery === "wakeup" && ids.some((id) => !isCalledOff(ledger, id))
  const mayWake = wakeup && (yield* wakesLeft(delivery, ledger)) > 0
  if (fresh.length > 0 && mayWake && !busy && !hasGathered && mayGather(delivery, ledger)) {
    yield* Effect.sleep(options.gatherFor)
    return yield* deliver(delivery, true)
  }
  const stranded = !busy && inbox.value.nextStep.some(isNotice)
  const mutes = wakeup && !mayWake && !busy && !ledger.muted && (stranded || fresh.length > 0)
  const wakesAgain = stranded && mayWake && (yield* mayWakeAgain(delivery, named))
  if (fresh.length === 0 && !wakesAgain && !mutes) return
  const insert = !mayWake ? agent.inject : busy ? agent.steer : agent.followup
  yield* insert(compose(ids.map((id) => noticed(ledger, id))), {
    replaces: waiting.map(({ id }) => id),
    expectedSeq: asOfSeq,
    events: mutes ? [mutedEvent(options, ids)] : []
  })
  if (mayWake) for (const id of ids) delivery.woken.add(id)
  yield* measure(fresh)
})

/** Only what still runs can end together with what has ended: a lone end is told at once. */
const mayGather = ({ options }: Delivery, { open }: JobLog.Ledger): boolean =>
  Duration.toMillis(options.gatherFor) > 0 && Object.keys(open).length > 0

/**
 * Whether a notice that waits may wake its owner now. One whose turn failed waits a while, for what failed it would fail the next one
 * too.
 */
const mayWakeAgain = (delivery: Delivery, named: ReadonlySet<string>): Effect.Effect<boolean, never, Scope.Scope> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    if ([...named].some((id) => !delivery.woken.has(id))) return Effect.succeed(true)
    if (delivery.retryAt !== undefined) {
      const isDue = now >= delivery.retryAt
      if (isDue) delivery.retryAt = undefined
      return Effect.succeed(isDue)
    }
    const wait = delivery.options.retryWakeAfter
    delivery.retryAt = now + Duration.toMillis(wait)
    return Effect.as(Effect.forkScoped(Effect.delay(delivery.signal, wait)), false)
  })

const isNotice = (
  message: AgentMessage
): message is AgentMessage & {
  readonly source: { readonly kind: "job-notice"; readonly jobs: ReadonlyArray<string> }
} => message.source.kind === "job-notice"

/**
 * The ends that nobody has been told of and no waiting message names. One that somebody collects is left to the answer that will show
 * it, while the turn of that call runs.
 */
const untold = (
  delivery: Delivery,
  ledger: JobLog.Ledger,
  named: ReadonlySet<string>,
  busy: boolean
): Effect.Effect<ReadonlyArray<JobLog.FinishedJob>> =>
  Effect.filter(
    JobLog.untoldJobs(ledger).filter(({ id }) => !named.has(id)),
    ({ id }) =>
      busy
        ? Effect.map(delivery.jobs.isForeground(JobId.make(id), delivery.agent.id), (collected) => !collected)
        : Effect.succeed(true)
  )

/** Whoever cancelled the call that waited for a job hears of what went wrong with its end, and is not woken for it. */
const isCalledOff = (ledger: JobLog.Ledger, id: string): boolean =>
  Option.exists(HashMap.get(ledger.untold, id), ({ calledOff }) => calledOff)

const noticed = (ledger: JobLog.Ledger, id: string): NoticedJob => ({
  id,
  facts: Option.getOrUndefined(HashMap.get(ledger.untold, id)) ?? ledger.recent.find((job) => job.id === id)
})

/** Wakes spent since the user last spoke, less those given back since the last one. */
const wakesLeft = (delivery: Delivery, ledger: JobLog.Ledger): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const { maxConsecutiveWakes, wakeBudgetRefill } = delivery.options
    // The user has spoken since: what was spent before that no longer counts.
    if (ledger.wakes < delivery.spentBefore) delivery.spentBefore = 0
    const refilled =
      wakeBudgetRefill === undefined || ledger.lastWakeAt === null
        ? 0
        : Math.floor((now - toMillis(ledger.lastWakeAt)) / Duration.toMillis(wakeBudgetRefill))
    return maxConsecutiveWakes - Math.max(0, ledger.wakes - delivery.spentBefore - refilled)
  })

const mutedEvent = (options: DeliveryOptions, ids: ReadonlyArray<string>) =>
  JobEvents.JobWakesMuted.make({ budget: options.maxConsecutiveWakes, pending: ids.map((id) => JobId.make(id)) })

const measure = (fresh: ReadonlyArray<{ readonly finishedAt: Instant }>): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.forEach(fresh, ({ finishedAt }) => Metric.update(noticeLatency, Math.max(0, now - toMillis(finishedAt))), {
      discard: true
    })
  )
