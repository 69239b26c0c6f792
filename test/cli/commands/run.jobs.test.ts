import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, jsonLines, run, start, workplace } from "../../support/afterturn.js"

interface Data {
  readonly [key: string]: unknown
}

const bash = (command: string) => ({
  tool: "bash",
  input: { description: "Do it", command, run_in_background: true }
})

/** Options of a workplace whose script runs commands in the background when it is told to go, and says so when one has ended. */
const scripted = (
  place: Workplace,
  commands: ReadonlyArray<string>,
  onNotice: ReadonlyArray<object> = [{ text: "Heard." }]
) => {
  const file = path.join(place.folder, "jobs.json")
  const script = {
    rules: [
      { on: "user", match: "go", repeat: true, steps: [{ calls: commands.map(bash) }, { text: "Started." }] },
      { on: "job-notice", repeat: true, steps: onNotice }
    ],
    otherwise: [{ text: "Done." }]
  }
  fs.writeFileSync(file, JSON.stringify(script))
  return ["--db", place.db, "--session", "s1", "--model", `scripted:${file}`]
}

const eventsOf = (place: Workplace) =>
  Effect.map(
    inProcess(["sessions", "show", "s1", "--db", place.db, "--json"]),
    ({ stdout }) => (JSON.parse(stdout) as { readonly events: ReadonlyArray<{ type: string; data: Data }> }).events
  )

const dataOf = (events: ReadonlyArray<{ readonly type?: unknown; readonly data?: unknown }>, type: string) =>
  events.filter((event) => event.type === type).map((event) => event.data as Data)

describe("run with background jobs", () => {
  it.live("stays for a job and for the turn that its notice opens", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { code, stderr, stdout } = yield* run("run", ...scripted(place, ["sleep 1; echo done"]), "--json", "go")
      assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
      const lines = jsonLines(stdout)
      const order = lines.map(({ type }) => type).filter((type) => /^(job|turn)\//.test(String(type)))
      assert.deepStrictEqual(order, ["turn/start", "job/start", "turn/end", "job/settle", "turn/start", "turn/end"])
      assert.deepInclude(dataOf(lines, "job/start")[0], { id: "bash-1", kind: "bash", label: "sleep 1; echo done" })
      assert.deepInclude(dataOf(lines, "job/settle")[0], { id: "bash-1", status: "completed" })
      assert.deepStrictEqual(dataOf(lines, "turn/start")[1], {
        turn: 2,
        source: { kind: "job-notice", jobs: ["bash-1"] }
      })
      assert.deepStrictEqual(dataOf(lines, "turn/end").at(-1), { turn: 2, reason: { kind: "completed" } })
    }).pipe(Effect.scoped)
  )

  it.live("prints what the second turn says, and the notice on stderr", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const told = [
        { calls: [{ tool: "job_output", input: { job_id: "{{job}}" } }] },
        { text: "It says {{result.output}}" }
      ]
      const { code, stderr, stdout } = yield* inProcess(["run", ...scripted(place, ["echo hi"], told), "go"])
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: "Started.\nIt says hi\n" })
      assert.match(stderr, /^- bash-1 \(bash: "echo hi"\) \[status: completed, exit code: 0.*\]$/m)
    }).pipe(Effect.scoped)
  )

  it.live("cancels what still runs when --max-wait is over, and names it", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const args = ["run", ...scripted(place, ["sleep 300", "sleep 301"]), "--max-wait", "4s"]
      const { code, stderr } = yield* inProcess([...args, "go"])
      assert.strictEqual(code, 1)
      assert.include(stderr, "bash-1 was still running and was cancelled: sleep 300\n")
      assert.include(stderr, "bash-2 was still running and was cancelled: sleep 301\n")
      assert.match(stderr, /^afterturn: stopped after 4s; 2 jobs cancelled$/m)
      assert.deepStrictEqual(
        dataOf(yield* eventsOf(place), "job/settle").map(({ status }) => status),
        ["killed", "killed"]
      )
    }).pipe(Effect.scoped)
  )

  it.live("prints the ends of the jobs that it cancels, and names them as JSON", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const args = ["run", ...scripted(place, ["sleep 300"]), "--json", "--max-wait", "4s"]
      const { code, stderr, stdout } = yield* inProcess([...args, "go"])
      assert.strictEqual(code, 1)
      const [left, error] = jsonLines(stderr)
      assert.deepStrictEqual(left, { left: { cancelledJobs: [{ id: "bash-1", label: "sleep 300" }], heldNotices: [] } })
      assert.strictEqual((error?.error as Data | undefined)?.code, "max_wait")
      const lines = jsonLines(stdout)
      assert.deepInclude(dataOf(lines, "job/settle")[0], { id: "bash-1", status: "killed" })
      assert.deepStrictEqual(lines as unknown, yield* eventsOf(place))
    }).pipe(Effect.scoped)
  )

  it.live("ends its jobs on Ctrl-C", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { child, finished, said } = yield* start(["run", ...scripted(place, ["sleep 300"]), "go"])
      yield* said("Started.")
      child.kill("SIGINT")
      const end = yield* finished
      assert.strictEqual(end.code, 130)
      assert.include(end.stderr, "bash-1 was still running and was cancelled: sleep 300")
      assert.deepInclude(dataOf(yield* eventsOf(place), "job/settle")[0], { id: "bash-1", status: "killed" })
    }).pipe(Effect.scoped)
  )

  it.live("exits once the wake budget is spent, and names the notice that it holds", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      // Each notice starts the next job: three turns are opened by themselves, not a fourth.
      const args = scripted(place, ["true"], [{ calls: [bash("true")] }, { text: "Again." }])
      const { code, stderr, stdout } = yield* inProcess(["run", ...args, "go"])
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: "Started.\nAgain.\nAgain.\nAgain.\n" })
      assert.match(stderr, /^bash-4 ended: the notice waits for the next turn$/m)
      const next = yield* inProcess(["run", ...args, "thanks"])
      assert.include(next.stderr, "bash-4 (bash")
    }).pipe(Effect.scoped)
  )

  it.live("does not run commands where nobody may approve them", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      for (const policy of ["ask", "deny"]) {
        const args = ["run", ...scripted(place, [`touch ${place.folder}/made`]), "--approve", policy]
        const { code, stderr } = yield* inProcess([...args, "go"])
        assert.strictEqual(code, 0)
        assert.include(stderr, "approval_denied")
      }
      assert.isFalse(fs.existsSync(path.join(place.folder, "made")))
      assert.deepStrictEqual(dataOf(yield* eventsOf(place), "job/start"), [])
      const wrong = yield* inProcess(["run", ...scripted(place, []), "--approve", "maybe", "go"])
      assert.include(wrong.stderr, '--approve: expected one of allow, deny, ask, got "maybe"')
    }).pipe(Effect.scoped)
  )
})
