import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import * as Effect from "effect/Effect"
import * as Afterturn from "../../support/afterturn.js"
import * as Clients from "../../support/mcpClients.js"

const { atHome, background, bash, calling, drive, environment, findAgain, initialize, overHttp, patience } = Clients

describe("a session over the protocol outlives its processes", () => {
  it.live(
    "over HTTP, with commands where they are allowed",
    () =>
      atHome((home) =>
        Effect.gen(function* () {
          const session = ["--session", "notes", ...Clients.quiet]
          yield* Effect.scoped(Effect.flatMap(overHttp(home, [...session, "--approve", "allow"]), drive))
          const again = yield* overHttp(home, session)
          const { tools } = yield* Effect.promise(() => again.client.listTools())
          assert.notInclude(
            tools.map(({ name }) => name),
            "bash"
          )
          yield* findAgain(again)
          assert.strictEqual(again.url.pathname, new URL(Clients.snippets[2]?.["afterturn-http"]?.url ?? "").pathname)
          yield* Effect.promise(() => again.client.close())
          again.server.child.kill("SIGTERM")
          const { code, stdout } = yield* again.server.finished
          assert.deepStrictEqual([code, stdout], [143, ""])
        })
      ),
    patience
  )
})

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
          const started = Clients.serve("--session", "s1", "--approve", "ask")
          await client.connect(
            new StdioClientTransport({ ...started, args: [...started.args], env: environment(home), stderr: "ignore" })
          )
          assert.strictEqual(client.getNegotiatedProtocolVersion(), "2026-07-28")
          const run = async (command: string) =>
            Clients.texts((await client.callTool({ name: "bash", arguments: bash(command) })) as Clients.Result)[0] ??
            ""
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
            yield* server.write(calling(2, "bash", bash(`echo $$ > ${mark}; exec sleep 300`, background)))
            yield* server.said('"id":2')
            yield* server.write(calling(3, "bash", bash(`until [ -s ${mark} ]; do sleep 0.05; done; echo marked`)))
            yield* server.said("marked\\n")
            // Nobody sends it a signal.
            yield* server.write()
            assert.strictEqual((yield* server.finished).code, 0)
            const pid = Number(fs.readFileSync(mark, "utf8"))
            assert.strictEqual(isAlive(pid), detaches)
            const jobs = yield* Afterturn.inProcess(["jobs", "list", "--session", session, "--db", db, "--json"])
            const statuses = JSON.parse(jobs.stdout).map(({ id, status }: Record<string, string>) => `${id} ${status}`)
            assert.include(statuses, `bash-1 ${detaches ? "running" : "killed"}`)
            if (detaches) process.kill(pid, "SIGKILL")
          }
        })
      ),
    patience
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
