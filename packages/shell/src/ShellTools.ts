/**
 * The tool by which a model runs commands, in the foreground and in the background.
 *
 * @since 0.1.0
 */
import { Approval } from "@afterturn/agent/Approval"
import * as ToolRegistry from "@afterturn/agent/ToolRegistry"
import { JobKillRequested, JobSettle, JobStart } from "@afterturn/jobs/JobEvents"
import { JobSpool } from "@afterturn/jobs/JobSpool"
import { Jobs } from "@afterturn/jobs/Jobs"
import * as Tool from "@effect/ai/Tool"
import * as Toolkit from "@effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Answer, textOf } from "./internal/answer.js"
import type { BashInput, Handlers, JobHandlers } from "./internal/handlers.js"
import { runAlone, runAsJob } from "./internal/handlers.js"
import { Shell } from "./Shell.js"
import type { InvalidShellConfig, ShellToolsOptions } from "./ShellConfig.js"
import { ShellConfig, toolsOptions } from "./ShellConfig.js"
import { ShellToolError } from "./ShellError.js"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

/** In the order in which a model should write them. */
const parameters = ({ enableRunInBackground, maxTimeoutMs, timeoutMs }: ShellToolsOptions) => ({
  description: Schema.String.annotations({
    description: "What the command does, in five to ten words and active voice, for the people who follow the session",
    examples: ["List the files of the current folder", "Install the dependencies"]
  }),
  command: Schema.String.annotations({ description: "The command, as `bash -c` takes it", examples: ["ls -la"] }),
  timeoutMs: optional(
    Schema.Number.pipe(Schema.int(), Schema.positive()).annotations({
      description: [
        `How long to wait for the command, in milliseconds: ${timeoutMs} when absent, ${maxTimeoutMs} at most.`,
        enableRunInBackground
          ? "One that takes longer goes on in the background, and you are given its job id"
          : "One that takes longer is ended"
      ].join(" "),
      examples: [10_000]
    })
  ),
  workdir: optional(
    Schema.String.annotations({
      description: "The folder to run in: absolute, or relative to the session's folder, which is the default",
      examples: ["packages/api"]
    })
  )
})

const backgroundParameter = {
  run_in_background: optional(
    Schema.Boolean.annotations({
      description:
        "Start the command and answer with its job id, without waiting for it. No time applies. Default false"
    })
  )
}

const description = ({ enableRunInBackground }: ShellToolsOptions): string =>
  [
    "Runs a bash command and answers with what it wrote to stdout and stderr, in the order in which it did, and how it ended.",
    "Each call is a shell of its own: variables and `cd` of an earlier one are gone, so name the folder with workdir.",
    "There is no terminal, and stdin is empty. Of a long output you get the end.",
    "Before you delete or move anything, look at the absolute path that it resolves to and make sure that it is the one you mean;",
    "never do so with a path that was computed and not looked at.",
    `An unset variable expands to nothing: write "\${NAME:?}" in such paths, so that the command stops instead.`,
    "The variable AFTERTURN_SESSION_ID names this session.",
    enableRunInBackground
      ? "Start servers, watchers and long work with run_in_background and not with `&` or nohup: what a command leaves behind when its shell ends loses its output and is no longer looked after."
      : "Nothing runs in the background: what a command leaves behind when its shell ends loses its output and is no longer looked after."
  ].join(" ")

