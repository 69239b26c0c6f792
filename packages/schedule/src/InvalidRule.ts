/**
 * What a reminder's rule is refused for.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/**
 * - `invalid_selector`: not exactly one rule was given
 * - `invalid_rule`: a rule that has not the shape of one, or that never comes due
 * - `invalid_time_zone`: not `UTC` and not a zone's name with a slash that the runtime knows
 * - `not_future`: an absolute time that is not after now
 * - `time_out_of_range`: a time outside the years 0000 to 9999
 * - `frequency_too_high`: an interval below the smallest one that is allowed
 *
 * @since 0.1.0
 * @category schemas
 */
export const InvalidRuleCode = Schema.Literal(
  "invalid_selector",
  "invalid_rule",
  "invalid_time_zone",
  "not_future",
  "time_out_of_range",
  "frequency_too_high"
)

/**
 * @since 0.1.0
 * @category schemas
 */
export type InvalidRuleCode = typeof InvalidRuleCode.Type

/**
 * A rule that cannot be used. `path` names the place, such as `weekly.time`; `message` says what was expected there and what was
 * found; `suggestions` are values that could be written there instead: names of zones, valid times beside a skipped one.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidRule extends Schema.TaggedError<InvalidRule>("@afterturn/schedule/InvalidRule")("InvalidRule", {
  code: InvalidRuleCode,
  path: Schema.String,
  message: Schema.String,
  suggestions: Schema.Array(Schema.String)
}) {}

/**
 * A refusal, its message beginning with its path.
 *
 * @since 0.1.0
 * @category constructors
 */
export const refuse = (
  code: InvalidRuleCode,
  path: string,
  problem: string,
  suggestions: ReadonlyArray<string> = []
): Either.Either<never, InvalidRule> =>
  Either.left(new InvalidRule({ code, path, message: path === "" ? problem : `${path}: ${problem}`, suggestions }))
