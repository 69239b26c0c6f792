import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, workplace } from "../support/afterturn.js"

describe("main", () => {
  it.live("answers help, the version and completions on stdout", () =>
    Effect.gen(function* () {
      const help = yield* inProcess(["--help"])
      assert.strictEqual(help.code, 0)
      assert.include(help.stdout, "sessions verify [ID]")
      assert.strictEqual(help.stderr, "")
      assert.include((yield* inProcess(["todo", "show", "-h"])).stdout, "--history")
      assert.strictEqual((yield* inProcess(["--version"])).stdout, "0.1.0\n")
      for (const [shell, sign] of [
        ["bash", "complete -F"],
        ["zsh", "#compdef afterturn"],
        ["fish", "complete -c afterturn"]
      ] as const) {
        const { stdout } = yield* inProcess(["--completions", shell])
        assert.include(stdout, sign)
        assert.include(stdout, "max-wait")
        assert.notInclude(stdout, "wizard")
      }
    })
  )

  it.live("takes options before, between and after what they are for", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      const args = ["sessions", "list"]
      for (const line of [
        ["--json", "--db", db, ...args],
        ["sessions", "--json", "list", "--db", db],
        [...args, "--db", db, "--json"]
      ]) {
        assert.deepStrictEqual(yield* inProcess(line), { code: 0, stdout: "[]\n", stderr: "" })
      }
    }).pipe(Effect.scoped)
  )

  it.live("says in one line on stderr what is wrong with a command line", () =>
    Effect.gen(function* () {
      for (const [args, message] of [
        [
          ["sessions", "list", "--nope"],
          "afterturn sessions list has no option --nope; see afterturn sessions list --help"
        ],
        [["run"], "expected PROMPT or --goal; see afterturn run --help"],
        [["run", "a", "b"], 'unexpected argument "b"; see afterturn run --help'],
        [
          ["sessions"],
          "afterturn sessions: expected a command, one of list, show, fork, export, import, verify, gc, remove"
        ],
        [
          ["sessions", "list", "--limit", "0"],
          '--limit: expected a number from 1, got "0"; see afterturn sessions list --help'
        ],
        [
          ["sessions", "fork", "x", "--at", "-2"],
          '--at: expected a seq, or -1 for none, got "-2"; see afterturn sessions fork --help'
        ],
        [
          ["run", "x", "--max-wait", "soon"],
          '--max-wait: expected a duration such as 500ms, 30s, 5m, 2h or 1d, got "soon"; see afterturn run --help'
        ],
        [["sessions", "list", "--db="], "--db: expected some text, got none; see afterturn sessions list --help"],
        [
          ["sessions", "list", "--log-level", "loud"],
          '--log-level: expected one of all, trace, debug, info, warning, error, fatal, none, got "loud"'
        ]
      ] as const) {
        const expected = { code: 2, stdout: "", stderr: `afterturn: ${message}\n` }
        assert.deepStrictEqual(yield* inProcess(args), expected)
      }
      const { stderr } = yield* inProcess(["sessions", "show", "no/such", "--json"])
      assert.deepStrictEqual(JSON.parse(stderr), {
        error: {
          code: "usage",
          message:
            'ID: expected a session id (1 to 128 letters, digits, ".", "_", ":" or "-", beginning with a letter or digit), ' +
            'got "no/such"; see afterturn sessions show --help'
        }
      })
    })
  )

  it.live("reports a failure as JSON where results are JSON", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      const { code, stderr, stdout } = yield* inProcess(["sessions", "show", "s1", "--db", db, "--json"])
      assert.deepStrictEqual({ code, stdout }, { code: 1, stdout: "" })
      assert.deepStrictEqual(JSON.parse(stderr), {
        error: { code: "session_not_found", message: `no session "s1": there is no database ${db}` }
      })
    }).pipe(Effect.scoped)
  )

  it.live("ends quietly when nobody reads its results", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      const result = yield* inProcess(["sessions", "list", "--db", db], { reads: 0 })
      assert.deepStrictEqual(result, { code: 0, stdout: "", stderr: "" })
    }).pipe(Effect.scoped)
  )
})
