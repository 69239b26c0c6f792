import * as fs from "node:fs"
import * as path from "node:path"
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

const environment = { PATH: process.env.PATH ?? "", HOME: "/nonexistent" }

interface Result {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

interface Connected {
  readonly pid: number
  readonly call: (name: string, input?: Record<string, unknown>) => Effect.Effect<Result>
  readonly client: FormerClient
  readonly stderr: () => string
  readonly close: Effect.Effect<void>
}

/** The former official client, with a server process of its own. */
const connect = (args: ReadonlyArray<string>): Effect.Effect<Connected, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const transport = new FormerTransport({
          command: process.execPath,
          args: [Afterturn.bundle(), "mcp", ...args],
          env: environment,
          stderr: "pipe"
        })
        let stderr = ""
        transport.stderr?.on("data", (piece) => {
          stderr += String(piece)
        })
        const client = new FormerClient({ name: "tester", version: "1" })
        await client.connect(transport)
        return {
          pid: transport.pid ?? 0,
          client,
          stderr: () => stderr,
          call: (name: string, input: Record<string, unknown> = {}) =>
            Effect.promise(() => client.callTool({ name, arguments: input })) as Effect.Effect<Result>,
          close: Effect.promise(() => client.close())
        }
      },
      catch: (error) => error as Error
    }),
    ({ close }) => close
  )

const texts = (result: Result) => result.content.map(({ text }) => text ?? "")

const inFolder = <A, E>(body: (db: string, folder: string) => Effect.Effect<A, E, Scope.Scope>) =>
  Effect.scoped(Effect.flatMap(Temporary.folder, (folder) => body(path.join(folder, "sessions.db"), folder)))

const bash = (command: string, more?: object) => ({ description: "a command of the test", command, ...more })

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } }
})

/** The messages on stdout: every line is one. */
const messages = (stdout: string) =>
  Afterturn.jsonLines(stdout).map((message) => {
    assert.strictEqual(message.jsonrpc, "2.0")
    return message
  })

