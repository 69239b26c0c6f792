/** The commands about sessions. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { group, leaf } from "../cliCommand.js"
import { argument, nonEmpty, option, positive, seq, sessionId } from "../parameters.js"
import { db, id, json, text } from "./shared.js"

const sessions = () => Effect.promise(() => import("../../commands/sessions.js"))

const list = Command.make(
  "list",
  {
    limit: option("limit", "N", "Only the newest N.", positive),
    cwd: option("cwd", "DIR", "Only sessions begun in this folder.", nonEmpty),
    parent: option("parent", "ID", "Only sessions forked from this one.", sessionId),
    db,
    json
  },
  (options) => Effect.flatMap(sessions(), ({ list }) => list(options))
).pipe(Command.withDescription(text("Lists sessions, newest first.", "With --json, an array of headers.")))

const show = Command.make("show", { db, json, id }, (options) =>
  Effect.flatMap(sessions(), ({ show }) => show(options))
).pipe(Command.withDescription(text("Shows a session: its header and events.", "With --json, { header, events }.")))

const fork = Command.make(
  "fork",
  {
    at: option("at", "SEQ", "The last event to take over. Default: the last one outside an open turn.", seq),
    newId: option("id", "ID", "The id of the fork. Default: a new one.", sessionId),
    title: option("title", "TEXT", "The title of the fork. Default: its parent's.", nonEmpty),
    db,
    json,
    id
  },
  (options) => Effect.flatMap(sessions(), ({ fork }) => fork(options))
).pipe(
  Command.withDescription(
    text("Makes a new session that begins with the events of another.", "Prints its id; with --json, its header.")
  )
)

const exportCommand = Command.make("export", { db, json, id }, (options) =>
  Effect.flatMap(sessions(), ({ exportSession }) => exportSession(options))
).pipe(
  Command.withDescription(
    text(
      "Writes a session to stdout as JSON Lines: its header, then one event a line.",
      "$ afterturn sessions export ID > ID.jsonl"
    )
  )
)

const importCommand = Command.make(
  "import",
  {
    newId: option("id", "ID", "The id to store it under. Default: its own.", sessionId),
    db,
    json,
    file: argument("FILE", "An exported session; - reads stdin.", nonEmpty)
  },
  (options) => Effect.flatMap(sessions(), ({ importSession }) => importSession(options))
).pipe(
  Command.withDescription(
    text(
      "Stores an exported session.",
      "Everything is checked first: the first bad line is named and nothing is stored. Prints the session's id; with --json, its header."
    )
  )
)

const verify = Command.make("verify", { db, json, id: Args.optional(id) }, (options) =>
  Effect.flatMap(sessions(), ({ verify }) => verify(options))
).pipe(
  Command.withDescription(
    text(
      "Checks a session, or all of them.",
      "Events without gaps, each readable; projections equal to their snapshots; leases. Exits 1 naming the first fault."
    )
  )
)

const gc = Command.make("gc", { db, json }, (options) => Effect.flatMap(sessions(), ({ gc }) => gc(options))).pipe(
  Command.withDescription(text("Removes events that no session refers to any more."))
)

const remove = Command.make("remove", { db, json, id }, (options) =>
  Effect.flatMap(sessions(), ({ remove }) => remove(options))
).pipe(Command.withDescription(text("Removes a session that no process drives. Its forks keep their events.")))

export const sessionCommands = group(
  "sessions",
  text("Looks at, copies, moves, checks and removes sessions."),
  leaf(list),
  leaf(show),
  leaf(fork),
  leaf(exportCommand),
  leaf(importCommand),
  leaf(verify),
  leaf(gc),
  leaf(remove)
)
