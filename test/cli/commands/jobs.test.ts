import * as fs from "node:fs"
import * as path from "node:path"
import { storeLayer } from "@afterturn/cli/Compose/Store"
import { JobId } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLeases } from "@afterturn/session-log/SessionLeases"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Workplace } from "../../support/afterturn.js"
import { inProcess, jsonLines, start, workplace } from "../../support/afterturn.js"

/** A process that drives session `s1`, in which a command runs in the background. */
const running = (place: Workplace, command: string) =>
  Effect.gen(function* () {
    const file = path.join(place.folder, "jobs.json")
    const call = { tool: "bash", input: { description: "Do it", command, run_in_background: true } }
    const rules = [
      { on: "user", steps: [{ calls: [call] }, { text: "Started." }] },
      { on: "job-notice", steps: [{ text: "Heard." }] }
    ]
    fs.writeFileSync(file, JSON.stringify({ rules, otherwise: [{ text: "Done." }] }))
    const args = ["--db", place.db, "--session", "s1", "--model", `scripted:${file}`]
    const started = yield* start(["run", ...args, "go"])
    yield* started.said("Started.")
    return started
  })

const jobs = (place: Workplace, command: string, ...args: ReadonlyArray<string>) =>
  inProcess(["jobs", command, "--session", "s1", "--db", place.db, ...args])

/** Asks again until the output of `bash-1` holds a text. */
const written = (place: Workplace, text: string): Effect.Effect<void> =>
  Effect.flatMap(jobs(place, "output", "bash-1"), ({ stdout }) =>
    stdout.includes(text) ? Effect.void : written(place, text)
  )

const errorCode = (stderr: string) => (JSON.parse(stderr) as { readonly error: { readonly code: string } }).error.code

