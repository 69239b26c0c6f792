import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as FormerClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Afterturn from "../../support/afterturn.js"
import * as Temporary from "../../support/temporary.js"

/** For tests that start several processes on a machine that is busy. */
const patience = 120_000

interface Result {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

const texts = (result: Result) => result.content.map(({ text }) => text ?? "")

/** The former official client, with what is announced to it. */
interface Connected {
  readonly client: FormerClient
  readonly pid: number
  readonly call: (name: string, input?: Record<string, unknown>) => Effect.Effect<Result>
  /** Waits until something is announced that holds a text. */
  readonly announced: (text: string) => Effect.Effect<void>
}

const attach = async (
  transport: FormerTransport | StreamableHTTPClientTransport,
  pid: () => number | null | undefined
): Promise<Connected> => {
  const client = new FormerClient({ name: "tester", version: "1" })
  const heard: Array<string> = []
  const waiting = new Set<() => void>()
  client.fallbackNotificationHandler = async ({ params }) => {
    heard.push(String(params?.data))
    for (const look of waiting) look()
  }
  await client.connect(transport as Parameters<typeof client.connect>[0])
  return {
    client,
    pid: pid() ?? 0,
    call: (name, input = {}) =>
      Effect.promise(() => client.callTool({ name, arguments: input })) as Effect.Effect<Result>,
    announced: (text) =>
      Effect.async<void>((resume) => {
        const look = () => {
          if (heard.some((line) => line.includes(text))) resume(Effect.void)
        }
        waiting.add(look)
        look()
        return Effect.sync(() => waiting.delete(look))
      })
  }
}

const connected = (open: () => Promise<Connected>): Effect.Effect<Connected, Error, Scope.Scope> =>
  Effect.acquireRelease(Effect.tryPromise({ try: open, catch: (error) => error as Error }), ({ client }) =>
    Effect.promise(() => client.close())
  )

interface Server {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** `afterturn` is on the path, and finds its database in the home folder. */
const environment = (home: string) => ({ PATH: `${home}:${process.env.PATH ?? ""}`, HOME: home })

const overStdio = (home: string, { args, command }: Server) =>
  connected(() => {
    const transport = new FormerTransport({ command, args: [...args], env: environment(home), stderr: "ignore" })
    return attach(transport, () => transport.pid)
  })

const overHttp = (home: string, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const server = yield* Afterturn.start(["mcp", "--http", "0", ...args], { env: environment(home) })
    yield* server.said(" at http://127.0.0.1:")
    const url = new URL(/http:\/\/\S+/.exec(server.heard())?.[0] ?? "")
    const client = yield* connected(() => attach(new StreamableHTTPClientTransport(url), () => server.child.pid))
    return { ...client, server, url }
  })

const serve = (...args: ReadonlyArray<string>): Server => ({ command: "afterturn", args: ["mcp", ...args] })

/** A home with the command on its path. */
const atHome = <A, E>(body: (home: string, db: string) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.scoped(
    Effect.flatMap(Temporary.folder, (home) => {
      fs.writeFileSync(
        path.join(home, "afterturn"),
        `#!/bin/sh\nexec '${process.execPath}' '${Afterturn.bundle()}' "$@"\n`,
        { mode: 0o755 }
      )
      return body(home, path.join(home, ".local/share/afterturn/afterturn.db"))
    })
  )

const bash = (command: string, more?: object) => ({ description: "a command of the test", command, ...more })

const background = { run_in_background: true }

/** All that a client does in a session, up to a process that is killed in the middle of a job. */
const drive = ({ announced, call, client, pid }: Connected) =>
  Effect.gen(function* () {
    const { tools } = yield* Effect.promise(() => client.listTools())
    assert.includeMembers(
      tools.map(({ name }) => name),
      ["todo_write", "job_output", "job_list", "job_kill", "bash", "schedule_create", "create_goal", "update_goal"]
    )
    const wrong = yield* call("todo_write", { todos: "none" })
    assert.isTrue(wrong.isError)
    assert.match(texts(wrong)[0] ?? "", /^error invalid_arguments: .*todos must be an array/)

    yield* call("todo_write", { todos: [{ content: "Read the changelog", status: "in_progress" }] })

    yield* call("bash", bash("cat; echo done", background))
    yield* announced("job notice: bash-1")
    assert.match(texts(yield* call("job_list"))[1] ?? "", /job notice: bash-1/)
    // `cat` got no byte of the protocol, nor did it wait for one.
    const output = yield* call("job_output", { job_id: "bash-1" })
    assert.match(texts(output)[0] ?? "", /^done\n\[status: completed, exit code: 0/)

    assert.isFalse((yield* call("create_goal", { objective: "ship it" })).isError)
    yield* announced("round 1 of goal goal-1")
    const { contents } = yield* Effect.promise(() => client.readResource({ uri: "afterturn://session/inbox" }))
    assert.include(JSON.stringify(contents), "goal-round")
    assert.match(texts(yield* call("get_goal"))[1] ?? "", /round 1 of goal goal-1/)
    const completed = yield* call("update_goal", { goal_id: "goal-1", revision: 1, action: "complete" })
    assert.isFalse(completed.isError, texts(completed).join())

    yield* call("schedule_create", { title: "Stand", prompt: "stand up", after_seconds: 1 })
    yield* call("schedule_create", { title: "Rest", prompt: "rest", after_seconds: 100_000 })
    yield* announced("reminder: schedule-1")
    assert.match(texts(yield* call("job_list"))[1] ?? "", /stand up/)

    yield* call("bash", bash("sleep 300", background))
    const wait = { name: "job_output", arguments: { job_id: "bash-2", wait: true, timeout_ms: 600_000 } }
    const abort = new AbortController()
    const waiting = client.callTool(wait, undefined, { signal: abort.signal }).catch(() => "cancelled")
    yield* Effect.promise(() => client.ping())
    abort.abort()
    assert.strictEqual(yield* Effect.promise(() => waiting), "cancelled")
    assert.match(texts(yield* call("job_list"))[0] ?? "", /bash-2 .*running/)
    process.kill(pid, "SIGKILL")
  })

/** What the next process finds. */
const findAgain = ({ call, client }: Connected) =>
  Effect.gen(function* () {
    const shown = yield* Effect.promise(() => client.getPrompt({ name: "todo" }))
    assert.include(JSON.stringify(shown.messages), "Read the changelog")
    const [jobs, notice] = texts(yield* call("job_list"))
    assert.match(jobs ?? "", /bash-2 .*failed.*lost/)
    assert.match(notice ?? "", /job notice: bash-2/)
    assert.match(texts(yield* call("get_goal"))[0] ?? "", /complete.*\nship it/)
    assert.match(texts(yield* call("schedule_list"))[0] ?? "", /rest/i)
  })

const readme = fs.readFileSync(fileURLToPath(new URL("../../../packages/mcp/README.md", import.meta.url)), "utf8")

/** What the README tells people to put into the settings of their clients. */
const snippets = (/## Clients\n(.*?)\n## /s.exec(readme)?.[1] ?? "")
  .split("```json\n")
  .slice(1)
  .map((rest) => {
    const { mcpServers, servers } = JSON.parse(rest.slice(0, rest.indexOf("```")))
    return (mcpServers ?? servers) as {
      readonly afterturn: Server
      readonly "afterturn-http"?: { readonly url: string }
    }
  })

describe("a session over the protocol outlives its processes", () => {
  it.live(
    "over stdio, started as the README tells clients to; while one drives it, a second is told so",
    () =>
      atHome((home) =>
        Effect.gen(function* () {
          const [claude, cursor, code] = snippets.map(({ afterturn: { args, command } }) => ({ command, args }))
          assert.isDefined(claude)
          assert.deepStrictEqual([cursor, code], [claude, claude])
          const started = { ...(claude as Server), args: [...(claude?.args ?? []), "--quiet", "300ms"] }
          yield* Effect.scoped(
            Effect.gen(function* () {
              const first = yield* overStdio(home, started)
              const refused = yield* Effect.flip(overStdio(home, claude as Server))
              assert.match(refused.message, /session "notes".*(another|drives|driven|held)/i)
              yield* drive(first)
            })
          )
          yield* findAgain(yield* overStdio(home, claude as Server))
        })
      ),
    patience
  )

  it.live(
    "over HTTP, with commands where they are allowed",
    () =>
      atHome((home) =>
        Effect.gen(function* () {
          const session = ["--session", "notes", "--quiet", "300ms"]
          yield* Effect.scoped(Effect.flatMap(overHttp(home, [...session, "--approve", "allow"]), drive))
          const again = yield* overHttp(home, session)
          const { tools } = yield* Effect.promise(() => again.client.listTools())
          assert.notInclude(
            tools.map(({ name }) => name),
            "bash"
          )
          yield* findAgain(again)
          assert.strictEqual(again.url.pathname, new URL(snippets[2]?.["afterturn-http"]?.url ?? "").pathname)
          yield* Effect.promise(() => again.client.close())
          again.server.child.kill("SIGTERM")
          const { code, stdout } = yield* again.server.finished
          assert.deepStrictEqual([code, stdout], [143, ""])
        })
      ),
    patience
  )
})

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } }
})

