/** Clients of `afterturn mcp`, and what one does in a session. */

import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { Client as FormerClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as FormerTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { assert } from "vitest"
import * as Afterturn from "./afterturn.js"
import * as Temporary from "./temporary.js"

/** For tests that start several processes on a machine that is busy. */
export const patience = 120_000

export interface Result {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }>
}

export const texts = (result: Result) => result.content.map(({ text }) => text ?? "")

/** The former official client, with what is announced to it. */
export interface Connected {
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

export interface Server {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/** `afterturn` is on the path, and finds its database in the home folder. */
export const environment = (home: string) => ({ PATH: `${home}:${process.env.PATH ?? ""}`, HOME: home })

export const overStdio = (home: string, { args, command }: Server) =>
  connected(() => {
    const transport = new FormerTransport({ command, args: [...args], env: environment(home), stderr: "ignore" })
    return attach(transport, () => transport.pid)
  })

export const overHttp = (home: string, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const server = yield* Afterturn.start(["mcp", "--http", "0", ...args], { env: environment(home) })
    yield* server.said(" at http://127.0.0.1:")
    const url = new URL(/http:\/\/\S+/.exec(server.heard())?.[0] ?? "")
    const client = yield* connected(() => attach(new StreamableHTTPClientTransport(url), () => server.child.pid))
    return { ...client, server, url }
  })

export const serve = (...args: ReadonlyArray<string>): Server => ({ command: "afterturn", args: ["mcp", ...args] })

/** A home with the command on its path. */
export const atHome = <A, E>(body: (home: string, db: string) => Effect.Effect<A, E, Scope.Scope>) =>
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

export const bash = (command: string, more?: object) => ({ description: "a command of the test", command, ...more })

export const background = { run_in_background: true }

/** How long a turn is left open by `drive`. */
export const quiet = ["--quiet", "100ms"]

/** All that a client does in a session with short turns, up to a process that is killed in the middle of a job. */
export const drive = ({ announced, call, client, pid }: Connected) =>
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

    assert.isFalse((yield* call("create_goal", { objective: "ship it" })).isError)
    yield* announced("round 1 of goal goal-1")
    const { contents } = yield* Effect.promise(() => client.readResource({ uri: "afterturn://session/inbox" }))
    assert.include(JSON.stringify(contents), "goal-round")
    assert.match(texts(yield* call("get_goal"))[1] ?? "", /round 1 of goal goal-1/)
    const completed = yield* call("update_goal", { goal_id: "goal-1", revision: 1, action: "complete" })
    assert.isFalse(completed.isError, texts(completed).join())

    yield* call("schedule_create", { title: "Rest", prompt: "rest", after_seconds: 100_000 })
    // Late enough for the round's turn to end before.
    yield* call("schedule_create", { title: "Stand", prompt: "stand up", after_seconds: 2 })
    yield* announced("reminder: schedule-2")
    assert.match(texts(yield* call("job_list"))[1] ?? "", /stand up/)

    yield* call("bash", bash("cat; echo done", background))
    yield* announced("job notice: bash-1")
    assert.match(texts(yield* call("job_list"))[1] ?? "", /job notice: bash-1/)
    // `cat` got no byte of the protocol, nor did it wait for one.
    const output = yield* call("job_output", { job_id: "bash-1" })
    assert.match(texts(output)[0] ?? "", /^done\n\[status: completed, exit code: 0/)

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
export const findAgain = ({ call, client }: Connected) =>
  Effect.gen(function* () {
    const shown = yield* Effect.promise(() => client.getPrompt({ name: "todo" }))
    assert.include(JSON.stringify(shown.messages), "Read the changelog")
    const [jobs, notice] = texts(yield* call("job_list"))
    assert.match(jobs ?? "", /bash-2 .*failed.*lost/)
    assert.match(notice ?? "", /job notice: bash-2/)
    assert.match(texts(yield* call("get_goal"))[0] ?? "", /complete.*\nship it/)
    assert.match(texts(yield* call("schedule_list"))[0] ?? "", /rest/i)
  })

const readme = fs.readFileSync(fileURLToPath(new URL("../../packages/mcp/README.md", import.meta.url)), "utf8")

/** What the README tells people to put into the settings of their clients. */
export const snippets = (/## Clients\n(.*?)\n## /s.exec(readme)?.[1] ?? "")
  .split("```json\n")
  .slice(1)
  .map((rest) => {
    const { mcpServers, servers } = JSON.parse(rest.slice(0, rest.indexOf("```")))
    return (mcpServers ?? servers) as {
      readonly afterturn: Server
      readonly "afterturn-http"?: { readonly url: string }
    }
  })

export const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } }
})

export const calling = (id: number | string, name: string, input: Record<string, unknown>) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } })
