import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Workplace } from "../support/afterturn.js"
import { bundle, holding, inProcess, jsonLines, run, start, workplace } from "../support/afterturn.js"

const turnEnds = (place: Workplace, id: string) =>
  Effect.map(inProcess(["sessions", "show", id, "--db", place.db, "--json"]), ({ stdout }) =>
    (JSON.parse(stdout).events as ReadonlyArray<{ readonly type: string; readonly data: { readonly reason: unknown } }>)
      .filter((event) => event.type === "turn/end")
      .map((event) => event.data.reason)
  )

/** A process that a turn of session `s1` keeps. */
const held = (place: Workplace) =>
  Effect.tap(start(["run", ...place.scripted, "--session", "s1", "hold on"]), ({ said }) => said(holding))

describe("the afterturn process", () => {
  it.live("exits with the code of its command, results on stdout and the rest on stderr", () =>
    Effect.gen(function* () {
      const { db } = yield* workplace
      assert.deepStrictEqual(yield* run("--version"), { code: 0, stdout: "0.1.0\n", stderr: "" })
      assert.strictEqual((yield* run("--help")).stdout.split("\n")[0], "Usage: afterturn COMMAND")
      const { code, stderr, stdout } = yield* run("sessions", "lst", "--json")
      assert.deepStrictEqual({ code, stdout }, { code: 2, stdout: "" })
      assert.strictEqual(JSON.parse(stderr).error.code, "usage")
      assert.strictEqual((yield* run("sessions", "show", "s1", "--db", db)).code, 1)
    }).pipe(Effect.scoped)
  )

  it.live("ends quietly when its reader is gone", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* inProcess(["run", ...place.scripted, "--session", "s1", "x".repeat(1_000_000)])
      // Far more than a pipe holds, so that the writer meets the closed end.
      const line = '"$0" "$1" sessions export s1 --db "$2" | head -c 10; echo " $PIPESTATUS"'
      const { stderr, stdout } = spawnSync("bash", ["-c", line, process.execPath, bundle(), place.db], {
        encoding: "utf8"
      })
      assert.deepStrictEqual({ stderr, stdout }, { stderr: "", stdout: '{"id":"s1" 0\n' })
    }).pipe(Effect.scoped)
  )

  it.live.skipIf(!fs.existsSync("/dev/full"))("says that a full disk took no output, whatever the command", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      for (const args of [["run", ...place.scripted, "--session", "s1", "hello"], ["--help"]]) {
        const { status, stderr } = spawnSync(
          "bash",
          ["-c", '"$0" "$@" > /dev/full', process.execPath, bundle(), ...args],
          {
            encoding: "utf8"
          }
        )
        assert.strictEqual(stderr, "afterturn: the output cannot be written: ENOSPC: no space left on device, write\n")
        assert.strictEqual(status, 1)
      }
      assert.deepStrictEqual(yield* turnEnds(place, "s1"), [{ kind: "completed" }])
    }).pipe(Effect.scoped)
  )

  it.live("lets one process drive a session, and names it to the others", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const first = yield* held(place)
      const second = yield* run("run", ...place.scripted, "--session", "s1", "--json", "me too")
      assert.deepStrictEqual({ code: second.code, stdout: second.stdout }, { code: 1, stdout: "" })
      const { code, message } = JSON.parse(second.stderr).error
      assert.strictEqual(code, "session_leased")
      assert.include(message, `driven by process ${first.child.pid} on `)
      assert.strictEqual((yield* run("sessions", "remove", "s1", "--db", place.db)).code, 1)
      // Reading needs no lease, and others are nobody's business.
      assert.strictEqual((yield* run("sessions", "verify", "--db", place.db)).code, 0)
      assert.strictEqual((yield* run("run", ...place.scripted, "--session", "s2", "hello")).stdout, "Done.\n")
    }).pipe(Effect.scoped)
  )

  it.live("cancels the turn on Ctrl-C", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      for (const [signal, code] of [
        ["SIGINT", 130],
        ["SIGTERM", 143]
      ] as const) {
        const { child, finished } = yield* held(place)
        child.kill(signal)
        const end = yield* finished
        assert.deepStrictEqual({ code: end.code, stdout: end.stdout }, { code, stdout: "" })
        assert.notInclude(end.stderr, "afterturn:")
      }
      const aborted = { kind: "aborted", cause: "the command was interrupted" }
      assert.deepStrictEqual(yield* turnEnds(place, "s1"), [aborted, aborted])
    }).pipe(Effect.scoped)
  )

  it.live("leaves what a killed process began to the next one", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { child, finished } = yield* held(place)
      child.kill("SIGKILL")
      assert.strictEqual((yield* finished).code, null)
      const next = yield* run("run", ...place.scripted, "--session", "s1", "--json", "go on")
      assert.strictEqual(next.code, 0)
      const types = jsonLines(next.stdout).map((event) => event.type)
      assert.deepStrictEqual(types.slice(0, 3), ["step/end", "turn/end", "agent/inbox/spliced"])
      assert.deepStrictEqual(yield* turnEnds(place, "s1"), [{ kind: "interrupted" }, { kind: "completed" }])
      assert.strictEqual((yield* inProcess(["sessions", "verify", "--db", place.db])).code, 0)
    }).pipe(Effect.scoped)
  )
})
