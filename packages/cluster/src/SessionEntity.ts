/**
 * Answers for a session on the runner that it was placed on: opens its agent when the first message comes, stays while something is under
 * way, and lets go when it was idle for a while.
 *
 * @since 0.1.0
 */
import type { Agent, AgentOutput } from "@afterturn/agent/Agent"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import type { Agents } from "@afterturn/agent/Agents"
import { Wakes } from "@afterturn/agent/Wakes"
import { Goals, NoGoal } from "@afterturn/goals/Goals"
import type { JobSnapshot } from "@afterturn/jobs/Job"
import { isTerminal } from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { ReminderView } from "@afterturn/schedule/Schedule"
import { Schedule } from "@afterturn/schedule/Schedule"
import type { SessionAlarms } from "@afterturn/session-log/SessionAlarms"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { Todo } from "@afterturn/todo/Todo"
import * as Entity from "@effect/cluster/Entity"
import type { Sharding } from "@effect/cluster/Sharding"
import type * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as EffectSchedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import * as Held from "./internal/held.js"
import { answered, refusedBy } from "./internal/refused.js"
import type { ShownJob, ShownOutput, ShownReminder } from "./SessionProtocol.js"
import { Session } from "./SessionProtocol.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface EntityOptions {
  /** How long a session stays on its runner with nothing under way. Default 1 minute; looked at every 5 to 30 seconds. */
  readonly maxIdleTime: Duration.DurationInput
  /** How long a session that somebody else holds is waited for. Default 20 seconds: longer than a lease of the dead lives. */
  readonly patience: Duration.DurationInput
  /** Waits until nothing of an agent is under way. Default: until it is idle, none of its jobs runs and no goal opens rounds. */
  readonly settled: (agent: Agent) => Effect.Effect<void>
}

type Services = Agents | Goals | Jobs | Schedule | SessionAlarms | SessionLog | Todo | Wakes

