import * as CliConfig from "@effect/cli/CliConfig"
import type * as Command from "@effect/cli/Command"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import type { HelpDoc } from "@effect/cli/HelpDoc"
import type { ValidationError } from "@effect/cli/ValidationError"
import type { NodeContext } from "@effect/platform-node/NodeContext"
import * as Effect from "effect/Effect"
import type { CommandSpec } from "../Argv.js"
import type { CliError } from "../CliError.js"
import { usage } from "../CliError.js"
import type { HelpSource } from "../Help.js"
import { argumentsOf, optionsOf, plainText } from "../Help.js"
import type { Output, StdoutClosed } from "../Output.js"

/** What a command runs on. */
export type Services = Output | NodeContext

/** What a command does: its results go to `Output`. */
export type Handler = Effect.Effect<void, CliError | StdoutClosed, Services>

/** A command, or a group of them. */
export interface CliCommand extends CommandSpec, HelpSource {
  readonly children: ReadonlyArray<CliCommand>
  /** For completions. */
  readonly descriptor: CommandDescriptor.Command<unknown>
  /** Runs it on arguments in the order that `Argv` brings them into. */
  readonly run: (args: ReadonlyArray<string>) => Handler
}

/** `Argv` knows options better than the parser's guesses do, and acts on the built-in ones. */
const config = CliConfig.make({ isCaseSensitive: true, autoCorrectLimit: 0, showBuiltIns: false })

/** A command that does something. */
export const leaf =
  <A>(command: Pick<Command.Command<string, Services, CliError | StdoutClosed, A>, "descriptor" | "handler">) =>
  (parent: string): CliCommand => {
    const described = describe(command.descriptor, parent)
    const parse = (args: ReadonlyArray<string>) =>
      Effect.mapError(CommandDescriptor.parse(command.descriptor, [described.name, ...args], config), (error) =>
        usage(`${problemOf(error)}; see ${described.call} --help`)
      )
    return {
      ...described,
      children: [],
      run: (args) =>
        Effect.flatMap(parse(args), (directive) =>
          directive._tag === "UserDefined" ? command.handler(directive.value) : Effect.void
        )
    }
  }

/** Commands under a name. */
export const group =
  (name: string, help: HelpDoc, ...members: readonly [Member, ...ReadonlyArray<Member>]) =>
  (parent: string): CliCommand => {
    const call = `${parent} ${name}`.trimStart()
    const [first, ...rest] = members
    const children = [first(call), ...rest.map((member) => member(call))] as const
    const descriptor = CommandDescriptor.make(name).pipe(
      CommandDescriptor.withDescription(help),
      CommandDescriptor.withSubcommands(
        children.map((child) => [child.name, child.descriptor] as const) as [readonly [string, Descriptor]]
      )
    )
    return { ...describe(descriptor, parent), children, run: () => Effect.void }
  }

type Member = (parent: string) => CliCommand

type Descriptor = CommandDescriptor.Command<unknown>

const describe = (descriptor: Descriptor, parent: string): Omit<CliCommand, "children" | "run"> => {
  const [name = ""] = CommandDescriptor.getNames(descriptor)
  const usage = CommandDescriptor.getUsage(descriptor)
  return {
    name,
    call: `${parent} ${name}`.trimStart(),
    descriptor,
    usage,
    help: CommandDescriptor.getHelp(descriptor, config),
    options: optionsOf(usage).map(({ names, value }) => ({ names, takesValue: value !== undefined })),
    maxArgs: argumentsOf(usage).length
  }
}

const problemOf = (error: ValidationError): string =>
  plainText(error.error)
    .replace(/^Missing argument <(.+)>$/, "expected $1")
    .replace(/^Expected to find option: '(.+)'$/, "expected $1")
