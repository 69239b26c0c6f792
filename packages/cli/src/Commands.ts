/**
 * The commands: what each is called, takes and does. What a command needs is loaded when it runs, so that help costs none of it.
 *
 * @since 0.1.0
 */
import type { StrictProvider } from "@afterturn/agent/ToolSchema"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Effect from "effect/Effect"
import * as Approve from "./Approve.js"
import type { CliCommand } from "./internal/cliCommand.js"
import { group, leaf } from "./internal/cliCommand.js"
import {
  anyText,
  argument,
  duration,
  flag,
  keyNames,
  nonEmpty,
  oneOf,
  option,
  port,
  positive,
  required,
  seq,
  sessionId,
  terminalSize
} from "./internal/parameters.js"
import { protocolOutput } from "./internal/protocolOutput.js"

const providers = ["openai-strict", "anthropic"] as const satisfies ReadonlyArray<StrictProvider>

export type { CliCommand, Handler, Services } from "./internal/cliCommand.js"

const text = (...paragraphs: ReadonlyArray<string>) =>
  HelpDoc.blocks(paragraphs.map((paragraph) => HelpDoc.p(paragraph)))

const db = option(
  "db",
  "DATABASE",
  "The database: a file, or postgres://user@host/database. Default: $AFTERTURN_DB, else afterturn/afterturn.db in the XDG data folder. " +
    "A password is better kept in $AFTERTURN_DB or in $PGPASSWORD, where other users of the machine cannot see it.",
  nonEmpty
)

const json = flag("json", "Results as JSON on stdout, errors as JSON on stderr.")

const model = option(
  "model",
  "ROUTE",
  "The model: anthropic:NAME, openai:NAME or scripted:FILE. Default: $AFTERTURN_MODEL, else a model of the provider whose key is in " +
    "$ANTHROPIC_API_KEY or $OPENAI_API_KEY.",
  nonEmpty
)

const baseUrl = option(
  "base-url",
  "URL",
  "A server that is compatible with the model's provider. Default: $ANTHROPIC_BASE_URL or $OPENAI_BASE_URL, else the provider's own.",
  nonEmpty
)

const approve = option(
  "approve",
  "POLICY",
  "Whether commands that the agent wants to run are allowed: allow, deny, or ask, which denies where nobody can answer. Default: " +
    "allow for a scripted model, else ask.",
  oneOf(Approve.policies)
)

const id = argument("ID", "The session.", sessionId)

const maxRounds = option("max-rounds", "N", "How many rounds a goal may have. Default: 256.", positive)

const maxTokens = option(
  "max-tokens",
  "N",
  "How many tokens the model may use for a goal. Default: no limit.",
  positive
)

const maxDuration = option(
  "max-duration",
  "DURATION",
  "How long a goal may be active, such as 30m or 2h. Default: no limit.",
  duration
)

const run = Command.make(
  "run",
  {
    session: option(
      "session",
      "ID",
      "The session to continue; created when there is none. Default: a new one.",
      sessionId
    ),
    model,
    baseUrl,
    maxWait: option(
      "max-wait",
      "DURATION",
      "How long to stay at most, such as 30s, 5m or 2h. Default: no limit.",
      duration
    ),
    approve,
    goal: option(
      "goal",
      "TEXT",
      "In place of PROMPT: what to achieve, over as many turns as it takes. The id or the text of the session's goal: goes on with that.",
      nonEmpty
    ),
    maxRounds,
    maxTokens,
    maxDuration,
    check: option(
      "check",
      "COMMAND",
      "With --goal: a shell command that has to exit 0 before the goal counts as complete; it runs here, when the agent says so.",
      nonEmpty
    ),
    db,
    json,
    prompt: Args.optional(argument("PROMPT", "What to say to the agent; - reads it from stdin.", anyText))
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./commands/run.js")),
      ({ run }) => run(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Runs one turn and what it wakes, then exits.",
      "The assistant's text goes to stdout, tool calls and the session's id to stderr. With --json, stdout has the session's " +
        "events instead, one a line, as they are stored. Ctrl-C cancels the turn.",
      "It stays while background jobs run, and for the turns that their ends open. What still runs when --max-wait is over is cancelled.",
      "With --goal it stays until the goal is complete (0), or stopped and why (3).",
      "With --max-wait it also stays for reminders that are due within it; those beyond it are named.",
      "Exits 1 when a turn ended in an error, when --max-wait was over, or when another process drives the session.",
      '$ afterturn run --model anthropic:claude-sonnet-4-5 "tidy up the changelog"',
      '$ afterturn run --model openai:qwen3 --base-url http://localhost:11434/v1 "say hello"',
      "$ git diff | afterturn run --session review -",
      "$ afterturn run --goal 'all tests pass' --check 'pnpm test' --max-rounds 20"
    )
  )
)

