/**
 * Commands as jobs: each in a process group of its own, which ends whole when the job is asked to end.
 *
 * @since 0.1.0
 */
import type { JobId, JobProcess, JobSpec } from "@afterturn/jobs/Job"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"
import { endGroup } from "./internal/endGroup.js"
import type { CommandEnd, CommandSink, HeldShell } from "./internal/runCommand.js"
import { hold, runHeld } from "./internal/runCommand.js"
import type { ProcessGroup, Remains } from "./ShellBackend.js"
import { ShellBackend } from "./ShellBackend.js"
import type { ShellSettings } from "./ShellConfig.js"
import { ShellConfig } from "./ShellConfig.js"
import type { ShellError } from "./ShellError.js"
import { InvalidCommand } from "./ShellError.js"

export type { CommandEnd, CommandSink, HeldShell } from "./internal/runCommand.js"

declare module "@afterturn/jobs/Job" {
  interface JobKindMap {
    readonly bash: "bash"
  }
}

/**
 * A command to run: `workdir` is an absolute path, `owner` the session that it belongs to.
 *
 * @since 0.1.0
 * @category models
 */
export interface ShellCommand {
  readonly command: string
  readonly workdir: string
  readonly owner?: SessionId
}

/**
 * A command as a job. `end`: how the command ended, once its shell has by itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface CommandJob {
  readonly spec: JobSpec<HeldShell, ShellError, never>
  readonly end: Effect.Effect<Option.Option<CommandEnd>>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Shell extends Context.Tag("@afterturn/shell/Shell")<
  Shell,
  {
    /**
     * A command as a job of kind `bash`. Its shell is up before the job's start is recorded, and gets the command after. The job is
     * `completed` whatever the exit code, and `killed` when a signal ended its shell, whoever sent it; then nothing of its group is
     * left.
     */
    readonly job: (command: ShellCommand) => Effect.Effect<CommandJob, InvalidCommand>
    /** Runs a command without a job. Interrupting it ends its group, and is through when nothing of that is left. */
    readonly run: (command: ShellCommand, sink: CommandSink) => Effect.Effect<CommandEnd, ShellError>
    /** Ends what a dead host left of a command, when it provably is that, and says what became of it. */
    readonly reap: (process: JobProcess) => Effect.Effect<string>
  }
>() {}

/**
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Shell, never, ShellBackend | ShellConfig> = Layer.effect(
  Shell,
  Effect.map(Effect.all([ShellBackend, ShellConfig]), ([backend, settings]) => ({
    job: (command) =>
      Effect.zipRight(
        check(command),
        Effect.map(Ref.make(Option.none<CommandEnd>()), (end) => makeJob(backend, settings, command, end))
      ),
    run: (command, sink) =>
      Effect.scoped(
        Effect.flatMap(Effect.zipRight(check(command), bringUp(backend, settings, command, undefined)), (held) =>
          runHeld(settings, held, command.command, sink, "give-up")
        )
      ),
    reap: (process) =>
      Effect.flatMap(backend.find(process), (remains) => endRemains(remains, settings.terminationGrace))
  }))
)

type Backend = (typeof ShellBackend)["Service"]

const makeJob = (
  backend: Backend,
  settings: ShellSettings,
  command: ShellCommand,
  end: Ref.Ref<Option.Option<CommandEnd>>
): CommandJob => ({
  spec: {
    kind: "bash",
    label: command.command,
    ...(command.owner === undefined ? {} : { owner: command.owner }),
    outputLimitBytes: settings.outputLimitBytes,
    prepare: (id) =>
      Effect.map(bringUp(backend, settings, command, id), (held) => ({ held, process: held.shell.process })),
    run: (context, held) =>
      runHeld(settings, held, command.command, context, "insist").pipe(
        Effect.tap((ended) => Ref.set(end, Option.some(ended))),
        // To be ended by a signal is to be killed, also when nobody asked the job to end.
        Effect.flatMap(({ exit }): Effect.Effect<void> => (exit._tag === "Signaled" ? Effect.interrupt : Effect.void))
      )
  },
  end: Ref.get(end)
})

const check = ({ command }: ShellCommand): Effect.Effect<void, InvalidCommand> => {
  if (command.trim() === "") return new InvalidCommand({ code: "invalid_command", reason: "the command is empty" })
  return command.includes("\0")
    ? new InvalidCommand({ code: "invalid_command", reason: "a command cannot hold a NUL character" })
    : Effect.void
}

const bringUp = (
  backend: Backend,
  settings: ShellSettings,
  command: ShellCommand,
  id: JobId | undefined
): Effect.Effect<HeldShell, ShellError, Scope.Scope> =>
  hold(
    backend.spawn({
      shell: settings.shell,
      workdir: command.workdir,
      environment: {
        ...settings.environment,
        ...(command.owner === undefined ? {} : { AFTERTURN_SESSION_ID: command.owner }),
        ...(id === undefined ? {} : { AFTERTURN_JOB_ID: id })
      }
    }),
    settings
  )

const endRemains = (remains: Remains, grace: Duration.Duration): Effect.Effect<string> => {
  switch (remains._tag) {
    case "Gone":
      return Effect.succeed("nothing of it was running")
    case "Found":
      return endFound(remains.group, grace)
    case "Unclear":
      return Effect.succeed(unclearWords(remains.pids))
  }
}

const endFound = Effect.fnUntraced(function* (group: ProcessGroup, grace: Duration.Duration) {
  const { alive } = yield* group.members
  const ended = yield* endGroup(group, grace)
  if (ended === "alive") return `its ${countOf(alive)} could not be ended`
  return alive === 0 ? "nothing of it was running" : `its ${countOf(alive)} ${alive === 1 ? "was" : "were"} ended`
})

const countOf = (processes: number): string => (processes === 1 ? "process" : `${processes} processes`)

const unclearWords = (pids: ReadonlyArray<number>): string =>
  pids.length === 0
    ? "could not tell whether something of it is still running"
    : pids.length === 1
      ? `could not tell whether process ${pids[0]} is its own: left alone`
      : `could not tell whether processes ${pids.join(", ")} are its own: left alone`