/**
 * Sessions that are placed on this runner.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<EntityOptions>): Layer.Layer<never, never, Services | Sharding> =>
  Session.toLayer(handlers(options), {
    maxIdleTime: options?.maxIdleTime ?? "1 minute",
    // One message must not wait for another: a reader of output stays for as long as it likes.
    concurrency: "unbounded",
    // A defect is answered, see `answered`; one that is none of ours must not restart the session for ever.
    disableFatalDefects: true,
    defectRetryPolicy: EffectSchedule.exponential("1 second").pipe(
      EffectSchedule.union(EffectSchedule.spaced("1 minute"))
    )
  })

const handlers = (given?: Partial<EntityOptions>) =>
  Effect.gen(function* () {
    // The entity's id is the session's: what is none has no session.
    const id = (yield* Entity.CurrentAddress).entityId as string as SessionId
    const goals = yield* Goals
    const jobs = yield* Jobs
    const log = yield* SessionLog
    const schedule = yield* Schedule
    const todo = yield* Todo
    const wakes = yield* Wakes
    const self = (yield* Session.client)(id)
    const options: EntityOptions = {
      maxIdleTime: "1 minute",
      patience: "20 seconds",
      settled: untilSettled(jobs, goals),
      ...given
    }
    // An entity is not reaped while it answers a message: as long as something is under way, it has one of its own.
    const stay = (agent: Agent) =>
      Effect.asVoid(
        Effect.forkScoped(
          Stream.runForEach(
            Stream.filter(agent.statusChanges, (status) => status === "running"),
            () =>
              // One that fails is asked for again at the next turn.
              Effect.ignore(self.Settle())
          )
        )
      )
    const held = yield* Held.make(id, options, stay)
    const use = <A, E extends { readonly _tag: string; readonly message: string }>(
      body: (agent: Agent) => Effect.Effect<A, E>
    ) => answered(held.use(body))
    const present = Effect.flatMap(goals.get(id), (goal) =>
      goal === undefined ? Effect.fail(new NoGoal()) : Effect.succeed({ id: goal.id, revision: goal.revision })
    )
    const settle = (agent: Agent) =>
      Effect.suspend(() => {
        held.unsettled = true
        return Effect.map(options.settled(agent), () => {
          held.unsettled = false
        })
      })
    return Session.of({
      Create: ({ payload }) =>
        answered(Effect.asVoid(Effect.catchTag(log.create({ ...payload, id }), "SessionExists", () => Effect.void))),
      Followup: ({ payload }) => use((agent) => agent.followup(AgentMessage.user(payload.text))),
      Steer: ({ payload }) => use((agent) => agent.steer(AgentMessage.user(payload.text))),
      Cancel: ({ payload }) => use((agent) => agent.cancel(payload.cause)),
      Todos: () => answered(todo.get(id)),
      Jobs: () =>
        use(() => Effect.map(jobs.list(id), (list) => list.filter(({ owner }) => owner === id).map(shownJob))),
      JobOutput: ({ payload }) =>
        Stream.unwrap(
          use(() =>
            Effect.succeed(
              Stream.mapError(
                jobs.output(payload.id, id, payload.from === undefined ? {} : { from: payload.from }),
                refusedBy
              )
            )
          )
        ),
      KillJob: ({ payload: { id: job, reason } }) =>
        use(() =>
          Effect.map(
            jobs.kill(job, id, { by: "user", ...(reason === undefined ? {} : { reason }) }),
            ({ answer }) => answer
          )
        ),
      Reminders: () => answered(Effect.map(schedule.list(id), ({ reminders }) => reminders.map(shownReminder))),
      CreateReminder: ({ payload }) =>
        use(() => Effect.map(schedule.create(id, payload), ({ reminder }) => shownReminder(reminder))),
      DeleteReminder: ({ payload }) => use(() => schedule.delete(id, payload.id)),
      Goal: () => use(() => Effect.map(goals.get(id), (goal) => goal ?? null)),
      SetGoal: ({ payload }) => use(() => goals.create(id, payload)),
      PauseGoal: () => use(() => Effect.flatMap(present, (ref) => goals.pause(id, ref))),
      ResumeGoal: () => use(() => Effect.flatMap(present, (ref) => goals.resume(id, ref))),
      ClearGoal: () => use(() => Effect.flatMap(present, (ref) => Effect.asVoid(goals.clear(id, ref)))),
      Wakes: () => answered(wakes.of(id)),
      Output: () => Stream.unwrap(use((agent) => Effect.succeed(Stream.map(agent.output, shownOutput)))),
      Wake: () => use((agent) => Effect.asVoid(agent.status)),
      Settle: () => use(settle)
    })
  })

const untilSettled =
  (jobs: Context.Tag.Service<Jobs>, goals: Context.Tag.Service<Goals>): EntityOptions["settled"] =>
  (agent) => {
    const isBusy = Effect.gen(function* () {
      yield* agent.whenIdle
      const goal = yield* goals.get(agent.id)
      const running = (yield* jobs.list(agent.id)).some(
        ({ owner, status }) => owner === agent.id && !isTerminal(status)
      )
      return running || goal?.activation === "armed" || (yield* agent.status) === "running"
    })
    return Effect.repeat(isBusy, { while: (busy) => busy, schedule: EffectSchedule.spaced("1 second") }).pipe(
      Effect.asVoid,
      // What cannot be read is let go; whoever asks for it next is told why.
      Effect.ignore
    )
  }

const shownJob = (job: JobSnapshot): typeof ShownJob.Type => ({
  id: job.id,
  kind: job.kind,
  label: job.label,
  status: job.status,
  startedAt: job.startedAt,
  outputBytes: job.outputBytes,
  ...(job.detail === undefined ? {} : { detail: job.detail }),
  ...(job.finishedAt === undefined ? {} : { finishedAt: job.finishedAt })
})

const shownReminder = ({ id, scheduledAt, state, title, words }: ReminderView): typeof ShownReminder.Type => ({
  id,
  title,
  words,
  state,
  scheduledAt
})

const shownOutput = (output: AgentOutput): typeof ShownOutput.Type => {
  if (output._tag !== "Event") return output
  const { data, seq, time, type } = output.event
  return { _tag: "Event", event: { seq, type, time, data } }
}