const chat = Command.make(
  "chat",
  {
    session: option(
      "session",
      "ID",
      "The session to go on with; created when there is none. Default: a new one.",
      sessionId
    ),
    model,
    baseUrl,
    approve,
    db,
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./chat/Chat.js")),
      ({ chat }) => chat(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Talks to the agent of a session.",
      "At a terminal that is a screen with an input line. Through pipes, each line of stdin is a message and the assistant's text " +
        "goes to stdout."
    )
  )
)

const mcp = Command.make(
  "mcp",
  {
    session: option(
      "session",
      "ID",
      "The session to go on with; created when there is none. Default: a new one, kept if something happened in it.",
      sessionId
    ),
    http: option("http", "PORT", "Serve over HTTP on that port, 0 for any, instead of stdio.", port),
    host: option("host", "HOST", "Where to listen with --http. Default: 127.0.0.1.", nonEmpty),
    allowHost: option(
      "allow-host",
      "NAMES",
      "With --http: other names, separated by commas, under which the server may be addressed and called by web pages.",
      nonEmpty
    ),
    approve: option(
      "approve",
      "POLICY",
      "Whether bash may run commands: allow or deny. Default: allow over stdio, where the client asks its user; over HTTP deny, and " +
        "there is no bash.",
      oneOf(["allow", "deny"])
    ),
    authority: option(
      "authority",
      "WHOSE",
      "Whose word a call of the client is: user, so that it may set goals, or none. Default: user.",
      oneOf(["user", "none"])
    ),
    quiet: option("quiet", "DURATION", "How long after the last call a turn ends. Default: 1m.", duration),
    detachJobs: flag("detach-jobs", "Leave running jobs to the ledger when stdin ends; otherwise they are cancelled."),
    db,
    json
  },
  // stdout is taken before anything is loaded: a module that prints when it is must not speak into the protocol.
  (options) =>
    Effect.flatMap(protocolOutput, (output) =>
      Effect.flatMap(
        Effect.promise(() => import("./commands/mcp.js")),
        ({ mcp }) => mcp(options, output)
      )
    ).pipe(Effect.scoped)
).pipe(
  Command.withDescription(
    text(
      "Serves a session over the Model Context Protocol: the connected client is its agent.",
      "Over stdio, stdout holds the protocol and nothing else; the end of stdin ends the server. With --http, clients send " +
        "$AFTERTURN_MCP_TOKEN as their bearer token where that is set, and beyond loopback it has to be.",
      "A session that another process drives is refused.",
      '{ "mcpServers": { "afterturn": { "command": "afterturn", "args": ["mcp", "--session", "notes"] } } }'
    )
  )
)

const demo = Command.make("demo", { db, json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./demo/Demo.js")),
    ({ demo }) => demo(options)
  )
).pipe(Command.withDescription(text("Plays a scripted session that shows what there is, on a real database.")))

const sessions = () => Effect.promise(() => import("./commands/sessions.js"))

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

