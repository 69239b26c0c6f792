/**
 * The terminal that a person sits at.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"
import type { Size } from "./View.js"

/**
 * Lives as long as its scope, which puts the terminal back into the mode that it was in.
 *
 * @since 0.1.0
 * @category tags
 */
export class Tty extends Context.Tag("@afterturn/cli/Tty")<
  Tty,
  {
    readonly size: Effect.Effect<Size>
    /** Each new size. */
    readonly resizes: Stream.Stream<Size>
    /** What is typed, as it comes. Ends when the terminal goes away. */
    readonly input: Stream.Stream<string>
    /** Writes at once. */
    readonly write: (bytes: string) => Effect.Effect<void>
    /** Gives the terminal back, stops the process as Ctrl-Z does, and takes the terminal again when the process goes on. */
    readonly suspend: Effect.Effect<void>
  }
>() {}
