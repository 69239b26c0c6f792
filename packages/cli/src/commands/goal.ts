/**
 * `afterturn goal …`
 *
 * @since 0.1.0
 */
import type { Goal } from "@afterturn/goals/Goal"
import { Goals } from "@afterturn/goals/Goals"
import { Mailbox } from "@afterturn/session-log/Mailbox"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { failure } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { goalsLayer } from "../Compose/Goals.js"
import type { GoalVerbAnswer, GoalVerbInput } from "../Compose/GoalVerb.js"
import { apply, GoalVerb } from "../Compose/GoalVerb.js"
import { askHolder } from "../internal/driven.js"
import { jsonText } from "../internal/json.js"
import { withExistingStore } from "../internal/withStore.js"
import { Output } from "../Output.js"
import * as Render from "../Render.js"
import type { DbOption } from "./sessions.js"

/**
 * Whose goal.
 *
 * @since 0.1.0
 * @category models
 */
export interface GoalOptions extends DbOption {
  readonly session: SessionId
}

/**
 * What a goal may use.
 *
 * @since 0.1.0
 * @category models
 */
export interface BudgetOptions {
  readonly maxRounds: Option.Option<number>
  readonly maxTokens: Option.Option<number>
  readonly maxDuration: Option.Option<Duration.Duration>
}

/**
 * Shows the goal: as the process that drives the session knows it, else as the log has it.
 *
 * @since 0.1.0
 * @category commands
 */
export const show = (options: GoalOptions): Handler =>
  withExistingStore(
    options.db,
    Effect.gen(function* () {
      yield* Effect.flatMap(SessionLog, (log) => log.header(options.session))
      const answer = yield* askHolder(options.session, GoalVerb, { verb: "show" })
      yield* sayGoal(
        Option.isSome(answer) ? yield* unwrap(answer.value) : yield* applyHere(options.session, { verb: "show" })
      )
    })
  )

/**
 * Sets a goal.
 *
 * @since 0.1.0
 * @category commands
 */
export const create = (options: GoalOptions & BudgetOptions & { readonly objective: string }): Handler =>
  change(options, { verb: "create", objective: options.objective, ...budgets(options) })

/**
 * Changes the objective, the cap or a budget.
 *
 * @since 0.1.0
 * @category commands
 */
export const edit = (options: GoalOptions & BudgetOptions & { readonly objective: Option.Option<string> }): Handler =>
  change(options, {
    verb: "edit",
    ...(Option.isSome(options.objective) ? { objective: options.objective.value } : {}),
    ...budgets(options)
  })

/**
 * Pauses the goal, resumes it, or takes it away.
 *
 * @since 0.1.0
 * @category commands
 */
export const simple = (options: GoalOptions & { readonly verb: "pause" | "resume" | "clear" }): Handler =>
  change(options, { verb: options.verb })

/**
 * The budgets as a goal has them.
 *
 * @since 0.1.0
 * @category conversions
 */
export const budgets = ({ maxDuration, maxRounds, maxTokens }: BudgetOptions) => ({
  ...(Option.isSome(maxRounds) ? { maxGoalRounds: maxRounds.value } : {}),
  ...(Option.isSome(maxTokens) ? { maxTokens: maxTokens.value } : {}),
  ...(Option.isSome(maxDuration) ? { maxDurationMs: Math.round(Duration.toMillis(maxDuration.value)) } : {})
})

/** In the process that drives the session; where there is none, under the session's lease. */
const change = ({ db, session }: GoalOptions, input: GoalVerbInput): Handler =>
  withExistingStore(
    db,
    Effect.gen(function* () {
      const output = yield* Output
      yield* Effect.flatMap(SessionLog, (log) => log.header(session))
      const here = Effect.scoped(
        Effect.zipRight(
          Effect.flatMap(SessionLeases, (leases) => leases.acquire(session)),
          Effect.map(applyHere(session, input), (goal) => ({ goal, isCold: true }))
        )
      )
      const there = Effect.flatMap(Mailbox, (mailbox) => mailbox.send(session, GoalVerb, input)).pipe(
        Effect.flatMap(unwrap),
        Effect.map((goal) => ({ goal, isCold: false }))
      )
      const { goal, isCold } = yield* Effect.catchTag(here, "SessionLeased", () => there)
      yield* sayGoal(goal, input.verb === "clear" ? "the goal is cleared" : undefined)
      if (isCold && goal?.phase === "active") {
        yield* output.note(
          `no process drives session "${session}": its goal goes on with afterturn run --session ${session} --goal ${goal.id}, or /goal resume in afterturn chat`
        )
      }
    })
  )

/** This process opens no rounds, whatever it arms. */
const applyHere = (session: SessionId, input: GoalVerbInput) =>
  Effect.flatMap(Goals, (goals) => apply(goals, session, input)).pipe(
    Effect.map((goal): Goal | undefined => goal && { ...goal, activation: "disarmed" }),
    Effect.provide(goalsLayer())
  )

const unwrap = (answer: typeof GoalVerbAnswer.Type) =>
  answer.ok ? Effect.succeed(answer.goal ?? undefined) : Effect.fail(failure(answer.code, answer.message))

const sayGoal = (goal: Goal | undefined, otherwise = "no goal") =>
  Effect.gen(function* () {
    const output = yield* Output
    if (output.json) return yield* output.line(jsonText({ goal: goal ?? null }, output))
    yield* output.line(goal === undefined ? otherwise : Render.goal(goal))
  })