const jobs = () => Effect.promise(() => import("./commands/jobs.js"))

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
      Effect.promise(() => import("./commands/agents.js")),
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
      Effect.promise(() => import("./commands/terminals.js")),
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

const goals = () => Effect.promise(() => import("./commands/goal.js"))

const whose = required("session", "ID", "The session whose goal is meant.", sessionId)

const goalShow = Command.make("show", { session: whose, db, json }, (options) =>
  Effect.flatMap(goals(), ({ show }) => show(options))
).pipe(Command.withDescription(text("Shows the goal, and what can be done with it.", "With --json, { goal }.")))

const goalCreate = Command.make(
  "create",
  {
    session: whose,
    maxRounds,
    maxTokens,
    maxDuration,
    db,
    json,
    objective: argument("OBJECTIVE", "What to achieve.", nonEmpty)
  },
  (options) => Effect.flatMap(goals(), ({ create }) => create(options))
).pipe(
  Command.withDescription(
    text(
      "Sets a goal. One that is not complete has to be finished or cleared first.",
      "Where a process drives the session it goes to work; else the goal waits for afterturn run --goal, or /goal resume in the chat."
    )
  )
)

const goalEdit = Command.make(
  "edit",
  {
    session: whose,
    maxRounds,
    maxTokens,
    maxDuration,
    db,
    json,
    objective: Args.optional(argument("OBJECTIVE", "What to achieve instead.", nonEmpty))
  },
  (options) => Effect.flatMap(goals(), ({ edit }) => edit(options))
).pipe(Command.withDescription(text("Changes what a goal asks for or may use, and neither pauses nor resumes it.")))

const goalVerb = (verb: "pause" | "resume" | "clear", description: string) =>
  Command.make(verb, { session: whose, db, json }, (options) =>
    Effect.flatMap(goals(), ({ simple }) => simple({ ...options, verb }))
  ).pipe(Command.withDescription(text(description)))

const wakes = Command.make("wakes", { db, json, id }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./commands/wakes.js")),
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
      Effect.promise(() => import("./commands/todo.js")),
      ({ show }) => show(options)
    )
).pipe(Command.withDescription(text("Shows the todo list of a session.")))

