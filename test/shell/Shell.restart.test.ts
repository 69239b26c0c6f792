/** What a host leaves behind, whatever way it ends. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Agents } from "@afterturn/agent/Agents"
import type { JobProcess } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { Jobs } from "@afterturn/jobs/Jobs"
import * as Node from "@afterturn/shell/ShellBackend/Node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { dataOf } from "../support/agents.js"
import { bundle, start } from "../support/fixtureProcess.js"
import { folder } from "../support/temporary.js"
import * as Host from "./support/host.js"
import { argumentsOf, eventually, owner, processExists } from "./support/processes.js"

const fixture = new URL("./fixtures/host.ts", import.meta.url)

/** A host that has said what it runs. */
const running = (processes: number, ...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const host = yield* start(yield* bundle(fixture), ...args)
    yield* host.heard(1 + processes)
    if (host.lines.length < 1 + processes) assert.fail((yield* host.end).stderr)
    const [pid, ...shown] = host.lines.map((line) => JSON.parse(line))
    return { host, pid: pid as number, processes: shown as ReadonlyArray<JobProcess> }
  })

const sleeps = (process: JobProcess) => argumentsOf(process.group).filter((line) => line.startsWith("sleep")).length

const ends = Effect.map(dataOf(owner, JobEvents.JobSettle), (all) =>
  all.map(({ detail, id, reason, status }) => ({ id: String(id), status, detail, reason }))
)

describe("a host that is asked to end (B9)", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it.scopedLive(`by ${signal} ends the groups of its jobs first, and the log says so`, () =>
      Effect.gen(function* () {
        const made = yield* folder
        const { host, pid, processes } = yield* running(1, "jobs", made, "sleep 3600 & sleep 3601")
        const [job] = processes
        yield* eventually("it sleeps", () => sleeps(job!) === 2)
        process.kill(pid, signal)
        yield* host.end
        assert.deepStrictEqual(argumentsOf(job!.group), [])
        const [end] = yield* Effect.provide(ends, Host.layer(made))
        assert.strictEqual(end?.status, "killed")
        assert.strictEqual(end?.reason, "session ended")
        assert.match(end?.detail ?? "", /^signal: SIGTERM, after/)
      })
    )
  }
})

describe("a host that dies", () => {
  it.scopedLive("leaves processes that its successor ends, and jobs that it settles once (B9, B10)", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const commands = [
        "echo before; sleep 3600 & sleep 3601",
        // Its shell is gone by the time somebody looks; what it left carries the mark.
        "sleep 3602 & sleep 0.1; kill -9 $PPID",
        "sleep 0.1"
      ]
      const { host, processes } = yield* running(3, "jobs", made, ...commands)
      yield* eventually("all sleep", () => sleeps(processes[0]!) === 2 && sleeps(processes[1]!) >= 1)
      yield* host.kill
      yield* eventually("the last has ended", () => argumentsOf(processes[2]!.group).length === 0)
      assert.isAbove(sleeps(processes[0]!), 0)
      yield* Effect.gen(function* () {
        yield* Effect.flatMap(Agents, (agents) => agents.resume(owner))
        const settled = new Map((yield* ends).map((end) => [end.id, end]))
        assert.deepInclude(settled.get("bash-1")!, {
          status: "failed",
          detail: "lost: the host stopped; its 4 processes were ended"
        })
        assert.isTrue(settled.has("bash-2"))
        assert.isTrue(settled.has("bash-3"))
        for (const process of processes) assert.deepStrictEqual(argumentsOf(process.group), [])
        const jobs = yield* Jobs
        const read = yield* jobs.read("bash-1", owner)
        assert.strictEqual(read.output, "before\n")
        assert.strictEqual((yield* jobs.kill("bash-1", owner)).answer, "already-finished")
      }).pipe(Effect.scoped, Effect.provide(Host.layer(made)))
      assert.strictEqual((yield* Effect.provide(ends, Host.layer(made))).length, 3)
    })
  )

  it.scopedLive("before it has handed a command over leaves a shell that runs nothing of it", () =>
    Effect.gen(function* () {
      const marker = path.join(yield* folder, "marker")
      const { host, processes } = yield* running(2, "shells", marker)
      const [waiting, given] = processes
      assert.isTrue(processExists(waiting!.pid))
      yield* host.kill
      process.kill(-given!.group, "SIGCONT")
      yield* eventually("both have ended", () => processes.every(({ group }) => argumentsOf(group).length === 0))
      assert.isFalse(fs.existsSync(marker))
      assert.deepStrictEqual(yield* Node.make("linux").find(waiting!), { _tag: "Gone" })
    })
  )
})
