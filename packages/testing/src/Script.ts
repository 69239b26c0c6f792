/**
 * Scripts: what a scripted model answers to which message. `ScriptState` says where a session stands in one.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { isBehaviour, isFailure, Step } from "./ScriptStep.js"

/**
 * Sizes that a script may have, in UTF-16 units where it is text.
 *
 * @since 0.1.0
 * @category constants
 */
export const limits = {
  file: 4_194_304,
  rules: 1_000,
  /** Of a rule, and of `otherwise`. */
  steps: 1_000,
  match: 1_000,
  /** So much of a message is read to see whether a `match` fits. */
  matchedText: 20_000
} as const

/**
 * The sources that a rule may name.
 *
 * @since 0.1.0
 * @category schemas
 */
export const On = Schema.Literal("user", "job-notice", "reminder", "goal-round", "agent", "system", "any").annotations({
  message: () => ({
    message: "expected one of user, job-notice, reminder, goal-round, agent, system, any",
    override: true
  })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type On = typeof On.Type

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const patternProblem = (match: unknown): string | undefined => {
  if (match instanceof RegExp) {
    return match.global || match.sticky ? "expected a regular expression without the flags g and y" : undefined
  }
  if (typeof match !== "string") return "expected the text of a regular expression"
  if (match.length > limits.match) return `expected at most ${limits.match} characters`
  try {
    new RegExp(match)
    return undefined
  } catch (error) {
    return `expected a regular expression: ${(error as Error).message}`
  }
}

const Match = Schema.declare((match: unknown): match is string | RegExp => patternProblem(match) === undefined, {
  identifier: "Match",
  message: (issue) => patternProblem(issue.actual) ?? "expected a regular expression"
})

const Steps = Schema.Array(Step).pipe(
  Schema.maxItems(limits.steps, { message: () => `expected at most ${limits.steps} steps` })
)

const RuleDefinition = Schema.Struct({
  on: optional(On),
  match: optional(Match),
  repeat: optional(Schema.Boolean),
  steps: Steps.pipe(Schema.minItems(1, { message: () => "expected at least one step" }))
})

/**
 * A script as it is written. In a file `match` is text and steps are entries; code may also give a `RegExp` and behaviours.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Definition = Schema.Struct({
  rules: optional(
    Schema.Array(RuleDefinition).pipe(
      Schema.maxItems(limits.rules, { message: () => `expected at most ${limits.rules} rules` })
    )
  ),
  otherwise: optional(Steps)
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type Definition = typeof Definition.Type

/**
 * What is wrong with a script, and where in it. `file` is absent for a script given in code.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidScript extends Schema.TaggedError<InvalidScript>("@afterturn/testing/InvalidScript")(
  "InvalidScript",
  {
    file: optional(Schema.String),
    problems: Schema.Array(Schema.Struct({ path: Schema.String, problem: Schema.String }))
  }
) {
  override get message(): string {
    const shown = this.problems.slice(0, 5).map(({ path, problem }) => (path === "" ? problem : `${path}: ${problem}`))
    const more = this.problems.length > 5 ? ` (and ${this.problems.length - 5} more)` : ""
    return `the script${this.file === undefined ? "" : ` ${this.file}`} is invalid: ${shown.join("; ")}${more}`
  }
}

/**
 * A step and where it stands in the script, such as `rules[0].steps[1]`.
 *
 * @since 0.1.0
 * @category models
 */
export interface PlacedStep {
  readonly path: string
  readonly step: Step
}

/**
 * What a rule answers once: the requests that fail first, then the answer. Without one the last failure goes on.
 *
 * `steady`: it is an answer that does not fail by script, so that only the log's `assistant/message` uses it up.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reply {
  readonly failures: ReadonlyArray<PlacedStep>
  readonly answer: PlacedStep | undefined
  readonly steady: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Rule {
  readonly on: On
  readonly match: RegExp | undefined
  readonly repeat: boolean
  readonly replies: ReadonlyArray<Reply>
}

/**
 * A checked script. The last rule is `otherwise`: it fits every message, again and again.
 *
 * @since 0.1.0
 * @category models
 */
export interface Script {
  readonly rules: ReadonlyArray<Rule>
}

const decodeDefinition = Schema.decodeUnknownEither(Definition, { onExcessProperty: "error", errors: "all" })

/**
 * Checks a script, strictly: an unknown key is an error.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (definition: unknown, file?: string): Either.Either<Script, InvalidScript> =>
  Either.mapBoth(decodeDefinition(definition), {
    onLeft: (error) => invalid(problemsOf(error), file),
    onRight: (definition) => ({
      rules: [
        ...(definition.rules ?? []).map((rule, index) => ({
          on: rule.on ?? "any",
          match: rule.match === undefined ? undefined : new RegExp(rule.match),
          repeat: rule.repeat ?? false,
          replies: repliesOf(rule.steps, `rules[${index}].steps`)
        })),
        { on: "any", match: undefined, repeat: true, replies: repliesOf(definition.otherwise ?? [], "otherwise") }
      ]
    })
  })

/**
 * Reads a script file's text.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parse = (text: string, file?: string): Either.Either<Script, InvalidScript> => {
  const refuse = (problem: string) => Either.left(invalid([{ path: "", problem }], file))
  if (text.length > limits.file) return refuse(`expected at most ${limits.file} characters, got ${text.length}`)
  const json = Either.try(() => JSON.parse(text.replace(/^\uFEFF/, "")) as unknown)
  return Either.match(json, {
    onLeft: (error) => refuse(`expected JSON: ${jsonProblem(error)}`),
    onRight: (definition) => make(definition, file)
  })
}

const invalid = (problems: InvalidScript["problems"], file: string | undefined): InvalidScript =>
  new InvalidScript({ problems, ...(file === undefined ? {} : { file }) })

/** The runtime quotes the text around the mistake, line breaks included. */
const jsonProblem = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ")

const problemsOf = (error: ParseResult.ParseError): InvalidScript["problems"] => {
  try {
    return ParseResult.ArrayFormatter.formatErrorSync(error).map((issue) => ({
      path: pathText(issue.path),
      problem: issue.message.length <= maxProblem ? issue.message : `${issue.message.slice(0, maxProblem)}…`
    }))
  } catch {
    // The formatter quotes the value, and overflows the stack on one that is nested some thousand levels deep.
    return [{ path: "", problem: "expected a script, got a value that is nested too deep to show" }]
  }
}

/** Characters of a problem, which quotes what it is about. */
const maxProblem = 1_000

const pathText = (path: ReadonlyArray<PropertyKey>): string =>
  path.reduce<string>(
    (text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? String(key) : `${text}.${String(key)}`),
    ""
  )

const repliesOf = (steps: ReadonlyArray<Step>, path: string): ReadonlyArray<Reply> => {
  const replies: Array<Reply> = []
  let failures: Array<PlacedStep> = []
  for (const [index, step] of steps.entries()) {
    const placed = { path: `${path}[${index}]`, step }
    if (isFailure(step)) {
      failures.push(placed)
      continue
    }
    replies.push({ failures, answer: placed, steady: failures.length === 0 && !isBehaviour(step) })
    failures = []
  }
  return failures.length === 0 ? replies : [...replies, { failures, answer: undefined, steady: false }]
}
