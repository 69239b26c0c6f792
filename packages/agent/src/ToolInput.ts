/**
 * Reads what a model sent for a tool: the same rules for every tool, taken from its parameters Schema.
 *
 * What fits the Schema passes unchanged. Beside it, these forms are read where nothing else could be meant:
 *
 * - no arguments, `null` or blank text for all of the arguments: `{}`
 * - `null` for an optional key that does not allow null: the key is absent, at every depth
 * - `"5"` or `" 60 "` where a number belongs: plain decimal notation, no exponent, no fraction for an integer
 * - `"true"`, `"false"` where a boolean belongs
 * - JSON text where an object or array belongs, also for all of the arguments; a note tells the model
 *
 * A union takes a value as it is when one of its members does, and else only a reading that all readings agree on.
 * Everything else is refused with a typed error: a number or boolean for a string too, since what was written is
 * already lost (`"1.10"` sent as a number is 1.1). Keys that the Schema does not have are refused, never dropped.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { coerce } from "./internal/coercion.js"
import { clip, copy, makeBudget, pathText } from "./internal/jsonValue.js"
import { exampleText } from "./internal/schemaExample.js"
import { problemsOf } from "./internal/schemaProblems.js"
import type { Problem } from "./internal/walk.js"
import { maxReported } from "./internal/walk.js"

/**
 * Arguments that a tool can't take. `path`, `expected` and `received` are those of the first problem; `path` is empty
 * when it concerns the arguments as a whole. `message` is for the model: up to three problems and, where one can be
 * built, a correct example.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolInputError extends Schema.TaggedError<ToolInputError>("@afterturn/agent/ToolInputError")(
  "ToolInputError",
  {
    code: Schema.Literal("invalid_arguments"),
    tool: Schema.String,
    path: Schema.String,
    expected: Schema.String,
    received: Schema.String,
    message: Schema.String
  }
) {}

/**
 * Arguments that a tool can take: `value` decodes with the tool's Schema. `notes` tell the model where JSON text was
 * read as data.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolInput<out I> {
  readonly value: I
  readonly notes: ReadonlyArray<string>
}

/**
 * Reads arguments for a tool. Never throws, whatever `input` is; the same input gives the same text. Data nested more
 * than 64 levels deep or of more than 200,000 values is refused.
 *
 * A Schema that needs services or asynchrony to decode is only checked on its encoded side.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = <A, I, R>(
  tool: string,
  schema: Schema.Schema<A, I, R>,
  input: unknown
): Either.Either<ToolInput<I>, ToolInputError> => {
  const budget = makeBudget()
  const given = isAbsent(input) ? {} : copy(input, budget)
  const coerced = coerce(schema.ast, given, budget)
  if (!coerced.ok) return Either.left(invalid(tool, schema, coerced.problems, coerced.count))
  const problems = problemsOf(schema, coerced.value)
  if (problems.length > 0) return Either.left(invalid(tool, schema, problems.slice(0, maxReported), problems.length))
  return Either.right({ value: coerced.value as I, notes: coerced.notes })
}

const isAbsent = (input: unknown): boolean =>
  input === undefined || input === null || (typeof input === "string" && /^\s*$/.test(input))

const invalid = (
  tool: string,
  schema: Schema.Schema.All,
  problems: ReadonlyArray<Problem>,
  count: number
): ToolInputError => {
  const [first] = problems as [Problem, ...Array<Problem>]
  return new ToolInputError({
    code: "invalid_arguments",
    tool,
    path: pathText(first.path),
    expected: first.expected,
    received: first.received,
    message: clip(tool, 100) + messageText(problems, count, exampleText(schema.ast, first.path))
  })
}

const messageText = (problems: ReadonlyArray<Problem>, count: number, example: string | undefined): string => {
  const listed =
    problems.length === 1
      ? problems.map((problem) => problem.text)
      : problems.map((problem, index) => `(${index + 1}) ${problem.text}`)
  const more = count > problems.length ? [`and ${count - problems.length} more`] : []
  return `: ${[...listed, ...more].join("; ")}${example === undefined ? "" : `. A correct example: ${example}`}`
}
