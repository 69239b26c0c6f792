import * as fs from "node:fs"
import * as path from "node:path"
import * as AgentEvents from "@afterturn/agent/AgentEvents"
import * as AgentMessage from "@afterturn/agent/AgentMessage"
import { storeLayer } from "@afterturn/cli/Compose/Store"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, jsonLines, run, start, workplace } from "../../support/afterturn.js"

const prompt = (place: Workplace, ...args: ReadonlyArray<string>) => inProcess(["run", ...place.scripted, ...args])

const events = (place: Workplace, id: string) =>
  Effect.map(
    inProcess(["sessions", "show", id, "--db", place.db, "--json"]),
    ({ stdout }) => (JSON.parse(stdout) as { readonly events: ReadonlyArray<Event> }).events
  )

interface Event {
  readonly seq: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** What a process leaves that ends before it opens a turn for its message. */
const leaveInInbox = (place: Workplace, text: string) =>
  Effect.flatMap(SessionLog, (log) =>
    log.append(SessionId.make("s1"), [
      AgentEvents.InboxSpliced.make({
        list: "nextTurn",
        op: "insert",
        messages: [{ id: "msg-2", ...AgentMessage.user(text) }]
      })
    ])
  ).pipe(Effect.provide(storeLayer(place.db)))

const seqs = (list: ReadonlyArray<Record<string, unknown>>) => list.map((event) => event.seq)

const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first + index)

