/**
 * The program: a command line in, an exit code out.
 *
 * @since 0.1.0
 */
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Argv from "./Argv.js"
import type { CliError } from "./CliError.js"
import { exitCodes, failure, fromCause, render as renderError, usage } from "./CliError.js"
import * as Commands from "./Commands.js"
import { exporter } from "./Exporter.js"
import * as Help from "./Help.js"
import type { StdoutClosed } from "./Output.js"
import { Output } from "./Output.js"
import { version } from "./Version.js"

/**
 * Runs a command line, without the words that started the program. Results and errors are written by the time that it is done; it
 * never fails. Interrupting it lets the command end in order.
 *
 * @since 0.1.0
 * @category running
 */
export const main = (argv: ReadonlyArray<string>): Effect.Effect<number, never, Output> =>
  Effect.flatMap(Argv.parse(Commands.root, argv), perform).pipe(
    // Who closes stdout has seen enough; a disk that is full has not.
    Effect.catchTag("StdoutClosed", ({ fault }) =>
      fault === undefined
        ? Effect.void
        : Effect.fail(failure("output_unwritable", `the output cannot be written: ${fault}`))
    ),
    Effect.as<number>(exitCodes.ok),
    // Nothing is lost: an interruption goes on, everything else is reported.
    Effect.catchAllCause((cause) => Option.match(fromCause(cause), { onNone: () => Effect.interrupt, onSome: report }))
  )

const perform = (request: Argv.Request): Effect.Effect<void, CliError | StdoutClosed, Output> => {
  switch (request._tag) {
    case "Version":
      return line(version)
    case "Help":
      return Effect.flatMap(Output, ({ columns, line }) => line(Help.render(find(request.path), columns)))
    case "Completions":
      return Effect.flatMap(completions(request.shell), (lines) => line(lines.join("\n")))
    case "Run":
      return Effect.gen(function* () {
        const level = yield* levelOf(request.logLevel)
        const telemetry = yield* telemetryOf(request.otlp)
        yield* find(request.path)
          .run(request.args)
          .pipe(
            Logger.withMinimumLogLevel(level),
            Effect.provide(telemetry),
            Effect.provide(Layer.merge(layerLogger, layerNode))
          )
      })
  }
}

const line = (text: string) => Effect.flatMap(Output, (output) => output.line(text))

const report = (error: CliError) =>
  Effect.flatMap(Output, (output) => Effect.as(output.note(renderError(error, output.json)), error.exit))

/** The command that a path of names leads to: `Argv` has only names that exist. */
const find = (path: ReadonlyArray<string>): Commands.CliCommand =>
  path.reduce((command, name) => command.children.find((child) => child.name === name) ?? command, Commands.root)

const levelOf = (name: string | undefined): Effect.Effect<LogLevel.LogLevel, CliError> => {
  if (name === undefined) return Effect.succeed(LogLevel.Warning)
  const level = LogLevel.allLevels.find((candidate) => candidate._tag.toLowerCase() === name)
  return level === undefined
    ? Effect.fail(
        usage(
          `--log-level: expected one of ${LogLevel.allLevels.map(({ _tag }) => _tag.toLowerCase()).join(", ")}, got ${JSON.stringify(name)}`
        )
      )
    : Effect.succeed(level)
}

/** Nothing is loaded where nothing is exported. */
const telemetryOf = (otlp: string | undefined): Effect.Effect<Layer.Layer<never>, CliError> =>
  Effect.flatMap(exporter(otlp), (options) =>
    options === undefined
      ? Effect.succeed(Layer.empty)
      : Effect.map(
          Effect.promise(() => import("./Telemetry.js")),
          ({ layer }) => layer(options)
        )
  )

/** Loaded for commands only: help has no use for files and processes. */
const layerNode = Layer.unwrapEffect(
  Effect.map(
    Effect.promise(() => import("@effect/platform-node/NodeContext")),
    ({ layer }) => layer
  )
)

/** Logs are lines on stderr, of JSON where errors are. */
const layerLogger = Layer.unwrapEffect(
  Effect.map(Output, ({ json }) =>
    Logger.replace(Logger.defaultLogger, Logger.withConsoleError(json ? Logger.jsonLogger : Logger.logfmtLogger))
  )
)

const completions = (shell: string): Effect.Effect<ReadonlyArray<string>> => {
  const { descriptor, name } = Commands.root
  const script =
    shell === "fish"
      ? CommandDescriptor.getFishCompletions(descriptor, name)
      : shell === "zsh"
        ? CommandDescriptor.getZshCompletions(descriptor, name)
        : CommandDescriptor.getBashCompletions(descriptor, name)
  return Effect.map(script, withoutWizard)
}

/** The library completes an option of its own that this program does not have. */
const withoutWizard = (lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines
    .filter((text) => !/^complete .* -l wizard\b|^\s*'[^']*--wizard\[/.test(text))
    .map((text) => text.replace(/ --wizard\b/, ""))
