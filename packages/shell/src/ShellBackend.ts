/**
 * The seam to the operating system's processes.
 *
 * @since 0.1.0
 */
import type { JobProcess } from "@afterturn/jobs/Job"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ShellError } from "./ShellError.js"

/**
 * What a process is started with. `environment` is all that it gets, beside what a shell sets itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpawnRequest {
  /** A name that is looked up in the environment's `PATH`, or a path. */
  readonly shell: string
  /** An absolute path. */
  readonly workdir: string
  readonly environment: Readonly<Record<string, string>>
}

/**
 * How a shell ended: by itself, or by a signal.
 *
 * @since 0.1.0
 * @category models
 */
export type ShellExit =
  | { readonly _tag: "Exited"; readonly code: number }
  | { readonly _tag: "Signaled"; readonly signal: string }

/**
 * @since 0.1.0
 * @category models
 */
export interface GroupMembers {
  readonly alive: number
  /** Ended, and not yet collected by their parent. */
  readonly unreaped: number
}

/**
 * The processes of one command: its process group, with the groups that members opened in the same session of the operating system
 * (`timeout` and `set -m` do) where the platform shows sessions. Who left it by a session of its own (`setsid`) is no member.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProcessGroup {
  readonly members: Effect.Effect<GroupMembers>
  /** To every member; nothing happens when there is none. `SIGTERM` reaches stopped ones as well. */
  readonly signal: (signal: "SIGTERM" | "SIGKILL") => Effect.Effect<void>
}

/**
 * A shell that has come up and waits for its command.
 *
 * @since 0.1.0
 * @category models
 */
export interface ShellProcess extends ProcessGroup {
  readonly process: JobProcess
  /** Hands over the command, which runs from now on. When this host ends before all of it was handed over, nothing of it runs. */
  readonly start: (command: string) => Effect.Effect<void>
  /**
   * The next bytes that the command's processes wrote to stdout or stderr; `undefined` once all have closed both. Only the waiting can
   * be interrupted, and takes nothing then. What is not read holds the writers up.
   */
  readonly read: Effect.Effect<Uint8Array | undefined>
  /** What is written and not read by now, without waiting: as much as the channel holds. */
  readonly rest: Effect.Effect<Uint8Array>
  /** The end of the shell, also while processes that it started live on. */
  readonly exit: Effect.Effect<ShellExit>
}

/**
 * What is left of a process that another run of the host started.
 *
 * @since 0.1.0
 * @category models
 */
export type Remains =
  | { readonly _tag: "Gone" }
  | { readonly _tag: "Found"; readonly group: ProcessGroup }
  /** Processes run under its number, and whether they are its own cannot be proven. */
  | { readonly _tag: "Unclear"; readonly pids: ReadonlyArray<number> }

/**
 * @since 0.1.0
 * @category tags
 */
export class ShellBackend extends Context.Tag("@afterturn/shell/ShellBackend")<
  ShellBackend,
  {
    /**
     * Brings up a shell in a process group of its own. Closing the scope lets go of its channels; a shell that was not given a command
     * ends then, another one goes on.
     */
    readonly spawn: (request: SpawnRequest) => Effect.Effect<ShellProcess, ShellError, Scope.Scope>
    /** Looks for what an earlier run left. Never takes a later process that got the same number for it. */
    readonly find: (process: JobProcess) => Effect.Effect<Remains>
  }
>() {}