describe("afterturn mcp", () => {
  it.live(
    "serves a session that outlives its processes: a list, a job to its notice, a kill without warning",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const args = ["--db", db, "--session", "s1"]
          const first = yield* connect(args)
          const { tools } = yield* Effect.promise(() => first.client.listTools())
          assert.includeMembers(
            tools.map(({ name }) => name),
            ["todo_write", "job_output", "job_list", "job_kill", "bash"]
          )
          yield* first.call("todo_write", { todos: [{ content: "Read the changelog", status: "in_progress" }] })
          const started = yield* first.call("bash", bash("cat; echo done", { run_in_background: true }))
          assert.match(texts(started)[0] ?? "", /bash-1/)
          // `cat` got no byte of the protocol, nor does it wait for one.
          const ended = yield* first.call("job_output", { job_id: "bash-1", wait: true })
          assert.match(texts(ended)[0] ?? "", /^done\n\[status: completed, exit code: 0/)
          yield* first.call("bash", bash("sleep 300", { run_in_background: true }))
          process.kill(first.pid, "SIGKILL")
          const second = yield* connect(args)
          const shown = yield* Effect.promise(() => second.client.getPrompt({ name: "todo" }))
          assert.include(JSON.stringify(shown.messages), "Read the changelog")
          const [list, block] = texts(yield* second.call("job_list"))
          assert.match(list ?? "", /bash-2 .*failed.*lost/)
          assert.match(block ?? "", /job notice: bash-2/)
          yield* second.close
          const todo = yield* Afterturn.run("todo", "show", "s1", "--db", db)
          assert.include(todo.stdout, "Read the changelog")
          const jobs = yield* Afterturn.run("jobs", "list", "--session", "s1", "--db", db, "--json")
          assert.deepStrictEqual(
            JSON.parse(jobs.stdout).map(({ status }: { status: string }) => status),
            ["completed", "failed"]
          )
        })
      ),
    patience
  )

  it.live(
    "brings a reminder when it is due",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const server = yield* connect(["--db", db, "--quiet", "1s"])
          const announced = new Promise<unknown>((resolve) => {
            server.client.fallbackNotificationHandler = async ({ params }) => resolve(params?.data)
          })
          yield* server.call("schedule_create", { title: "Stand", prompt: "stand up", after_seconds: 1 })
          assert.match(String(yield* Effect.promise(() => announced)), /^waiting for this session: msg-1, reminder: /)
          const [, block] = texts(yield* server.call("job_list"))
          assert.match(block ?? "", /stand up/)
          assert.lengthOf(texts(yield* server.call("job_list")), 1)
        })
      ),
    patience
  )

  it.live(
    "speaks the present revision of the protocol too",
    () =>
      inFolder((db) =>
        Effect.promise(async () => {
          const client = new Client({ name: "present", version: "1" }, { versionNegotiation: { mode: "auto" } })
          await client.connect(
            new StdioClientTransport({
              command: process.execPath,
              args: [Afterturn.bundle(), "mcp", "--db", db],
              env: environment,
              stderr: "ignore"
            })
          )
          assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
          const result = (await client.callTool({ name: "job_list", arguments: {} })) as Result
          assert.deepStrictEqual(texts(result), ["no background jobs"])
          await client.close()
        })
      ),
    patience
  )

  it.live(
    "tells a second client that the session is taken, and serves it once it is free",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const args = ["--db", db, "--session", "s1"]
          const first = yield* connect(args)
          const refused = yield* Effect.flip(connect(args))
          assert.match(refused.message, /s1/)
          assert.match(refused.message, /another|drives|driven|held|lease/i)
          yield* first.close
          const second = yield* connect(args)
          assert.isFalse((yield* second.call("job_list")).isError)
        })
      ),
    patience
  )

  it.live(
    "writes nothing but JSON-RPC, whatever it is fed",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const call = JSON.stringify({
            jsonrpc: "2.0",
            id: "run",
            method: "tools/call",
            params: { name: "bash", arguments: bash("echo to stdout; echo to stderr >&2; echo to fd 1 > /dev/fd/1") }
          })
          const long = "x".repeat(20_000_000)
          const stdin = ["garbage", initialize, '{"jsonrpc":"2.0"}', long, call, '{"half'].join("\n")
          const { finished } = yield* Afterturn.start(["mcp", "--db", db, "--log-level", "trace"], {
            stdin,
            env: { NODE_OPTIONS: "--trace-warnings" }
          })
          const { code, stdout } = yield* finished
          assert.strictEqual(code, 0)
          // What is asked is answered when it is ready, what is garbage at once.
          const codes = messages(stdout).map(({ error, id }) => {
            const code = (error as { readonly code: number } | undefined)?.code
            return `${id}: ${code ?? "ok"}`
          })
          assert.includeMembers(codes, ["1: ok", "null: -32700", "null: -32600"])
          assert.strictEqual(codes.filter((code) => code === "null: -32700").length, 2)
        })
      ),
    patience
  )

  it.live(
    "leaves no session behind in which nothing happened, and none open when it is closed at once",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const closed = yield* Afterturn.run("mcp", "--db", db)
          assert.deepStrictEqual([closed.code, closed.stdout], [0, ""])
          const listed = yield* Afterturn.run("sessions", "list", "--db", db, "--json")
          assert.deepStrictEqual(JSON.parse(listed.stdout), [])
        })
      ),
    patience
  )

  it.live(
    "ends with its client and takes its jobs along, or leaves them to the ledger",
    () =>
      inFolder((db, folder) =>
        Effect.gen(function* () {
          for (const detaches of [false, true]) {
            const mark = path.join(folder, `pid-${detaches}`)
            const session = detaches ? "detached" : "cancelled"
            const server = yield* connect(["--db", db, "--session", session, ...(detaches ? ["--detach-jobs"] : [])])
            yield* server.call("bash", bash(`echo $$ > ${mark}; exec sleep 300`, { run_in_background: true }))
            yield* server.call("job_output", { job_id: "bash-1", wait: true, timeout_ms: 500 })
            yield* server.close
            const pid = Number(fs.readFileSync(mark, "utf8"))
            assert.strictEqual(isAlive(pid), detaches)
            const jobs = yield* Afterturn.run("jobs", "list", "--session", session, "--db", db, "--json")
            const [job] = JSON.parse(jobs.stdout)
            assert.strictEqual(job.status, detaches ? "running" : "killed")
            if (detaches) process.kill(pid, "SIGKILL")
          }
        })
      ),
    patience
  )

  it.live(
    "runs no commands where it is told not to",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const server = yield* connect(["--db", db, "--approve", "deny"])
          const refused = yield* server.call("bash", bash("echo no"))
          assert.isTrue(refused.isError)
          assert.match(texts(refused)[0] ?? "", /approval_denied/)
        })
      ),
    patience
  )

  it.live(
    "serves over HTTP where it is told to, without bash",
    () =>
      inFolder((db) =>
        Effect.gen(function* () {
          const server = yield* Afterturn.start(["mcp", "--http", "0", "--db", db, "--session", "s1"])
          yield* server.said(" at http://127.0.0.1:")
          const url = yield* heardUrl(server)
          const client = new FormerClient({ name: "tester", version: "1" })
          yield* Effect.promise(async () => {
            await client.connect(
              new StreamableHTTPClientTransport(new URL(url)) as Parameters<typeof client.connect>[0]
            )
            const { tools } = await client.listTools()
            assert.notInclude(
              tools.map(({ name }) => name),
              "bash"
            )
            const written = await client.callTool({ name: "todo_write", arguments: { todos: [] } })
            assert.isFalse(written.isError)
            await client.close()
          })
          server.child.kill("SIGTERM")
          const { code, stdout } = yield* server.finished
          assert.deepStrictEqual([code, stdout], [143, ""])
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

const heardUrl = (server: Afterturn.Started): Effect.Effect<string> =>
  Effect.sync(() => /http:\/\/\S+/.exec(server.heard())?.[0] ?? "")

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
