/**
 * `afterturn schedule …`
 *
 * @since 0.1.0
 */
import type { InvalidRule } from "@afterturn/schedule/InvalidRule"
import * as RuleInput from "@afterturn/schedule/RuleInput"
import type { Previewed } from "@afterturn/schedule/RulePreview"
import * as RulePreview from "@afterturn/schedule/RulePreview"
import * as RuleText from "@afterturn/schedule/RuleText"
import * as Instant from "@afterturn/session-log/Instant"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { CliError } from "../CliError.js"
import { failure, usage } from "../CliError.js"
import type { Handler } from "../Commands.js"
import { jsonText } from "../internal/json.js"
import { Output } from "../Output.js"

const defaultCount = 5
const maxCount = 10_000

/**
 * Shows when a rule comes due, without a session.
 *
 * @since 0.1.0
 * @category commands
 */
export const preview = (options: {
  readonly rule: string
  readonly from: Option.Option<string>
  readonly count: Option.Option<number>
}): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const input = yield* parseJson(options.rule)
    const from = yield* Option.match(options.from, { onNone: () => Instant.now, onSome: readInstant })
    const count = Option.getOrElse(options.count, () => defaultCount)
    if (count > maxCount) return yield* usage(`--count: expected at most ${maxCount}, got ${count}`)
    const { rule, scheduledAt } = yield* orFail(RuleInput.parse(input, { now: from }))
    const coming = yield* orFail(RulePreview.preview(rule, { from, count, anchor: scheduledAt }))
    if (output.json) return yield* output.line(jsonText(coming, output))
    yield* output.line([RuleText.describe(rule), ...coming.map(lineOf)].join("\n"))
  })

const lineOf = ({ at, local, note }: Previewed): string => `${at}  ${local}${note === undefined ? "" : `  ${note}`}`

const parseJson = (text: string): Effect.Effect<unknown, CliError> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: () => usage(`--rule: expected JSON such as '{"every_seconds":3600}', got ${JSON.stringify(text)}`)
  })

const readInstant = (text: string): Effect.Effect<Instant.Instant, CliError> =>
  Effect.mapError(RuleInput.parseInstant(text, "--from"), ({ message }) => usage(message))

const orFail = <A>(result: Either.Either<A, InvalidRule>): Effect.Effect<A, CliError> =>
  Either.mapLeft(result, ({ code, message }) => failure(code, message))
