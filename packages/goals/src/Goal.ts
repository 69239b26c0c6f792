/**
 * A goal: what a session is to achieve over many turns.
 *
 * @since 0.1.0
 */
import { Instant } from "@afterturn/session-log/Instant"
import { Count } from "@afterturn/session-log/SessionEvent"
import * as Schema from "effect/Schema"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/**
 * Ids are `goal-N`, never used twice in a session, nor in one that was forked from it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalId = Schema.String.pipe(
  Schema.pattern(/^goal-[1-9]\d{0,14}$/, {
    message: (issue) => `expected a goal id like goal-1, got ${JSON.stringify(issue.actual)}`
  }),
  Schema.brand("GoalId")
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalId = typeof GoalId.Type

/**
 * The id of a session's N-th goal.
 *
 * @since 0.1.0
 * @category conversions
 */
export const goalId = (number: number): GoalId => GoalId.make(`goal-${number}`)

/**
 * Revisions and rounds count from 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Positive = Schema.Int.pipe(Schema.between(1, Number.MAX_SAFE_INTEGER))

/**
 * `active` is worked on, while its session is armed; `paused` by a person; `blocked` by something that is named; `complete`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalPhase = Schema.Literal("active", "paused", "blocked", "complete")

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalPhase = typeof GoalPhase.Type

/**
 * Why a goal is blocked. The driver's codes are `round-limit`, `token-budget`, `time-budget`, `no-progress`, `execution-error` and
 * `provider-limit`; `needs-human` is the model's.
 *
 * @since 0.1.0
 * @category schemas
 */
export const BlockedReason = Schema.Struct({
  code: Schema.String.pipe(
    Schema.pattern(/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/, {
      message: (issue) => `expected a lower-kebab code like needs-human, got ${JSON.stringify(issue.actual)}`
    }),
    Schema.maxLength(64)
  ),
  message: Schema.NonEmptyString
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type BlockedReason = typeof BlockedReason.Type

/**
 * A goal as the log has it. `maxTokens` bounds the tokens of the model requests made while it is active, `maxDurationMs` the time that
 * it is active.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalRecord = Schema.Struct({
  id: GoalId,
  revision: Positive,
  objective: Schema.NonEmptyString,
  phase: GoalPhase,
  blockedReason: optional(BlockedReason),
  maxGoalRounds: Positive,
  roundsStarted: Count,
  maxTokens: optional(Positive),
  maxDurationMs: optional(Positive),
  createdAt: Instant,
  updatedAt: Instant
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalRecord = typeof GoalRecord.Type

/**
 * Whether this process may open rounds for a goal. It is never stored: after a resume, a fork or a restart a goal is `disarmed`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Activation = Schema.Literal("armed", "disarmed")

/**
 * @since 0.1.0
 * @category schemas
 */
export type Activation = typeof Activation.Type

/**
 * What a goal has used of its budgets: tokens of model requests, and milliseconds in which it was active.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalUsage = Schema.Struct({ tokens: Count, activeMs: Count })

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalUsage = typeof GoalUsage.Type

/**
 * A goal as this process sees it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Goal = Schema.Struct({ ...GoalRecord.fields, activation: Activation, usage: GoalUsage })

/**
 * @since 0.1.0
 * @category schemas
 */
export type Goal = typeof Goal.Type

/**
 * Names a state of a goal: who changes it says which one he decided on.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GoalRef = Schema.Struct({ id: GoalId, revision: Positive })

/**
 * @since 0.1.0
 * @category schemas
 */
export type GoalRef = typeof GoalRef.Type

/**
 * @since 0.1.0
 * @category conversions
 */
export const toRef = ({ id, revision }: GoalRef): GoalRef => ({ id, revision })

/**
 * A reference as messages write it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const refText = ({ id, revision }: { readonly id: string; readonly revision: number }): string =>
  `${id} at revision ${revision}`

/**
 * What a new goal is made of.
 *
 * @since 0.1.0
 * @category models
 */
export interface NewGoal {
  readonly objective: string
  /** Default: `defaultMaxGoalRounds` of the configuration. */
  readonly maxGoalRounds?: number
  /** Default: none. */
  readonly maxTokens?: number
  /** Milliseconds. Default: none. */
  readonly maxDurationMs?: number
}

/**
 * What an edit changes; what is absent stays. `null` takes a budget away.
 *
 * @since 0.1.0
 * @category models
 */
export interface GoalEdit {
  readonly objective?: string
  readonly maxGoalRounds?: number
  readonly maxTokens?: number | null
  readonly maxDurationMs?: number | null
}
