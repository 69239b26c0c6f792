/**
 * The seam to pseudo terminals and the processes in them.
 *
 * @since 0.1.0
 */
import type { JobProcess } from "@afterturn/jobs/Job"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TerminalFolderNotFound, TerminalOpenFailed } from "./TerminalError.js"

/**
 * Columns and rows of characters.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/**
 * What a terminal is opened with. `environment` is all that the program gets, beside what a shell sets itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalRequest {
  /** A name that is looked up in the environment's `PATH`, or an absolute path. */
  readonly command: string
  readonly args: ReadonlyArray<string>
  /** An absolute path. */
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
  readonly size: TerminalSize
}

/**
 * How the program of a terminal ended.
 *
 * @since 0.1.0
 * @category models
 */
export type TerminalExit =
  | { readonly _tag: "Exited"; readonly code: number }
  | { readonly _tag: "Signaled"; readonly signal: string }

/**
 * What has the terminal now. `undefined`: the platform does not show it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Foreground {
  /** The name of the program in front. */
  readonly program: string | undefined
  /** Whether it is the program that the terminal was opened with. */
  readonly isLeader: boolean | undefined
  /** Whether one of its processes waits for something to be typed. */
  readonly waits: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type TerminalSignal = "SIGINT" | "SIGTERM" | "SIGKILL" | "SIGTSTP" | "SIGHUP"

/**
 * A program in a terminal of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface TerminalProcess {
  readonly process: JobProcess
  /**
   * The next bytes that were written to the terminal; `undefined` once the program has ended and all that was written by then has been
   * read. Only the waiting can be interrupted, and takes nothing then. What is not read holds the writers up.
   */
  readonly read: Effect.Effect<Uint8Array | undefined>
  /** Types bytes, and is through when the terminal has taken them. Nothing happens once the program has ended. */
  readonly write: (bytes: Uint8Array) => Effect.Effect<void>
  readonly resize: (size: TerminalSize) => Effect.Effect<void>
  /** How the program ended: known when `read` has given `undefined`. */
  readonly exit: Effect.Effect<TerminalExit>
  readonly foreground: Effect.Effect<Foreground>
  /**
   * To the process group in front. `leader`: that is the terminal's own program, which is spared SIGKILL; `nothing`: there is no such
   * group.
   */
  readonly signal: (signal: TerminalSignal) => Effect.Effect<"sent" | "leader" | "nothing">
  /** How many processes of the terminal are alive: also those that left for a session of their own, where that can be seen. */
  readonly alive: Effect.Effect<number>
  /** To all of them. */
  readonly signalAll: (signal: "SIGHUP" | "SIGKILL") => Effect.Effect<void>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class TerminalBackend extends Context.Tag("@afterturn/terminal/TerminalBackend")<
  TerminalBackend,
  {
    /** Opens a terminal. Closing the scope lets go of it; its processes are for `signalAll` to end before. */
    readonly open: (
      request: TerminalRequest
    ) => Effect.Effect<TerminalProcess, TerminalFolderNotFound | TerminalOpenFailed, Scope.Scope>
    /** Ends what a dead host left of a terminal, where it provably is that, and says what became of it. */
    readonly reap: (process: JobProcess) => Effect.Effect<string>
  }
>() {}