describe("jobs", () => {
  it.live("lists, reads and ends the job of another process, which goes on", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { finished } = yield* running(place, "echo one; sleep 300")
      yield* written(place, "one\n")
      const [listed, ...others] = JSON.parse((yield* jobs(place, "list", "--json")).stdout)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(listed, { id: "bash-1", kind: "bash", label: "echo one; sleep 300", status: "running" })
      assert.strictEqual(fs.readFileSync(path.join(listed.outputFolder, "0000000000000000.out"), "utf8"), "one\n")
      assert.match((yield* jobs(place, "list")).stdout, /^ID +STATUS.*\nbash-1 +running .*echo one; sleep 300 *\n$/)

      const read = yield* jobs(place, "output", "bash-1")
      assert.deepStrictEqual(read, { code: 0, stdout: "one\n", stderr: "[status: running]\n" })

      const killed = yield* jobs(place, "kill", "bash-1", "--reason", "enough", "--json")
      assert.deepStrictEqual({ code: killed.code, stderr: killed.stderr }, { code: 0, stderr: "" })
      const { answer, job } = JSON.parse(killed.stdout)
      assert.strictEqual(answer, "cancellation-requested")
      assert.deepInclude(job, { id: "bash-1", status: "killed", reason: "enough" })

      assert.deepInclude(yield* finished, { code: 0, stdout: "Started.\nHeard.\n" })
      const after = yield* jobs(place, "output", "bash-1", "--json")
      const [chunk, end] = jsonLines(after.stdout)
      assert.deepStrictEqual(chunk, { offset: 0, text: "one\n", droppedBytes: 0 })
      assert.deepInclude(end?.job as object, { id: "bash-1", status: "killed" })
      assert.match((yield* jobs(place, "kill", "bash-1")).stdout, /^bash-1: it had ended \[status: killed, .+\]\n$/)
      const { stdout } = yield* inProcess(["sessions", "show", "s1", "--db", place.db])
      assert.include(stdout, "user ends bash-1: enough")
    }).pipe(Effect.scoped)
  )

  it.live("follows output until the job ends", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const go = path.join(place.folder, "go")
      yield* running(place, `echo one; until [ -e ${go} ]; do sleep 0.1; done; echo two`)
      const following = yield* Effect.fork(jobs(place, "output", "--follow", "bash-1"))
      yield* written(place, "one\n")
      fs.writeFileSync(go, "")
      const { code, stderr, stdout } = yield* Fiber.join(following)
      assert.deepStrictEqual({ code, stdout }, { code: 0, stdout: "one\ntwo\n" })
      assert.match(stderr, /^\[status: completed, exit code: 0.*\]\n$/)
    }).pipe(Effect.scoped)
  )

  it.live("knows no job but those of the session", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      yield* running(place, "sleep 300")
      yield* inProcess(["run", "--session", "s2", ...place.scripted, "hello"])
      for (const session of ["s1", "s2"]) {
        for (const command of [["output"], ["output", "--follow"], ["kill"]]) {
          const id = session === "s1" ? "bash-2" : "bash-1"
          const args = ["jobs", ...command, "--session", session, "--db", place.db, "--json", id]
          const { code, stderr, stdout } = yield* inProcess(args)
          assert.deepStrictEqual(
            { code, stdout, error: errorCode(stderr) },
            { code: 1, stdout: "", error: "job_not_found" }
          )
        }
      }
      assert.strictEqual((yield* inProcess(["jobs", "list", "--session", "s2", "--db", place.db])).stdout, "no jobs\n")
      for (const odd of ["", "../x", "bash-01", "host-bash-1"]) {
        const { code } = yield* inProcess(["jobs", "output", "--session", "s1", "--db", place.db, "--", odd])
        assert.oneOf(code, [1, 2], odd)
      }
      const none = yield* inProcess(["jobs", "list", "--session", "s3", "--db", place.db, "--json"])
      assert.strictEqual(errorCode(none.stderr), "session_not_found")
      const { stderr } = yield* inProcess(["jobs", "list"])
      assert.strictEqual(stderr, "afterturn: expected --session; see afterturn jobs list --help\n")
    }).pipe(Effect.scoped)
  )

  it.live("settles the jobs of a process that died, without a model", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const { child, finished } = yield* running(place, "echo one; sleep 300")
      yield* written(place, "one\n")
      child.kill("SIGKILL")
      yield* finished
      const { code, stdout } = yield* jobs(place, "kill", "bash-1", "--json")
      assert.strictEqual(code, 0)
      const { answer, job } = JSON.parse(stdout)
      assert.strictEqual(answer, "settled-as-lost")
      assert.strictEqual(job.status, "failed")
      assert.match(job.detail, /^lost: the host stopped/)
      assert.strictEqual((yield* jobs(place, "output", "bash-1")).stdout, "one\n")
      assert.strictEqual((yield* inProcess(["sessions", "verify", "--db", place.db])).code, 0)
      // The lease was given back, and whoever resumes is told of the end.
      const script = path.join(place.folder, "jobs.json")
      const next = yield* inProcess([
        "run",
        "--db",
        place.db,
        "--session",
        "s1",
        "--model",
        `scripted:${script}`,
        "so?"
      ])
      assert.include(next.stderr, "bash-1 (bash")
      yield* inProcess(["sessions", "remove", "s1", "--db", place.db])
      assert.deepStrictEqual(fs.readdirSync(`${place.db}.jobs`), [])
    }).pipe(Effect.scoped)
  )

  it.live("withdraws the command when the process that drives the session does not answer", () =>
    Effect.gen(function* () {
      const place = yield* workplace
      const id = SessionId.make("s1")
      // A driver that serves no commands.
      const driver = Effect.gen(function* () {
        const log = yield* SessionLog
        yield* log.create({ id })
        yield* Effect.flatMap(SessionLeases, (leases) => leases.acquire(id))
        yield* log.append(id, [JobEvents.JobStart.make({ id: JobId.make("bash-1"), kind: "bash", label: "x" })])
        const { code, stderr } = yield* jobs(place, "kill", "bash-1", "--json")
        assert.deepStrictEqual({ code, error: errorCode(stderr) }, { code: 1, error: "command_unanswered" })
        assert.include(stderr, "it was withdrawn")
      })
      yield* driver.pipe(Effect.scoped, Effect.provide(storeLayer(place.db)))
    }).pipe(Effect.scoped)
  )
})