const doctor = Command.make("doctor", { db, json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./commands/doctor.js")),
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
      Effect.promise(() => import("./commands/tools.js")),
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

const schedulePreview = Command.make(
  "preview",
  {
    rule: required("rule", "JSON", "The rule, with exactly one of the keys that schedule_create has for it.", nonEmpty),
    from: option("from", "INSTANT", "Only what comes after this RFC 3339 time. Default: now.", nonEmpty),
    count: option("count", "N", "How many at most. Default: 5.", positive),
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("./commands/schedule.js")),
      ({ preview }) => preview(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Shows when a reminder with a rule would come due, each time in UTC and on the clocks of the rule's zone.",
      "Local times that clocks skip or show twice are noted. With --json, an array of { at, local, note? }.",
      `$ afterturn schedule preview --rule '{"cron":{"expression":"30 2 * * *","time_zone":"America/New_York"}}'`,
      `$ afterturn schedule preview --rule '{"every_seconds":3600}' --from 2026-03-07T12:00:00Z --count 2`
    )
  )
)

const schedule = () => Effect.promise(() => import("./commands/schedule.js"))

const scheduled = required("session", "ID", "The session whose reminders are meant.", sessionId)

const reminder = argument("REMINDER", "The reminder, such as schedule-1.", nonEmpty)

const ruleOption = "The rule as JSON, with exactly one of the keys that schedule_create has for it."

const scheduleList = Command.make("list", { session: scheduled, db, json }, (options) =>
  Effect.flatMap(schedule(), ({ list }) => list(options))
).pipe(
  Command.withDescription(text("Lists the reminders of a session that are not over, in the order of their creation."))
)

const scheduleCreate = Command.make(
  "create",
  {
    session: scheduled,
    title: required("title", "TEXT", "A name for lists.", nonEmpty),
    rule: required("rule", "JSON", ruleOption, nonEmpty),
    db,
    json,
    prompt: argument("PROMPT", "What the agent is reminded of.", anyText)
  },
  (options) => Effect.flatMap(schedule(), ({ create }) => create(options))
).pipe(
  Command.withDescription(
    text(
      "Sets a reminder in a session.",
      "The process that drives the session does it; where there is none, this one does, under the session's lease.",
      `$ afterturn schedule create --session ID --title standup --rule '{"daily":{"time":"09:00:00","time_zone":"Europe/Berlin"}}' "Join."`
    )
  )
)

const scheduleUpdate = Command.make(
  "update",
  {
    session: scheduled,
    title: option("title", "TEXT", "A new name.", nonEmpty),
    prompt: option("prompt", "TEXT", "A new prompt.", nonEmpty),
    rule: option("rule", "JSON", ruleOption, nonEmpty),
    db,
    json,
    id: reminder
  },
  (options) => Effect.flatMap(schedule(), ({ update }) => update(options))
).pipe(Command.withDescription(text("Changes a reminder in place; what is not given stays.")))

const scheduleVerb = (verb: "delete" | "pause" | "resume" | "run-now", description: string) =>
  Command.make(verb, { session: scheduled, db, json, id: reminder }, (options) =>
    Effect.flatMap(schedule(), ({ simple }) => simple({ ...options, verb }))
  ).pipe(Command.withDescription(text(description)))

const scheduleHistory = Command.make("history", { session: scheduled, db, json, id: reminder }, (options) =>
  Effect.flatMap(schedule(), ({ history }) => history(options))
).pipe(
  Command.withDescription(
    text(
      "Tells what was done to a reminder and what became of each occurrence: due, decided, late by, missed, turns, outcome."
    )
  )
)

const host = Command.make("host", { model, baseUrl, approve, db, json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("./commands/host.js")),
    ({ host }) => host(options)
  )
).pipe(
  Command.withDescription(
    text(
      "Stays up and looks after the reminders of sessions that no process drives.",
      "A session with a reminder that is due is resumed, its turn run, and let go when it is quiet. Any number of hosts may share a " +
        "database: none delivers what another has. chat does the same while it is open."
    )
  )
)

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
  leaf(run),
  leaf(chat),
  leaf(host),
  leaf(mcp),
  leaf(demo),
  group(
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
  ),
  group("jobs", text("Looks at background jobs and ends them."), leaf(jobsList), leaf(jobsOutput), leaf(jobsKill)),
  leaf(agentsList),
  leaf(terminals),
  group(
    "goal",
    text("Looks at the goal of a session and changes it."),
    leaf(goalShow),
    leaf(goalCreate),
    leaf(goalEdit),
    leaf(goalVerb("pause", "Stops an active goal until it is resumed.")),
    leaf(goalVerb("resume", "Goes on with a goal that is paused, blocked or at rest, while it has rounds left.")),
    leaf(goalVerb("clear", "Takes a goal away, whatever its phase."))
  ),
  leaf(wakes),
  group("todo", text("Looks at todo lists."), leaf(todoShow)),
  group(
    "schedule",
    text("Looks at reminders, sets and changes them."),
    leaf(scheduleList),
    leaf(scheduleCreate),
    leaf(scheduleUpdate),
    leaf(scheduleVerb("delete", "Deletes a reminder. A message of it that waits already stays.")),
    leaf(scheduleVerb("pause", "Pauses a reminder: what comes due meanwhile is skipped.")),
    leaf(scheduleVerb("resume", "Goes on with a paused reminder, from its first occurrence after now.")),
    leaf(scheduleVerb("run-now", "Hands a reminder to its session now, beside its rule.")),
    leaf(scheduleHistory),
    leaf(schedulePreview)
  ),
  group("tools", text("Looks at the tools of agents."), leaf(toolsCatalog)),
  leaf(doctor)
)("")
