/**
 * Limits of the turn loop.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Layer from "effect/Layer"

/**
 * @since 0.1.0
 * @category models
 */
export interface AgentOptions {
  /** Model requests in one turn; the turn ends `step-limit` after that. Default 64. */
  readonly maxStepsPerTurn: number
  /** UTF-8 bytes of one tool result as the model reads it; more keeps head and tail. Default 50,000. */
  readonly maxResultBytes: number
  /** Tool calls of one step that run at the same time. Default 8. */
  readonly toolConcurrency: number
  /** Requests made again after a transient failure of the provider. Default 5. */
  readonly maxRetries: number
  /** The first wait between them; it doubles, with jitter, unless the provider names one. Default 1 second. */
  readonly retryDelay: Duration.Duration
  /** No wait between them is longer. Default 1 minute. */
  readonly maxRetryDelay: Duration.Duration
  /** Silence of the provider after which a request counts as failed. Default 2 minutes. */
  readonly modelSilence: Duration.Duration
  /** Estimated tokens of history beyond which a `Compaction`, where one is composed, is asked. Default 150,000. */
  readonly maxHistoryTokens: number
  /** The user's zone, told to the model. Default: the host's. */
  readonly timeZone: string
}

/**
 * @since 0.1.0
 * @category tags
 */
export class AgentConfig extends Context.Tag("@afterturn/agent/AgentConfig")<AgentConfig, AgentOptions>() {}

/**
 * The defaults, with what differs.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<AgentOptions>): Layer.Layer<AgentConfig> =>
  Layer.sync(AgentConfig, () => ({
    maxStepsPerTurn: 64,
    maxResultBytes: 50_000,
    toolConcurrency: 8,
    maxRetries: 5,
    retryDelay: Duration.seconds(1),
    maxRetryDelay: Duration.minutes(1),
    modelSilence: Duration.minutes(2),
    maxHistoryTokens: 150_000,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...options
  }))