describe("run", () => {
  it.live("prints the events of its turn as they are stored, and goes on where a run before left off", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const first = yield* run("run", ...place.scripted, "--session", "s1", "--json", "plan it")
      assert.deepStrictEqual({ code: first.code, stderr: first.stderr }, { code: 0, stderr: "" })
      const lines = jsonLines(first.stdout)
      assert.deepStrictEqual(seqs(lines), from(0, 14))
      assert.deepStrictEqual(lines.at(-1)?.data, { turn: 1, reason: { kind: "completed" } })

      const second = yield* run("run", ...place.scripted, "--session", "s1", "--json", "and now?")
      assert.strictEqual(second.code, 0)
      assert.deepStrictEqual(seqs(jsonLines(second.stdout)), from(14, 8))
      assert.deepStrictEqual(yield* events(place, "s1"), [...lines, ...jsonLines(second.stdout)] as never)
    }).pipe(Effect.scoped)
  )

  it.live("prints the text, and calls a line each on stderr", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr, stdout } = yield* prompt(place, "--session", "s1", "plan it")
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: "Planning.\nPlanned.\n" })
      assert.match(stderr, /^todo_write \{"todos":\[.+\]\}\n$/)
    }).pipe(Effect.scoped)
  )

  it.live("makes a session of its own when none is named, and says which", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { stderr } = yield* prompt(place, "  Write to\nAnna")
      const id = /^session (\S+)\n$/.exec(stderr)?.[1] ?? assert.fail(stderr)
      const { stdout } = yield* inProcess(["sessions", "show", id, "--db", place.db, "--json"])
      const { header } = JSON.parse(stdout) as { readonly header: Record<string, unknown> }
      assert.deepInclude(header, { id, title: "Write to", cwd: process.cwd() })
      const again = yield* prompt(place, "--json", "x".repeat(200))
      const { session } = JSON.parse(again.stderr) as { readonly session: string }
      const list = yield* inProcess(["sessions", "list", "--db", place.db, "--json"])
      assert.deepInclude(JSON.parse(list.stdout)[0], { id: session, title: `${"x".repeat(79)}…` })
    }).pipe(Effect.scoped)
  )

  it.live("reads the prompt from stdin for -", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { finished } = yield* start(["run", ...place.scripted, "--session", "s1", "-"], { stdin: "grüße\n" })
      assert.deepStrictEqual(yield* finished, { code: 0, stdout: "Done.\n", stderr: "" })
      const message = (yield* events(place, "s1")).find((event) => event.type === "user/message")
      assert.deepStrictEqual(message?.data.content, [{ type: "text", text: "grüße\n" }])
    }).pipe(Effect.scoped)
  )

  it.live("takes a prompt for what it is, whatever it looks like", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      for (const word of ["--help", "yes", "list"]) {
        assert.strictEqual((yield* prompt(place, "--json", "--", word)).code, 0, word)
      }
      const { code, stderr } = yield* prompt(place, " ")
      assert.deepStrictEqual(
        { code, stderr },
        { code: 2, stderr: "afterturn: PROMPT: expected some text, got none; see afterturn run --help\n" }
      )
    }).pipe(Effect.scoped)
  )

  it.live("exits 1 with the reason when the turn ends in an error, and the session goes on", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr } = yield* prompt(place, "--session", "s1", "refuse")
      assert.strictEqual(code, 1)
      assert.strictEqual(
        stderr,
        "afterturn: turn 1 ended in an error: the provider answered 400: no way (provider_rejected)\n"
      )
      const again = yield* prompt(place, "--session", "s1", "--json", "refuse")
      assert.strictEqual(JSON.parse(again.stderr).error.code, "provider_rejected")
      assert.strictEqual((yield* prompt(place, "--session", "s1", "go on")).stdout, "Done.\n")
    }).pipe(Effect.scoped)
  )

  it.live("stays no longer than --max-wait", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr } = yield* prompt(place, "--session", "s1", "--json", "--max-wait", "2s", "hold on")
      assert.strictEqual(code, 1)
      assert.deepStrictEqual(JSON.parse(stderr).error, {
        code: "max_wait",
        message: "stopped after 2s; turn 1 was aborted: --max-wait 2s was over"
      })
      assert.deepStrictEqual((yield* events(place, "s1")).at(-1)?.data, {
        turn: 1,
        reason: { kind: "aborted", cause: "--max-wait 2s was over" }
      })
    }).pipe(Effect.scoped)
  )

  it.live("goes on to the end of the turn when nobody reads its output any more", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const args = ["run", ...place.scripted, "--session", "s1", "--json", "plan it"]
      const { code, stderr, stdout } = yield* inProcess(args, { reads: 1 })
      assert.deepStrictEqual({ code, stderr, lines: jsonLines(stdout).length }, { code: 0, stderr: "", lines: 1 })
      assert.deepStrictEqual((yield* events(place, "s1")).at(-1)?.data.reason, { kind: "completed" })
    }).pipe(Effect.scoped)
  )

  it.live("goes on to the end of the turn when its output cannot be written, and says so then", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const args = (text: string) => ["run", ...place.scripted, "--session", "s1", "--json", text]
      const fault = "ENOSPC: no space left on device"
      const { code, stderr } = yield* inProcess(args("plan it"), { reads: 1, fault })
      assert.deepStrictEqual(
        { code, error: JSON.parse(stderr).error },
        {
          code: 1,
          error: { code: "output_unwritable", message: `the output cannot be written: ${fault}` }
        }
      )
      assert.deepStrictEqual((yield* events(place, "s1")).at(-1)?.data.reason, { kind: "completed" })
      // Why the turn failed says more.
      const failed = yield* inProcess(args("refuse"), { reads: 0, fault })
      assert.strictEqual(JSON.parse(failed.stderr).error.code, "provider_rejected")
    }).pipe(Effect.scoped)
  )

  it.live("delivers what was left in the inbox before its own prompt", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* prompt(place, "--session", "s1", "hello")
      yield* leaveInInbox(place, "plan it")
      assert.strictEqual((yield* prompt(place, "--session", "s1", "bye")).stdout, "Planning.\nPlanned.\nDone.\n")
    }).pipe(Effect.scoped)
  )

  it.live("names what --max-wait left in the inbox, and leaves it there", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* prompt(place, "--session", "s1", "hello")
      yield* leaveInInbox(place, "hold on")
      const { stderr } = yield* prompt(place, "--session", "s1", "--json", "--max-wait", "2s", "plan it")
      assert.match(
        JSON.parse(stderr).error.message,
        /^stopped after 2s; turn 2 was aborted: .+; 1 waiting in the inbox for the next run$/
      )
      assert.strictEqual((yield* prompt(place, "--session", "s1", "bye")).stdout, "Planning.\nPlanned.\nDone.\n")
    }).pipe(Effect.scoped)
  )

  it.live("says what to set when there is no model, or none of that kind", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      for (const [args, message] of [
        [
          [],
          "expected a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or name one with --model or AFTERTURN_MODEL: " +
            "anthropic:NAME, openai:NAME or scripted:FILE"
        ],
        [["--model", "gpt"], 'model route "gpt": expected anthropic:NAME, openai:NAME or scripted:FILE'],
        [
          ["--model", "openai:gpt"],
          'model route "openai:gpt": set OPENAI_API_KEY, or name a server that asks for no key with --base-url'
        ]
      ] as const) {
        const { code, stderr } = yield* inProcess(["run", "--db", place.db, ...args, "hi"])
        assert.deepStrictEqual({ code, stderr }, { code: 2, stderr: `afterturn: ${message}\n` })
      }
      assert.isFalse(fs.existsSync(place.db))
    }).pipe(Effect.scoped)
  )

  it.live("takes the model and the database from the environment", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const env = { AFTERTURN_DB: place.db, AFTERTURN_MODEL: place.scripted[3] ?? "" }
      assert.strictEqual((yield* inProcess(["run", "--session", "s1", "hi"], { env })).stdout, "Done.\n")
      assert.isTrue(fs.existsSync(place.db))
    }).pipe(Effect.scoped)
  )

  it.live("leaves the database alone when the script is bad", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const file = path.join(place.folder, "bad.json")
      fs.writeFileSync(file, '{ "rules": 1 }')
      for (const [script, code] of [
        [file, "invalid_script"],
        [path.join(place.folder, "none.json"), "script_unreadable"]
      ] as const) {
        const result = yield* inProcess(["run", "--db", place.db, "--model", `scripted:${script}`, "--json", "hi"])
        assert.deepStrictEqual({ code: result.code, stdout: result.stdout }, { code: 1, stdout: "" })
        assert.strictEqual(JSON.parse(result.stderr).error.code, code)
      }
      assert.isFalse(fs.existsSync(place.db))
    }).pipe(Effect.scoped)
  )
})
