import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inProcess, start, workplace } from "../../support/afterturn.js"

const talk = (stdin: string, ...args: ReadonlyArray<string>) =>
  Effect.scoped(Effect.flatMap(start(["chat", ...args], { stdin }), ({ finished }) => finished))

describe("chat, through pipes", () => {
  it.live("talks to a new session until its input ends, and goes on with it later", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const first = yield* talk("plan it\n/todo\n", ...place.scripted)
      assert.deepStrictEqual(first, {
        code: 0,
        stdout: [
          "",
          "› plan it",
          "Planning.",
          "  ☑ Read the changelog",
          "  ▸ Write the entry",
          "✓ todo_write(todos: 2 items) → 2 todos: 1 completed, 1 in progress, 0 pending.",
          "Planned.",
          "  ☑ Read the changelog",
          "  ▸ Write the entry",
          "2 todos: 1 completed, 1 in progress, 0 pending.",
          ""
        ].join("\n"),
        stderr: ""
      })
      const listed = yield* inProcess(["sessions", "list", "--db", place.db, "--json"])
      const [{ id }] = JSON.parse(listed.stdout)
      const second = yield* talk("hello\n", ...place.scripted, "--session", id)
      assert.match(second.stdout, /^\n› plan it\n/)
      assert.match(second.stdout, /\n› hello\nDone\.\n$/)
    }).pipe(Effect.scoped)
  )

  it.live("runs what its script runs, tells of the jobs that end with it, and asks nobody", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const file = path.join(place.folder, "jobs.json")
      const call = { tool: "bash", input: { description: "Nap", command: "sleep 300", run_in_background: true } }
      fs.writeFileSync(
        file,
        JSON.stringify({ rules: [{ on: "user", repeat: true, steps: [{ calls: [call] }, { text: "Sleeps." }] }] })
      )
      const args = ["--db", place.db, "--session", "s1", "--model", `scripted:${file}`]
      const { code, stderr, stdout } = yield* talk("go\n/jobs\n", ...args)
      assert.deepStrictEqual(
        { code, stderr },
        { code: 0, stderr: "bash-1 was still running and is cancelled: sleep 300\n" }
      )
      assert.include(stdout, "\nSleeps.\n  bash-1 [status: running] sleep 300\n")
      const jobs = yield* inProcess(["jobs", "list", "--session", "s1", "--db", place.db, "--json"])
      assert.strictEqual(JSON.parse(jobs.stdout)[0].status, "killed")
      const asked = yield* talk("go\n", ...args, "--approve", "ask")
      assert.include(asked.stdout, "approval_denied: the command was not run: nobody is there to approve it")
    }).pipe(Effect.scoped)
  )

  it.live("creates the session that is named, when there is none", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      assert.strictEqual((yield* talk("hello\n", ...place.scripted, "--session", "s1")).stdout, "\n› hello\nDone.\n")
      assert.strictEqual((yield* inProcess(["sessions", "show", "s1", "--db", place.db])).code, 0)
    }).pipe(Effect.scoped)
  )

  it.live("keeps no session in which nothing was said, unless it was named", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      assert.deepStrictEqual(yield* talk("/todo\n", ...place.scripted), {
        code: 0,
        stdout: "There is no todo list.\n",
        stderr: ""
      })
      yield* talk("", ...place.scripted, "--session", "s1")
      const listed = yield* inProcess(["sessions", "list", "--db", place.db, "--json"])
      assert.deepStrictEqual(
        JSON.parse(listed.stdout).map(({ id }: { readonly id: string }) => id),
        ["s1"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("exits 1 when the last turn ended in an error, and 2 without a model", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const failed = yield* talk("refuse\n", ...place.scripted)
      assert.strictEqual(failed.code, 1)
      assert.match(failed.stderr, /^afterturn: the last turn ended in an error: [^\n]*no way\n$/)
      assert.strictEqual((yield* talk("hello\n", "--db", place.db)).code, 2)
    }).pipe(Effect.scoped)
  )

  it.live("ends its turn on a signal, so that the session can go on at once", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const held = yield* start(["chat", ...place.scripted, "--session", "s1"], { stdin: "hold on\n" })
      yield* held.said("is made again")
      held.child.kill("SIGTERM")
      assert.strictEqual((yield* held.finished).code, 143)
      const next = yield* talk("hello\n", ...place.scripted, "--session", "s1")
      assert.include(next.stdout, "■ stopped: the agent was disposed\n\n› hello\nDone.\n")
    }).pipe(Effect.scoped)
  )
})
