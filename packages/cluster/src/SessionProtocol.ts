/**
 * What a client may ask of a session, wherever it lives: a session is an entity of the cluster, its id is the session's.
 *
 * @since 0.1.0
 */
import { AgentMessage } from "@afterturn/agent/AgentMessage"
import { Wake } from "@afterturn/agent/Wakes"
import { Goal } from "@afterturn/goals/Goal"
import { JobStatus } from "@afterturn/jobs/Job"
import { Instant } from "@afterturn/session-log/Instant"
import { Count } from "@afterturn/session-log/SessionEvent"
import { TodoItem } from "@afterturn/todo/TodoItem"
import * as Entity from "@effect/cluster/Entity"
import * as Rpc from "@effect/rpc/Rpc"
import * as Schema from "effect/Schema"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * The session's runner did not do what it was asked. `code` is stable: the name of what went wrong where it is an error of a capability
 * or of the log, `internal_error` for a fault of the runner's own.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionRefused extends Schema.TaggedError<SessionRefused>("@afterturn/cluster/SessionRefused")(
  "SessionRefused",
  { code: Schema.String, message: Schema.String }
) {}

/**
 * A job, of what a client is told.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ShownJob = Schema.Struct({
  id: Schema.String,
  kind: Schema.String,
  label: Schema.String,
  status: JobStatus,
  detail: optional(Schema.String),
  startedAt: Instant,
  finishedAt: optional(Instant),
  outputBytes: Count
})

/**
 * A reminder, of what a client is told.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ShownReminder = Schema.Struct({
  id: Schema.String,
  title: Schema.String,
  words: Schema.String,
  state: Schema.Literal("scheduled", "overdue", "paused"),
  scheduledAt: Instant
})

const SpokenOutput = Schema.Struct({
  _tag: Schema.Literal("Text", "Reasoning"),
  turn: Count,
  step: Count,
  delta: Schema.String
})

/**
 * What a spectator sees, as `Agent.output` has it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ShownOutput = Schema.Union(
  SpokenOutput,
  Schema.TaggedStruct("Retry", { turn: Count, step: Count, message: Schema.String }),
  Schema.TaggedStruct("Event", {
    event: Schema.Struct({ seq: Count, type: Schema.String, time: Instant, data: Schema.Unknown })
  })
)

/**
 * A piece of a job's output at its byte offset.
 *
 * @since 0.1.0
 * @category schemas
 */
export const JobOutput = Schema.Struct({ offset: Count, text: Schema.String, droppedBytes: Count })

const error = SessionRefused
const said = { payload: { text: Schema.String }, success: AgentMessage, error }
const job = { id: Schema.String }

/**
 * A session as an entity. All messages are volatile: what was accepted is in the session's own log, and a call that was not answered
 * may or may not have been executed.
 *
 * @since 0.1.0
 * @category entities
 */
export const Session = Entity.make("Session", [
  /** Makes the session when there is none. */
  Rpc.make("Create", { payload: { cwd: optional(Schema.String), title: optional(Schema.String) }, error }),
  /** A message of a person for a turn of its own. */
  Rpc.make("Followup", said),
  /** A message of a person for the next step. */
  Rpc.make("Steer", said),
  Rpc.make("Cancel", { payload: { cause: Schema.String }, error }),
  Rpc.make("Todos", { success: Schema.NullOr(Schema.Array(TodoItem)), error }),
  Rpc.make("Jobs", { success: Schema.Array(ShownJob), error }),
  /** From a byte offset to the end of the job. */
  Rpc.make("JobOutput", { payload: { ...job, from: optional(Count) }, success: JobOutput, error, stream: true }),
  Rpc.make("KillJob", {
    payload: { ...job, reason: optional(Schema.String) },
    success: Schema.Literal("cancellation-requested", "already-finished"),
    error
  }),
  Rpc.make("Reminders", { success: Schema.Array(ShownReminder), error }),
  Rpc.make("CreateReminder", {
    payload: { title: Schema.String, prompt: Schema.String, rule: Schema.Unknown },
    success: ShownReminder,
    error
  }),
  Rpc.make("DeleteReminder", { payload: { id: Schema.String }, success: Schema.Boolean, error }),
  Rpc.make("Goal", { success: Schema.NullOr(Goal), error }),
  Rpc.make("SetGoal", { payload: { objective: Schema.String, maxGoalRounds: optional(Count) }, success: Goal, error }),
  Rpc.make("PauseGoal", { success: Goal, error }),
  Rpc.make("ResumeGoal", { success: Goal, error }),
  Rpc.make("ClearGoal", { error }),
  Rpc.make("Wakes", { success: Schema.Array(Wake), error }),
  /** From now on, until the session goes cold. */
  Rpc.make("Output", { success: ShownOutput, error, stream: true }),
  /** Brings the session to life, so that what waits in it goes on. */
  Rpc.make("Wake", { error }),
  /** As `Wake`, and answers when nothing is under way any more. */
  Rpc.make("Settle", { error })
])
