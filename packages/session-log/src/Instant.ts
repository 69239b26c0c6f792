/**
 * Instants as the project writes them: UTC text `YYYY-MM-DDTHH:mm:ss.sssZ` with a four-digit year, for
 * event times, headers, event data and JSON output.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/**
 * Milliseconds since the epoch to UTC text.
 *
 * @since 0.1.0
 * @category conversions
 */
export const format = (millis: number): string => new Date(millis).toISOString()

/**
 * UTC text to milliseconds since the epoch; `NaN` for text that `Instant` would refuse.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toMillis = (instant: string): number => (pattern.test(instant) ? Date.parse(instant) : Number.NaN)

const isInstant = (text: string): boolean => {
  const millis = toMillis(text)
  return !Number.isNaN(millis) && format(millis) === text
}

/**
 * UTC text `YYYY-MM-DDTHH:mm:ss.sssZ` naming an instant that exists.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Instant = Schema.String.pipe(
  Schema.filter(isInstant, {
    identifier: "Instant",
    description: "a UTC instant, YYYY-MM-DDTHH:mm:ss.sssZ",
    message: (issue) => `expected a UTC instant like 2026-03-09T06:30:00.000Z, got ${JSON.stringify(issue.actual)}`
  })
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type Instant = typeof Instant.Type

/**
 * The present instant of the ambient `Clock`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const now: Effect.Effect<Instant> = Effect.map(Clock.currentTimeMillis, format)
