import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Afterturn from "../../support/afterturn.js"
import * as Clients from "../../support/mcpClients.js"

const { atHome, bash, calling, drive, findAgain, initialize, overStdio, patience, snippets } = Clients

describe("a session over the protocol outlives its processes", () => {
  it.live(
    "over stdio, started as the README tells clients to; while one drives it, a second is told so",
    () =>
      atHome((home) =>
        Effect.gen(function* () {
          const [claude, cursor, code] = snippets.map(({ afterturn: { args, command } }) => ({ command, args }))
          assert.isDefined(claude)
          assert.deepStrictEqual([cursor, code], [claude, claude])
          const started = { ...(claude as Clients.Server), args: [...(claude?.args ?? []), ...Clients.quiet] }
          yield* Effect.scoped(
            Effect.gen(function* () {
              const first = yield* overStdio(home, started)
              const refused = yield* Effect.flip(overStdio(home, claude as Clients.Server))
              assert.match(refused.message, /session "notes".*(another|drives|driven|held)/i)
              yield* drive(first)
            })
          )
          yield* findAgain(yield* overStdio(home, claude as Clients.Server))
        })
      ),
    patience
  )
})

describe("afterturn mcp", () => {
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
