/** The commands about what agents have running. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { group, leaf } from "../cliCommand.js"
import { argument, flag, keyNames, nonEmpty, option, required, sessionId, terminalSize } from "../parameters.js"
import { db, json, text } from "./shared.js"

const jobs = () => Effect.promise(() => import("../../commands/jobs.js"))

const owner = required("session", "ID", "The session whose jobs are meant.", sessionId)

const job = argument("JOBID", "The job, such as bash-1.", nonEmpty)

const jobsList = Command.make("list", { session: owner, db, json }, (options) =>
  Effect.flatMap(jobs(), ({ list }) => list(options))
).pipe(
  Command.withDescription(
    text("Lists the jobs of a session in the order in which they started, of finished ones the newest 100.")
  )
)

const jobsOutput = Command.make(
  "output",
  {
    session: owner,
    follow: flag("follow", "Stay, and print what comes, until the job ends."),
    db,
    json,
    job
  },
  (options) => Effect.flatMap(jobs(), ({ output }) => output(options))
).pipe(
  Command.withDescription(
    text(
      "Prints what a job wrote, also while another process runs it, and after a restart.",
      "Its status goes to stderr. With --json, { offset, text, droppedBytes } a line, then { job }."
    )
  )
)

const jobsKill = Command.make(
  "kill",
  {
    session: owner,
    reason: option("reason", "TEXT", "Why; kept in the log and passed on to the job.", nonEmpty),
    db,
    json,
    job
  },
  (options) => Effect.flatMap(jobs(), ({ kill }) => kill(options))
).pipe(
  Command.withDescription(
    text(
      "Ends a job.",
      "The process that drives the session is asked to; with no answer in 10 seconds that fails. Where no process drives it, the jobs " +
        "that its last one left open are settled as lost, and what is left of their processes is ended."
    )
  )
)

const agentsList = Command.make(
  "agents",
  {
    session: required("session", "ID", "The session whose subagents are meant.", sessionId),
    tree: flag("tree", "Also the subagents of subagents."),
    db,
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/agents.js")),
      ({ list }) => list(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Lists the subagents of a session in the order in which it started them. Tokens are those of an agent and of all below it.",
      "Each is a session of its own: afterturn sessions show ID shows what it did. With --json, an array of { id, parent, depth, label, " +
        "status, interrupted, startedAt, runs, turns, job, tokens, totalTokens }, with --tree each with its children."
    )
  )
)

const terminals = Command.make(
  "terminals",
  {
    session: required("session", "ID", "The session whose terminals are meant.", sessionId),
    size: option("size", "COLUMNSxROWS", "Give the terminal this size first.", terminalSize),
    keys: option(
      "keys",
      "KEYS",
      "Press these keys first: names such as ctrl-c, enter or up, with commas between.",
      keyNames
    ),
    db,
    json,
    terminal: Args.optional(
      argument("TERMINAL", "The terminal to show, such as term-1. Default: list them all.", nonEmpty)
    )
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/terminals.js")),
      ({ terminals }) => terminals(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Lists the terminals of a session, or shows the newest 100 lines of one.",
      "The process that drives the session is asked; with no answer in 10 seconds that fails. Terminals end with that process: where none " +
        "drives the session there are none. With --json, an array of terminals, or { terminal, lines }.",
      "$ afterturn terminals --session ID term-1 --keys ctrl-c"
    )
  )
)

export const running = [
  group("jobs", text("Looks at background jobs and ends them."), leaf(jobsList), leaf(jobsOutput), leaf(jobsKill)),
  leaf(agentsList),
  leaf(terminals)
] as const
