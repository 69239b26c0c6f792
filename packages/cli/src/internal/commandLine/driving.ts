/** The commands that drive an agent. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import { policies } from "../../Approve.js"
import { leaf } from "../cliCommand.js"
import { anyText, argument, duration, flag, nonEmpty, oneOf, option, port, sessionId } from "../parameters.js"
import { protocolOutput } from "../protocolOutput.js"
import { approve, baseUrl, db, json, maxDuration, maxRounds, maxTokens, model, text } from "./shared.js"

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
      Effect.promise(() => import("../../commands/run.js")),
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
      Effect.promise(() => import("../../chat/Chat.js")),
      ({ chat }) => chat(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Talks to the agent of a session.",
      "At a terminal that is a screen with an input line. Through pipes, each line of stdin is a message and the assistant's text " +
        "goes to stdout.",
      "/help names what the chat itself can do: show todos, jobs and subagents, read along with one (/watch AGENT), steer a goal."
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
      "Whether bash may run commands: allow, deny, or ask, by which the client asks its user for each and denies where it cannot. " +
        "Default: allow over stdio, where clients ask their user before they call; over HTTP deny, and there is no bash.",
      oneOf(policies)
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
        Effect.promise(() => import("../../commands/mcp.js")),
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
    Effect.promise(() => import("../../demo/Demo.js")),
    ({ demo }) => demo(options)
  )
).pipe(Command.withDescription(text("Plays a scripted session that shows what there is, on a real database.")))

const host = Command.make("host", { model, baseUrl, approve, db, json }, (options) =>
  Effect.flatMap(
    Effect.promise(() => import("../../commands/host.js")),
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

const runner = Command.make(
  "runner",
  {
    port: option(
      "port",
      "PORT",
      "Where to listen for the other members and for clients. Default: any free port.",
      port
    ),
    host: option("host", "HOST", "The name or address by which they reach this machine. Default: 127.0.0.1.", nonEmpty),
    listen: option("listen", "HOST", "The address to listen on. Default: that of --host.", nonEmpty),
    model,
    baseUrl,
    approve,
    db,
    json
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/runner.js")),
      ({ runner }) => runner(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Joins the machines that share the sessions of a PostgreSQL database, and drives those that are placed here.",
      "A session is placed on one of them when somebody sends it a message or one of its reminders is due. When a runner dies, others go on " +
        "with its sessions; SIGTERM hands them over. Nobody is asked for a password at the port: keep it in a private network.",
      "$ afterturn runner --db postgres://afterturn@db/afterturn --host 10.0.0.1 --port 7700"
    )
  )
)

const send = Command.make(
  "send",
  {
    db,
    json,
    session: argument("ID", "The session, made when there is none.", sessionId),
    text: argument("TEXT", "What to say.", nonEmpty)
  },
  (options) =>
    Effect.flatMap(
      Effect.promise(() => import("../../commands/runner.js")),
      ({ send }) => send(options)
    )
).pipe(
  Command.withDescription(
    text(
      "Sends a message to a session that lives on a runner, wherever that is, and says its id.",
      "The session is made, with this folder as its own, when there is none. What became of it is in the session: see sessions show."
    )
  )
)

export const driving = [leaf(run), leaf(chat), leaf(host), leaf(runner), leaf(send), leaf(mcp), leaf(demo)] as const
