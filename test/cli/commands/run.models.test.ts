import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, jsonLines, start, workplace } from "../../support/afterturn.js"
import * as ProviderStub from "../../support/ProviderStub.js"

const key = "sk-very-secret-0123456789"

/** Of their own: the bundle loads a provider faster than a test's own loader does. */
const process = (args: ReadonlyArray<string>, env: Record<string, string>) =>
  Effect.scoped(Effect.flatMap(start(args, { env }), ({ finished }) => finished))

/** Milliseconds for two of them on a busy machine, and for the bundle. */
const processes = 90_000

describe("run with a real model", () => {
  it.live(
    "takes the provider whose key is in the environment",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        const stub = yield* ProviderStub.make((_request, { path }) => ({
          events: (path === "/v1/messages" ? ProviderStub.messages : ProviderStub.chat)({ text: "Hello from afar." })
        }))
        const anthropic = { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: stub.url }
        const first = yield* process(["run", "--db", place.db, "hi"], anthropic)
        assert.deepInclude(first, { code: 0, stdout: "Hello from afar.\n" })
        const openai = { OPENAI_API_KEY: key }
        const second = yield* process(["run", "--db", place.db, "--base-url", `${stub.url}/v1`, "hi"], openai)
        assert.deepInclude(second, { code: 0, stdout: "Hello from afar.\n" })
        assert.deepStrictEqual(
          stub.requests.map(({ headers, path }) => [path, headers["x-api-key"] ?? headers.authorization]),
          [
            ["/v1/messages", key],
            ["/v1/chat/completions", `Bearer ${key}`]
          ]
        )
      }).pipe(Effect.scoped),
    processes
  )

  it.live("says what to set when there is neither model nor key", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr, stdout } = yield* inProcess(["run", "--db", place.db, "hi"])
      assert.deepStrictEqual({ code, stdout }, { code: 2, stdout: "" })
      assert.match(
        stderr,
        /^afterturn: expected a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one with --model/
      )
      const named = yield* inProcess(["run", "--db", place.db, "--model", "openai:gpt-5", "--json", "hi"])
      assert.strictEqual(named.code, 2)
      assert.include(JSON.parse(named.stderr).error.message, "set OPENAI_API_KEY")
    }).pipe(Effect.scoped)
  )

  it.live(
    "gives the key to nobody: not to the commands that the model runs, not to the log, not to an error",
    () =>
      Effect.gen(function* () {
        const place = yield* workplace
        const call = {
          id: "call_1",
          name: "bash",
          arguments: JSON.stringify({ description: "looks", command: "env; echo done-$((40+2))" })
        }
        const stub = yield* ProviderStub.make((request) =>
          request === 0
            ? { events: ProviderStub.messages({ calls: [call] }) }
            : request === 1
              ? { events: ProviderStub.messages({ text: "That was it." }) }
              : { status: 401, body: { error: { type: "authentication_error", message: `bad key ${key}` } } }
        )
        const args = [
          "--db",
          place.db,
          "--session",
          "s1",
          "--model",
          "anthropic:stub",
          "--base-url",
          stub.url,
          "--json"
        ]
        const env = { ANTHROPIC_API_KEY: key, OPENAI_API_KEY: `${key}-2` }
        const { finished } = yield* start(["run", ...args, "--approve", "allow", "--log-level", "all", "look"], { env })
        const done = yield* finished
        assert.strictEqual(done.code, 0, done.stderr)
        assert.include(done.stdout, "done-42")
        const { finished: refused } = yield* start(["run", ...args, "--log-level", "all", "again"], { env })
        const end = yield* refused
        assert.strictEqual(end.code, 1)
        assert.include(end.stderr, "provider_unauthorized")
        const stored = yield* inProcess(["sessions", "export", "s1", "--db", place.db])
        assert.isAbove(jsonLines(stored.stdout).length, 10)
        assert.notInclude([done.stdout, done.stderr, end.stdout, end.stderr, stored.stdout].join("\n"), key)
      }).pipe(Effect.scoped),
    processes
  )
})
