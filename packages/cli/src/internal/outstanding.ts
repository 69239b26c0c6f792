import type { Agent } from "@afterturn/agent/Agent"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentLog from "@afterturn/agent/AgentLog"
import type { Goal } from "@afterturn/goals/Goal"
import { Goals } from "@afterturn/goals/Goals"
import type { JobSnapshot } from "@afterturn/jobs/Job"
import { isTerminal } from "@afterturn/jobs/Job"
import * as JobLog from "@afterturn/jobs/JobLog"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { Reminder } from "@afterturn/schedule/ScheduleLog"
import * as ScheduleLog from "@afterturn/schedule/ScheduleLog"
import { toMillis } from "@afterturn/session-log/Instant"
import { Projections } from "@afterturn/session-log/Projection"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import type { ReadError } from "@afterturn/session-log/SessionLog"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"

/** What a session has under way beside its turns, as of an event. */
export interface Outstanding {
  readonly asOfSeq: number
  readonly running: ReadonlyArray<JobLog.OpenJob>
  /** Jobs whose notice waits for whatever turn comes next: no turn will open for it. */
  readonly held: ReadonlyArray<string>
  /** Whether a notice is about to open a turn. */
  readonly wakes: boolean
  /** The goal that opens the next round, if one does. */
  readonly goal: Goal | undefined
  /** Those that wait for an instant, the soonest first, at most 100. */
  readonly reminders: ReadonlyArray<Reminder>
}

/** Of an agent that is idle. */
export const look = (id: SessionId): Effect.Effect<Outstanding, ReadError, Goals | Projections | SessionLog> =>
  Effect.gen(function* () {
    const projections = yield* Projections
    const { asOfSeq, value: ledger } = yield* projections.get(id, JobLog.ledger)
    const { value: inbox } = yield* projections.get(id, AgentLog.state)
    const waiting = [...inbox.nextStep, ...inbox.nextTurn].flatMap(({ source }) =>
      source.kind === "job-notice" ? source.jobs : []
    )
    const untold = JobLog.untoldJobs(ledger)
      .map(({ id }) => String(id))
      .filter((id) => !waiting.includes(id))
    const wakes = !ledger.muted && (untold.length > 0 || (waiting.length > 0 && !(yield* lastTurnFailed(id, asOfSeq))))
    return {
      asOfSeq,
      running: Object.values(ledger.open),
      held: wakes ? [] : [...new Set([...waiting, ...untold])],
      wakes,
      goal: yield* armedGoal(id),
      reminders: soonest((yield* projections.get(id, ScheduleLog.reminders)).value)
    }
  })

const maxReminders = 100

const soonest = (state: ScheduleLog.ScheduleState): ReadonlyArray<Reminder> => {
  const found: Array<Reminder> = []
  for (const reminder of ScheduleLog.soonest(state)) {
    if (found.length === maxReminders) break
    found.push(reminder)
  }
  return found
}

const armedGoal = (id: SessionId) =>
  Effect.flatMap(Goals, (goals) => goals.get(id)).pipe(
    // Nothing opens a round then.
    Effect.catchTag("CorruptGoalLog", () => Effect.succeed(undefined)),
    Effect.map((goal) => (goal?.activation === "armed" ? goal : undefined))
  )

/** A notice whose turn failed wakes again later: what failed it would fail the next one too, so nobody stays for that. */
const lastTurnFailed = (id: SessionId, toSeq: number) =>
  Effect.flatMap(SessionLog, (log) =>
    Effect.map(
      Stream.runLast(
        log.read(id, { fromSeq: Math.max(0, toSeq - recentEvents), toSeq, types: [AgentEvents.TurnEnd.type] })
      ),
      Option.exists((event) => AgentLog.dataOf(AgentEvents.TurnEnd, event).reason.kind === "error")
    )
  )

/** How far back the end of the last turn may be. */
const recentEvents = 500

/**
 * Waits until an agent is idle, none of its jobs runs, no goal opens a round, and no notice is about to wake it, nor a reminder that is
 * due by `remindersUntil`, in milliseconds since the epoch; answers what is left then.
 */
export const untilSettled = (
  agent: Agent,
  options?: { readonly remindersUntil: number }
): Effect.Effect<Outstanding, ReadError, Goals | Jobs | Projections | SessionLog> =>
  Effect.gen(function* () {
    const log = yield* SessionLog
    let before = { asOfSeq: -1, since: 0 }
    while (true) {
      yield* agent.whenIdle
      const now = yield* Clock.currentTimeMillis
      const left = yield* look(agent.id)
      if (left.asOfSeq !== before.asOfSeq) before = { asOfSeq: left.asOfSeq, since: now }
      if (left.running.length > 0 || left.wakes || left.goal !== undefined) {
        if (now - before.since >= Duration.toMillis(patience) && !(yield* anyRuns(agent.id))) return left
        yield* moved(agent.id, left.asOfSeq)
      } else if (left.reminders.some(({ scheduledAt }) => toMillis(scheduledAt) <= (options?.remindersUntil ?? -1))) {
        yield* moved(agent.id, left.asOfSeq)
      } else if ((yield* log.lastSeq(agent.id)) === left.asOfSeq && (yield* agent.status) === "idle") return left
    }
  })

/** How long the log may stand still while it says that something is under way and nothing is: the agent has closed. */
const patience = Duration.seconds(10)

const anyRuns = (id: SessionId): Effect.Effect<boolean, ReadError, Jobs> =>
  Effect.flatMap(Jobs, (jobs) =>
    Effect.map(jobs.list(id), (list) => list.some((job) => job.owner === id && isRunning(job)))
  )

export const isRunning = ({ status }: Pick<JobSnapshot, "status">): boolean => !isTerminal(status)

/** The next event, or a moment: that of a closed agent never comes. */
const moved = (id: SessionId, asOfSeq: number) =>
  Effect.flatMap(SessionLog, (log) =>
    Effect.raceFirst(
      Stream.runDrain(Stream.take(log.changes(id, { fromSeq: asOfSeq + 1 }), 1)),
      Effect.sleep(Duration.seconds(1))
    )
  )
