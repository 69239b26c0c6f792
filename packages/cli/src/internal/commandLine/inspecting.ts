/** The commands that show what there is, and change nothing. */
import type { StrictProvider } from "@afterturn/agent/ToolSchema"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { group, leaf } from "../cliCommand.js"
import { flag, nonEmpty, oneOf, option, positive } from "../parameters.js"
import { db, id, json, text } from "./shared.js"

const providers = ["openai-strict", "anthropic"] as const satisfies ReadonlyArray<StrictProvider>

const wakes = Command.make("wakes", { db, json, id }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("../../commands/wakes.js")),
    ({ wakes }) => wakes(options)
  )
).pipe(
  Command.withDescription(
    text(
      "Shows what can wake a session: waiting messages, running jobs, the wake budget, reminders, its goal.",
      "With --json, an array of { kind, id?, summary, at?, detail }."
    )
  )
)

const todoShow = Command.make(
  "show",
  { history: flag("history", "Every list that the session showed, oldest first."), db, json, id },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/todo.js")),
      ({ show }) => show(options)
    )
).pipe(Command.withDescription(text("Shows the todo list of a session.")))

const doctor = Command.make("doctor", { db, json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("../../commands/doctor.js")),
    ({ doctor }) => doctor(options)
  )
).pipe(
  Command.withDescription(
    text(
      "Looks at what the command needs: Node, the database, who drives its sessions, the disk, models, time zones.",
      "A line each; with --json, an array of { check, ok, detail }. Exits 1 when something is wrong. Of keys it only says whether they are set."
    )
  )
)

const simulate = Command.make(
  "simulate",
  {
    seed: option("seed", "N", "The first seed. Default: 1.", positive),
    seeds: option("seeds", "N", "How many seeds, one after the other. Default: 1.", positive),
    steps: option("steps", "FILE", "With one seed: plays these steps, as a failed run prints them.", nonEmpty),
    workers: option("workers", "N", "Processes at a time. Default: one for each processor.", positive),
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/simulate.js")),
      ({ simulate }) => simulate(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Plays days of agents in memory, on a clock of their own: todos, jobs, reminders and goals on two hosts whose store fails and who die " +
        "at any instant. Then checks that nothing was lost, doubled or early. A seed decides all of it.",
      "Prints what the runs have met. A run that breaks a promise is shortened and printed; exits 1 then.",
      "With --json, { seeds, failures: [{ scenario, seed, steps, findings }], coverage }."
    )
  )
)

const toolsCatalog = Command.make(
  "catalog",
  {
    markdown: flag("markdown", "As a document."),
    check: option("check", "FILE", "Compare the document with this file and the tools with their budget.", nonEmpty),
    provider: option(
      "provider",
      "NAME",
      "In the form of a provider's strict mode: openai-strict or anthropic.",
      oneOf(providers)
    ),
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/tools.js")),
      ({ catalog }) => catalog(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Prints the tools that agents have, and about how many tokens each costs in every request.",
      "With --json, an array of { package, name, title, description, parameters, requires, writes, note, hints, tokens }; parameters is " +
        "JSON Schema. With --check, exits 1 when the file is out of date or a tool is over budget."
    )
  )
)

export const inspecting = [
  leaf(wakes),
  group("todo", text("Looks at todo lists."), leaf(todoShow)),
  group("tools", text("Looks at the tools of agents."), leaf(toolsCatalog)),
  leaf(doctor),
  leaf(simulate)
] as const
