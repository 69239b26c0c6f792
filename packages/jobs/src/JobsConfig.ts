/**
 * Limits of the job runtime.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category models
 */
export interface JobsOptions {
  /** Jobs of one owner that may be active (`running` or `stopping`) at a time; those without an owner share one such place. Default 10. */
  readonly maxConcurrentJobsPerOwner: number
  /** How long a job that was asked to end may take before it counts as `did not stop`. Default 10 seconds. */
  readonly killGrace: Duration.Duration
  /** UTF-8 bytes of one answer of `read`, status line included. Default 30,000. */
  readonly outputLimitBytes: number
  /** Finished jobs of one owner that a list shows and memory keeps; after a restart 100 of them at most. Default 100. */
  readonly keepFinished: number
}

/**
 * A configuration that could not work.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidJobsConfig extends Schema.TaggedError<InvalidJobsConfig>("@afterturn/jobs/InvalidJobsConfig")(
  "InvalidJobsConfig",
  { reason: Schema.String }
) {
  override get message(): string {
    return `jobs configuration: ${this.reason}`
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class JobsConfig extends Context.Tag("@afterturn/jobs/JobsConfig")<JobsConfig, JobsOptions>() {}

/**
 * The defaults, with what differs; fails at start when a limit is no positive safe integer or the grace is longer than a day.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Partial<JobsOptions>): Layer.Layer<JobsConfig, InvalidJobsConfig> =>
  Layer.effect(
    JobsConfig,
    Effect.suspend((): Effect.Effect<JobsOptions, InvalidJobsConfig> => {
      const config: JobsOptions = {
        maxConcurrentJobsPerOwner: 10,
        killGrace: Duration.seconds(10),
        outputLimitBytes: 30_000,
        keepFinished: 100,
        ...options
      }
      const wrong = (["maxConcurrentJobsPerOwner", "outputLimitBytes", "keepFinished"] as const).find(
        (key) => !Number.isSafeInteger(config[key]) || config[key] <= 0
      )
      if (wrong !== undefined) {
        return new InvalidJobsConfig({ reason: `${wrong} must be a positive integer, got ${config[wrong]}` })
      }
      // A longer one is a mistake, and far longer ones are more than a timer of the platform holds.
      return Duration.lessThanOrEqualTo(config.killGrace, Duration.days(1))
        ? Effect.succeed(config)
        : new InvalidJobsConfig({
            reason: `killGrace must be at most a day, got ${Duration.format(config.killGrace)}`
          })
    })
  )