const calling = (id: number | string, name: string, input: Record<string, unknown>) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } })

describe("afterturn mcp", () => {
  it.live(
    "speaks the present revision of the protocol too, and asks the client's user where it is told to",
    () =>
      atHome((home, db) =>
        Effect.promise(async () => {
          const asked: Array<string> = []
          const client = new Client(
            { name: "present", version: "1" },
            { capabilities: { elicitation: {} }, versionNegotiation: { mode: "auto" } }
          )
          client.setRequestHandler("elicitation/create", async ({ params }) => {
            asked.push(params.message)
            return asked.length === 1 ? { action: "accept", content: {} } : { action: "decline" }
          })
          const started = serve("--session", "s1", "--approve", "ask")
          await client.connect(
            new StdioClientTransport({ ...started, args: [...started.args], env: environment(home), stderr: "ignore" })
          )
          assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
          const run = async (command: string) =>
            texts((await client.callTool({ name: "bash", arguments: bash(command) })) as Result)[0] ?? ""
          assert.match(await run("echo yes; true"), /^yes\n/)
          assert.match(await run("echo no"), /^error approval_denied: .*the user did not approve it/)
          assert.deepStrictEqual(asked, ["bash wants to run:\n\necho yes; true", "bash wants to run:\n\necho no"])
          await client.close()
        }).pipe(
          Effect.zipRight(Afterturn.inProcess(["sessions", "show", "s1", "--db", db, "--json"])),
          Effect.tap(({ stdout }) => assert.include(stdout, '"route":"mcp:present"'))
        )
      ),
    patience
  )

  it.live(
    "writes nothing but JSON-RPC, whatever it is fed",
    () =>
      atHome((_, db) =>
        Effect.gen(function* () {
          const command = "echo to stdout; echo to stderr >&2; echo to fd 1 > /dev/fd/1"
          const call = calling("run", "bash", bash(command))
          const [large, long] = [10_000_000, 20_000_000].map((length) => "x".repeat(length))
          const stdin = ["garbage", initialize, '{"jsonrpc":"2.0"}', large, long, call, '{"half'].join("\n")
          const { finished } = yield* Afterturn.start(["mcp", "--db", db, "--log-level", "trace"], {
            stdin,
            env: { NODE_OPTIONS: "--trace-warnings" }
          })
          const { code, stdout } = yield* finished
          assert.strictEqual(code, 0)
          // What is asked is answered when it is ready, what is garbage at once.
          const codes = Afterturn.jsonLines(stdout).map(({ error, id, jsonrpc }) => {
            assert.strictEqual(jsonrpc, "2.0")
            return `${id}: ${(error as { readonly code: number } | undefined)?.code ?? "ok"}`
          })
          assert.includeMembers(codes, ["1: ok", "null: -32700", "null: -32600"])
          assert.strictEqual(codes.filter((code) => code === "null: -32700").length, 3)
        })
      ),
    patience
  )

  it.live(
    "leaves no session behind in which nothing happened, and none open when it is closed at once",
    () =>
      atHome((_, db) =>
        Effect.gen(function* () {
          const closed = yield* Afterturn.run("mcp", "--db", db)
          assert.deepStrictEqual([closed.code, closed.stdout], [0, ""])
          const listed = yield* Afterturn.inProcess(["sessions", "list", "--db", db, "--json"])
          assert.deepStrictEqual(JSON.parse(listed.stdout), [])
        })
      ),
    patience
  )

  it.live(
    "ends with its client and takes its jobs along, or leaves them to the ledger",
    () =>
      atHome((home, db) =>
        Effect.gen(function* () {
          for (const detaches of [false, true]) {
            const mark = path.join(home, `pid-${detaches}`)
            const session = detaches ? "detached" : "cancelled"
            const flags = detaches ? ["--detach-jobs"] : []
            const server = yield* Afterturn.start(["mcp", "--session", session, ...flags], {
              env: environment(home),
              stdin: "open"
            })
            yield* server.write(initialize)
            yield* server.write(calling(2, "bash", bash(`echo $$ > ${mark}; echo ready; exec sleep 300`, background)))
            yield* server.said('"id":2')
            yield* server.write(calling(3, "job_output", { job_id: "bash-1", wait: true, timeout_ms: 2_000 }))
            yield* server.said("ready")
            // Nobody sends it a signal.
            yield* server.write()
            assert.strictEqual((yield* server.finished).code, 0)
            const pid = Number(fs.readFileSync(mark, "utf8"))
            assert.strictEqual(isAlive(pid), detaches)
            const jobs = yield* Afterturn.inProcess(["jobs", "list", "--session", session, "--db", db, "--json"])
            const [job] = JSON.parse(jobs.stdout)
            assert.strictEqual(job.status, detaches ? "running" : "killed")
            if (detaches) process.kill(pid, "SIGKILL")
          }
        })
      ),
    patience
  )

  it.live("says what is wrong with its command line", () =>
    Effect.gen(function* () {
      const usage = (...args: ReadonlyArray<string>) =>
        Effect.map(Afterturn.inProcess(["mcp", "--db", ":memory:", ...args]), ({ code, stderr }) => [code, stderr])
      assert.deepStrictEqual(yield* usage("--host", "0.0.0.0"), [
        2,
        "afterturn: --host and --allow-host go with --http\n"
      ])
      const [code, stderr] = yield* usage("--http", "0", "--host", "0.0.0.0")
      assert.strictEqual(code, 2)
      assert.match(String(stderr), /needs a token/)
      assert.match(String((yield* usage("--http", "99999"))[1]), /expected a port/)
      assert.match(String((yield* usage("--http", "1", "--detach-jobs"))[1]), /--detach-jobs goes with stdio/)
    })
  )
})

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
