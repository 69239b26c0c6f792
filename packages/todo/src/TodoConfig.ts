/**
 * What a deployment decides about todo lists.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { describe } from "./internal/text.js"

/**
 * When a list is cleared: at the start of `every-turn`, or of a `user-turn` only. Turns opened by a job notice, a reminder, a goal
 * round or a call from outside go on with the work that was there: under `user-turn` they keep the list, and all others clear it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ClearOn = Schema.Literal("every-turn", "user-turn").annotations({
  message: (issue) => ({
    message: `expected "every-turn" or "user-turn", got ${describe(issue.actual)}`,
    override: true
  })
})

/**
 * @since 0.1.0
 * @category schemas
 */
export type ClearOn = typeof ClearOn.Type

/**
 * @since 0.1.0
 * @category models
 */
export interface TodoOptions {
  /** Whether several todos may be `in_progress` at once. No default: it is the deployment's choice. */
  readonly allowParallelInProgress: boolean
  /** When a list is cleared. Default `every-turn`. */
  readonly clearOn?: ClearOn | undefined
  /** Todos in one list, at most. Default 1,000. */
  readonly maxItems?: number | undefined
  /** Characters (code points) of one content after trimming, at most. Default 10,000. */
  readonly maxContentLength?: number | undefined
  /** Characters (UTF-16 units) of all contents of a list together, at most. Default 1,000,000. */
  readonly maxTotalLength?: number | undefined
}

/**
 * The options with their defaults.
 *
 * @since 0.1.0
 * @category models
 */
export interface TodoSettings {
  readonly allowParallelInProgress: boolean
  readonly clearOn: ClearOn
  readonly maxItems: number
  readonly maxContentLength: number
  readonly maxTotalLength: number
}

/**
 * There is no layer of it without `allowParallelInProgress`.
 *
 * @since 0.1.0
 * @category tags
 */
export class TodoConfig extends Context.Tag("@afterturn/todo/TodoConfig")<TodoConfig, TodoSettings>() {}

/**
 * A configuration that cannot be used. The message names each option that is wrong and what was expected.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidTodoConfig extends Schema.TaggedError<InvalidTodoConfig>("@afterturn/todo/InvalidTodoConfig")(
  "InvalidTodoConfig",
  { problems: Schema.Array(Schema.Struct({ option: Schema.String, problem: Schema.String })) }
) {
  override get message(): string {
    const problems = this.problems.map(({ option, problem }) => (option === "" ? problem : `${option}: ${problem}`))
    return `todo configuration: ${problems.join("; ")}`
  }
}

const choice = "expected true (several todos may be in_progress at once) or false (at most one)"

const Limit = Schema.Int.pipe(Schema.between(1, Number.MAX_SAFE_INTEGER)).annotations({
  message: (issue) => ({ message: `expected a whole number from 1, got ${describe(issue.actual)}`, override: true })
})

const Options = Schema.Struct({
  allowParallelInProgress: Schema.propertySignature(
    Schema.Boolean.annotations({ message: (issue) => `${choice}, got ${describe(issue.actual)}` })
  ).annotations({ missingMessage: () => `${choice}, got nothing; there is no default` }),
  clearOn: Schema.optionalWith(ClearOn, { exact: true, default: () => "every-turn" as const }),
  maxItems: Schema.optionalWith(Limit, { exact: true, default: () => 1000 }),
  maxContentLength: Schema.optionalWith(Limit, { exact: true, default: () => 10_000 }),
  maxTotalLength: Schema.optionalWith(Limit, { exact: true, default: () => 1_000_000 })
})

const decode = Schema.decodeUnknownEither(Options, { errors: "all", onExcessProperty: "error" })

/**
 * Reads options of unknown origin. An option that does not exist is refused as well.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parse = (options: unknown): Either.Either<TodoSettings, InvalidTodoConfig> => {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    const problem = `expected an object with allowParallelInProgress, got ${describe(options)}`
    return Either.left(new InvalidTodoConfig({ problems: [{ option: "", problem }] }))
  }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  return Either.mapLeft(
    decode(given),
    (error) =>
      new InvalidTodoConfig({
        problems: ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) => ({
          option: path.map(String).join("."),
          problem: message
        }))
      })
  )
}

/**
 * The configuration from a typed value.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: TodoOptions): Layer.Layer<TodoConfig, InvalidTodoConfig> => layerUnknown(options)

/**
 * The configuration from a value of unknown origin, such as a parsed file.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerUnknown = (options: unknown): Layer.Layer<TodoConfig, InvalidTodoConfig> =>
  Layer.effect(
    TodoConfig,
    Effect.suspend(() => parse(options))
  )

/**
 * The configuration from Effect's `Config`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  options: Config.Config.Wrap<TodoOptions>
): Layer.Layer<TodoConfig, InvalidTodoConfig | ConfigError.ConfigError> =>
  Layer.effect(TodoConfig, Effect.flatMap(Config.unwrap(options), parse))
