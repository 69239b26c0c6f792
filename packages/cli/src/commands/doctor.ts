/**
 * `afterturn doctor`
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import { failure } from "../CliError.js"
import type { Handler } from "../Commands.js"
import * as SafeText from "../chat/SafeText.js"
import * as Database from "../Database.js"
import { examine } from "../Doctor.js"
import { jsonText } from "../internal/json.js"
import { Output } from "../Output.js"

/**
 * Prints a line for each thing that it looked at; fails when something is wrong.
 *
 * @since 0.1.0
 * @category commands
 */
export const doctor = ({ db }: { readonly db: Option.Option<string> }): Handler =>
  Effect.gen(function* () {
    const output = yield* Output
    const findings = yield* Effect.flatMap(Database.resolve(db), examine)
    const width = Math.max(...findings.map(({ check }) => check.length))
    yield* output.json
      ? output.line(jsonText(findings, output))
      : Effect.forEach(findings, ({ check, detail, ok }) =>
          output.line(SafeText.cleanLine(`${ok ? "ok   " : "WRONG"} ${check.padEnd(width)}  ${detail}`))
        )
    const wrong = findings.filter(({ ok }) => !ok).map(({ check }) => check)
    if (wrong.length > 0) return yield* failure("doctor", `wrong: ${wrong.join(", ")}`)
  })