const withBackground = (options: ShellToolsOptions) =>
  Tool.make("bash", {
    description: description(options),
    parameters: { ...parameters(options), ...backgroundParameter },
    success: Answer,
    failure: ShellToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Run a command")
    .annotate(Tool.Destructive, true)
    .annotate(Tool.Idempotent, false)
    .annotate(Tool.OpenWorld, true)
    .annotate(ToolRegistry.ToolText, textOf(options))

const foregroundOnly = (options: ShellToolsOptions) =>
  Tool.make("bash", {
    description: description(options),
    parameters: parameters(options),
    success: Answer,
    failure: ShellToolError,
    failureMode: "return"
  })
    .annotate(Tool.Title, "Run a command")
    .annotate(Tool.Destructive, true)
    .annotate(Tool.Idempotent, false)
    .annotate(Tool.OpenWorld, true)
    .annotate(ToolRegistry.ToolText, textOf(options))

/**
 * The tool with a background.
 *
 * @since 0.1.0
 * @category toolkits
 */
export const toolkit = (options: ShellToolsOptions) => Toolkit.make(withBackground(options))

/**
 * The tool without a background: it has no parameter for it, and a command that outlasts its time is ended.
 *
 * @since 0.1.0
 * @category toolkits
 */
export const toolkitForeground = (options: ShellToolsOptions) => Toolkit.make(foregroundOnly(options))

/**
 * Registers the tool. Every command is a job of the agent that calls, also in the foreground. With `enableRunInBackground: false` it is
 * one still, and the tool is that of `layerForeground`.
 *
 * Where there is an `Approval`, it is asked before each command; without one nothing is gated. Where there is a `JobSpool` whose output
 * a person can look at, answers say where it is.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Partial<ShellToolsOptions>
): Layer.Layer<never, InvalidShellConfig, Shell | ShellConfig | Jobs | ToolRegistry.ToolRegistry> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const settings = yield* toolsOptions(options)
      const spool = Option.getOrUndefined(yield* Effect.serviceOption(JobSpool))
      const handlers: JobHandlers = { ...(yield* shared(settings)), jobs: yield* Jobs, spool }
      yield* handlers.jobs.registerReaper("bash", handlers.shell.reap)
      const bash = (input: BashInput) => runAsJob(handlers, input)
      return settings.enableRunInBackground
        ? registered(toolkit(settings), toolkit(settings).toLayer({ bash }), withJobs, settings)
        : registered(toolkitForeground(settings), toolkitForeground(settings).toLayer({ bash }), withJobs, settings)
    })
  )

/**
 * Registers the tool for a composition without jobs: commands run in the foreground only.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerForeground = (
  options?: Partial<Omit<ShellToolsOptions, "enableRunInBackground">>
): Layer.Layer<never, InvalidShellConfig, Shell | ShellConfig | ToolRegistry.ToolRegistry> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const settings = yield* toolsOptions({ ...options, enableRunInBackground: false })
      const handlers = yield* shared(settings)
      const bash = (input: BashInput) => runAlone(handlers, input)
      return registered(
        toolkitForeground(settings),
        toolkitForeground(settings).toLayer({ bash }),
        withoutJobs,
        settings
      )
    })
  )

const shared = (options: ShellToolsOptions): Effect.Effect<Handlers, never, Shell | ShellConfig> =>
  Effect.gen(function* () {
    return {
      shell: yield* Shell,
      settings: yield* ShellConfig,
      options,
      approval: Option.getOrUndefined(yield* Effect.serviceOption(Approval))
    }
  })

const registered = <Tools extends Record<string, Tool.Any>>(
  kit: Toolkit.Toolkit<Tools>,
  handlers: Layer.Layer<Tool.HandlersFor<Tools>>,
  info: Pick<ToolRegistry.ToolkitInfo, "requires" | "writes">,
  { enableRunInBackground, maxTimeoutMs, timeoutMs }: ShellToolsOptions
): Layer.Layer<never, never, ToolRegistry.ToolRegistry> =>
  ToolRegistry.layerToolkit(kit, {
    package: "@afterturn/shell",
    ...info,
    note: [
      "Linux and macOS. Asks Approval before each command, where there is one.",
      `timeoutMs: ${timeoutMs}, maxTimeoutMs: ${maxTimeoutMs}, enableRunInBackground: ${enableRunInBackground}`
    ].join(" ")
  }).pipe(Layer.provide(handlers))

const withJobs = {
  requires: ["Shell", "ShellConfig", "Jobs", "an agent that makes the call"],
  writes: [JobStart.type, JobKillRequested.type, JobSettle.type]
}

const withoutJobs = { requires: ["Shell", "ShellConfig"], writes: [] }
