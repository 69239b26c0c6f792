/**
 * The commands: what each is called, takes and does. What a command needs is loaded when it runs, so that help costs none of it.
 *
 * @since 0.1.0
 */
import type { CliCommand } from "./internal/cliCommand.js"
import { group } from "./internal/cliCommand.js"
import { driving } from "./internal/commandLine/driving.js"
import { goalCommands } from "./internal/commandLine/goal.js"
import { inspecting } from "./internal/commandLine/inspecting.js"
import { running } from "./internal/commandLine/running.js"
import { scheduleCommands } from "./internal/commandLine/schedule.js"
import { sessionCommands } from "./internal/commandLine/sessions.js"
import { text } from "./internal/commandLine/shared.js"

export type { CliCommand, Handler, Services } from "./internal/cliCommand.js"

/**
 * Every command, under the name of the program.
 *
 * @since 0.1.0
 * @category commands
 */
export const root: CliCommand = group(
  "afterturn",
  text(
    "An agent that keeps working around its turns. Everything it does is in one durable log.",
    "Options may stand anywhere; -- ends them. Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, " +
      "2 wrong command line, 3 a goal was stopped, 128 and its number for a signal.",
    "Environment: AFTERTURN_DB and AFTERTURN_MODEL stand in for --db and --model, NO_COLOR turns colours off.",
    "See afterturn COMMAND --help."
  ),
  ...driving,
  sessionCommands,
  ...running,
  goalCommands,
  scheduleCommands,
  ...inspecting
)("")
