/**
 * What a person does with a goal: in the chat, on the command line, and through the mailbox where another process drives the session.
 *
 * @since 0.1.0
 */
import { Goal } from "@afterturn/goals/Goal"
import type { Goals, GoalsError } from "@afterturn/goals/Goals"
import { NoGoal } from "@afterturn/goals/Goals"
import type { CommandHandler } from "@afterturn/session-log/Mailbox"
import { handler } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { Count } from "@afterturn/session-log/SessionEvent"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { fromError } from "../CliError.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const amounts = {
  maxGoalRounds: optional(Count),
  maxTokens: optional(Count),
  maxDurationMs: optional(Count)
}

/**
 * A verb, on whatever state the goal is in when it is executed; `revision` names one that it must be in.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalVerbInput = Schema.Union(
  Schema.Struct({ verb: Schema.Literal("create"), objective: Schema.String, ...amounts }),
  Schema.Struct({
    verb: Schema.Literal("edit"),
    objective: optional(Schema.String),
    ...amounts,
    revision: optional(Count)
  }),
  Schema.Struct({ verb: Schema.Literal("show", "pause", "resume", "clear"), revision: optional(Count) })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalVerbInput = typeof GoalVerbInput.Type

/**
 * @since 0.1.0
 * @category schemas
 */
export const GoalVerbAnswer = Schema.Union(
  Schema.Struct({ ok: Schema.Literal(true), goal: Schema.NullOr(Goal) }),
  Schema.Struct({ ok: Schema.Literal(false), code: Schema.String, message: Schema.String })
)

/**
 * Executes a verb in the process that drives the session.
 *
 * @since 0.1.0
 * @category commands
 */
export const GoalVerb = { name: "goal", input: GoalVerbInput, answer: GoalVerbAnswer }

/**
 * Does what a person asks for, and answers the goal as it is then, if there is one.
 *
 * @since 0.1.0
 * @category operations
 */
export const apply = (
  goals: Context.Tag.Service<Goals>,
  session: SessionId,
  input: GoalVerbInput
): Effect.Effect<Goal | undefined, GoalsError> =>
  Effect.gen(function* () {
    if (input.verb === "create") {
      const { verb: _, ...spec } = input
      return yield* goals.create(session, spec)
    }
    const present = yield* goals.get(session)
    if (input.verb === "show") return present
    if (present === undefined) return yield* new NoGoal()
    const ref = { id: present.id, revision: input.revision ?? present.revision }
    switch (input.verb) {
      case "edit": {
        const { revision: _, verb: __, ...changes } = input
        return yield* goals.edit(session, ref, changes)
      }
      case "pause":
        return yield* goals.pause(session, ref)
      case "resume":
        return yield* goals.resume(session, ref)
      case "clear":
        return yield* Effect.as(goals.clear(session, ref), undefined)
    }
  })

/**
 * Executes the verbs that reach a session of this process. What is refused is part of the answer.
 *
 * @since 0.1.0
 * @category operations
 */
export const serveGoal = (goals: Context.Tag.Service<Goals>, session: SessionId): CommandHandler =>
  handler(GoalVerb, (input) =>
    apply(goals, session, input).pipe(
      Effect.match({
        onSuccess: (goal): typeof GoalVerbAnswer.Type => ({ ok: true, goal: goal ?? null }),
        onFailure: (error): typeof GoalVerbAnswer.Type => {
          const { code, message } = fromError(error)
          return { ok: false, code, message }
        }
      })
    )
  )
