/**
 * Where a command writes: results to stdout, everything else to stderr.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * Whoever read stdout is gone (`| head -1`). A command that only prints ends here, and its process ends quietly.
 *
 * @since 0.1.0
 * @category errors
 */
export class StdoutClosed extends Schema.TaggedError<StdoutClosed>("@afterturn/cli/StdoutClosed")("StdoutClosed", {
  /** Why it cannot be written to, when it is not that its reader has left. */
  fault: Schema.optionalWith(Schema.String, { exact: true })
}) {
  override get message(): string {
    return "nobody reads stdout any more"
  }
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Output extends Context.Tag("@afterturn/cli/Output")<
  Output,
  {
    /** Whether results and errors are wanted as JSON. */
    readonly json: boolean
    /** Whether stdout may be coloured: it is a terminal and `NO_COLOR` is not set. */
    readonly colour: boolean
    /** Whether stdout is a terminal, which some text could harm. */
    readonly terminal: boolean
    /** Columns of the terminal that stdout is; `Infinity` when it is none. */
    readonly columns: number
    /** Writes text to stdout as it is; done once the system has taken it. */
    readonly write: (text: string) => Effect.Effect<void, StdoutClosed>
    /** Writes a line to stdout. */
    readonly line: (text: string) => Effect.Effect<void, StdoutClosed>
    /** Writes a line to stderr. */
    readonly note: (text: string) => Effect.Effect<void>
  }
>() {}
