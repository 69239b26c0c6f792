/** The tool on processes of the system. */
import * as net from "node:net"
import type { Agent } from "@afterturn/agent/Agent"
import { Agents } from "@afterturn/agent/Agents"
import type { Outcome } from "@afterturn/agent/ToolPipeline"
import type { JobProcess } from "@afterturn/jobs/Job"
import * as JobEvents from "@afterturn/jobs/JobEvents"
import { Jobs } from "@afterturn/jobs/Jobs"
import { Shell } from "@afterturn/shell/Shell"
import * as Node from "@afterturn/shell/ShellBackend/Node"
import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Events from "../support/agents.js"
import { bash, call, layer, layerForeground, newAgent, valueOf } from "./support/agents.js"
import { argumentsOf, eventually, owner, processExists, shell as systemShell } from "./support/processes.js"

type Services = Layer.Layer.Success<ReturnType<typeof layer>>

const live = <A, E>(test: Effect.Effect<A, E, Services | Scope.Scope>, options?: Parameters<typeof layer>[1]) =>
  Effect.provide(Effect.scoped(Effect.ensuring(test, endLeft)), layer(Node.layer, options))

const processes = Effect.map(Events.dataOf(owner, JobEvents.JobStart), (starts) =>
  starts.flatMap(({ id, process }) => (process === undefined ? [] : [{ id, process }]))
)

const processOf = (outcome: Outcome) =>
  Effect.map(processes, (all) => all.find(({ id }) => id === valueOf(outcome).job_id)!.process)

/** What a test left running on purpose. */
const endLeft = Effect.flatMap(processes, (all) =>
  Effect.forEach(all, ({ process }) =>
    Effect.flatMap(Node.make(globalThis.process.platform).find(process), (remains) =>
      remains._tag === "Found" ? remains.group.signal("SIGKILL") : Effect.void
    )
  )
)

/** How many processes of a command live. */
const aliveOf = (process: JobProcess) =>
  Effect.flatMap(Node.make(globalThis.process.platform).find(process), (remains) =>
    remains._tag === "Found" ? Effect.map(remains.group.members, ({ alive }) => alive) : Effect.succeed(0)
  )

const settles = Events.dataOf(owner, JobEvents.JobSettle)

const background = (agent: Agent, command: string) => bash({ command, run_in_background: true }, agent)

const output = (agent: Agent, id: string) => Effect.map(call("job_output", { job_id: id }, agent), valueOf)

/** Reads a job until its output has a text. */
const shows = (agent: Agent, id: string, text: string) => {
  let all = ""
  return Effect.map(
    eventually(
      `${id} shows ${JSON.stringify(text)}`,
      Effect.map(output(agent, id), (read) => {
        all += String(read.output).replace(nothingNew, "")
        return all.includes(text)
      })
    ),
    () => all
  )
}

/** What job_output says in place of output. */
const nothingNew = /^\(no new output( yet)?\)$/

const canConnect = (port: number) =>
  Effect.async<boolean>((resume) => {
    const socket = net.connect(port, "127.0.0.1")
    socket.once("connect", () =>
      resume(
        Effect.as(
          Effect.sync(() => socket.destroy()),
          true
        )
      )
    )
    socket.once("error", () => resume(Effect.succeed(false)))
  })

const canListen = (port: number) =>
  Effect.async<boolean>((resume) => {
    const server = net.createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })

/** A port that was free a moment ago. */
const freePort = Effect.async<number>((resume) => {
  const server = net.createServer()
  server.listen(0, "127.0.0.1", () => {
    const { port } = server.address() as net.AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

describe("processes that hold the output open (B1)", () => {
  const cases: ReadonlyArray<readonly [command: string, output: RegExp, survivors: boolean]> = [
    ["sleep 60 & echo done", /^done\n$/, true],
    ["sleep 60 </dev/null >/dev/null & echo done", /^done\n$/, true],
    ["sleep 60 </dev/null >/dev/null 2>&1 & echo done", /^done\n$/, true],
    ['(setsid sh -c "sleep 5; echo late" &); echo done', /^done\n$/, false],
    ["python3 -u -m http.server 0 --bind 127.0.0.1 & sleep 1; echo up", /up\n$/, true],
    ["nohup sh -c 'while :; do echo tick; sleep 0.1; done' & echo started", /started\n/, true]
  ]

  it.live("keep no call waiting, are reported, and make one end", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const outcomes = yield* Effect.forEach(cases, ([command]) => bash({ command, timeoutMs: 15_000 }, agent), {
          concurrency: "unbounded"
        })
        for (const [index, [command, expected, survivors]] of cases.entries()) {
          const value = valueOf(outcomes[index]!)
          assert.deepInclude(value, { status: "completed", exit_code: 0 }, command)
          assert.match(String(value.output), expected, command)
          const words = /, \d+ process(es)? of its group (is|are) still running$/
          assert.strictEqual(words.test(String(value.detail)), survivors, `${command}: ${value.detail}`)
        }
        assert.strictEqual((yield* settles).length, cases.length)
      })
    )
  )

  it.live("are the group's that job control would have ended (B8)", () =>
    live(
      Effect.gen(function* () {
        const command = "bash -c 'sleep 300 & sleep 0; kill %1 2>/dev/null; echo end'"
        const outcome = yield* bash({ command }, yield* newAgent())
        assert.deepInclude(valueOf(outcome), { exit_code: 0, output: "end\n" })
        const alive = yield* aliveOf(yield* processOf(outcome))
        const isReported = String(valueOf(outcome).detail).includes("1 process of its group is still running")
        assert.strictEqual(isReported, alive === 1)
      })
    )
  )
})

describe("a job that is killed", () => {
  it.live("leaves no process of its group and no port taken, and stays as it ended (B3)", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const port = yield* freePort
        const command = `bash -c 'sleep 1000 & timeout 900 sleep 901 & python3 -m http.server ${port} --bind 127.0.0.1 & wait'`
        const started = yield* background(agent, command)
        yield* eventually("the server listens", canConnect(port))
        const process = yield* processOf(started)
        const killed = yield* call("job_kill", { job_id: "bash-1" }, agent)
        assert.deepStrictEqual(argumentsOf(process.group), [])
        assert.isTrue(yield* canListen(port))
        assert.deepInclude(valueOf(killed), { answer: "cancellation-requested", status: "killed" })
        assert.match(String(valueOf(killed).detail), /^signal: SIGTERM, after /)
        const again = yield* call("job_kill", { job_id: "bash-1" }, agent)
        assert.deepInclude(valueOf(again), { answer: "already-finished", detail: valueOf(killed).detail })
        assert.strictEqual((yield* settles).length, 1)
      })
    )
  )

  it.live("claims nothing of what left its group (B5)", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const escaped = Number(valueOf(yield* bash({ command: "setsid sleep 300 >/dev/null & echo $!" }, agent)).output)
        yield* background(agent, "setsid sleep 300 & echo $!; wait")
        const second = Number.parseInt(yield* shows(agent, "bash-2", "\n"), 10)
        const killed = yield* call("job_kill", { job_id: "bash-2" }, agent)
        assert.strictEqual(valueOf(killed).status, "killed")
        assert.notMatch(killed.text, /\ball\b|everything/)
        for (const pid of [escaped, second]) {
          assert.isTrue(processExists(pid))
          globalThis.process.kill(pid, "SIGKILL")
        }
      })
    )
  )

  it.live("frees its place when its group is gone, and no earlier (B32)", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const stubborn = "trap '' TERM; echo up; while :; do sleep 0.2; done"
        yield* background(agent, stubborn)
        yield* background(agent, stubborn)
        yield* Effect.all([shows(agent, "bash-1", "up"), shows(agent, "bash-2", "up")])
        const refused = yield* background(agent, "echo third")
        assert.strictEqual(refused.error?.code, "job_limit_reached")
        assert.match(refused.text, /bash-1, bash-2/)
        const other = yield* Effect.flatMap(Agents, (agents) => agents.create({ cwd: "/tmp" }))
        assert.isTrue((yield* bash({ command: "echo other" }, other)).ok)
        const jobs = yield* Jobs
        const [first] = yield* processes
        yield* call("job_kill", { job_id: "bash-1" }, agent)
        const ended = yield* jobs.wait("bash-1", "10 seconds", owner)
        assert.strictEqual(ended.status, "killed")
        assert.match(ended.detail ?? "", /^signal: SIGKILL, SIGTERM did not end it within 300ms, after/)
        assert.deepStrictEqual(argumentsOf(first!.process.group), [])
        assert.isTrue((yield* background(agent, "echo third")).ok)
      }),
      { jobs: { maxConcurrentJobsPerOwner: 2 }, shell: { terminationGrace: Duration.millis(300) } }
    )
  )
})

describe("the end of a session", () => {
  it.live("ends the groups of its jobs, says so, and leaves earlier ends as they are (B6, B9)", () =>
    live(
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const agent = yield* Scope.extend(newAgent(), scope)
        yield* bash({ command: "sh -c 'exit 0'" }, agent)
        yield* background(agent, "sleep 3600 & sleep 3600")
        const [, second] = yield* processes
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(argumentsOf(second!.process.group), [])
        const ends = (yield* settles).map(({ id, reason, status }) => ({ id: String(id), status, reason }))
        assert.deepStrictEqual(ends, [
          { id: "bash-1", status: "completed", reason: undefined },
          { id: "bash-2", status: "killed", reason: "session ended" }
        ])
      })
    )
  )
})

describe("a time that is over without a background", () => {
  it.live("ends busy loops with the rest of the group (B8)", () =>
    Effect.gen(function* () {
      const command = "for c in 1 2 3 4; do (while :; do :; done) & done; echo $$; sleep 30"
      const outcome = yield* bash({ command, timeoutMs: 500 }, yield* newAgent())
      assert.deepInclude(valueOf(outcome), { status: "killed", timed_out: true })
      const shell = Number(String(valueOf(outcome).output))
      assert.isFalse(processExists(shell))
      const loops = argumentsOf(Number(shell)).length
      assert.strictEqual(loops, 0)
    }).pipe(Effect.scoped, Effect.provide(layerForeground(Node.layer)))
  )
})

describe("characters that are split between writes (B26)", () => {
  it.live("are read whole, and only what is cut at the very end is replaced", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        // Each part waits for a line on a pipe of its own, so that reads fall between the halves.
        const command = [
          "mkfifo /tmp/$AFTERTURN_PROCESS_MARK; exec 9<>/tmp/$AFTERTURN_PROCESS_MARK; rm /tmp/$AFTERTURN_PROCESS_MARK",
          "echo $$",
          "for part in '\\342\\224' '\\200\\n' '\\360\\237' '\\216\\211\\n' '\\377ok\\n' '\\342\\224'; do printf \"$part\"; read -t 0.2 -u 9; done"
        ].join("; ")
        const started = yield* background(agent, command)
        let all = ""
        yield* eventually(
          "it has ended",
          Effect.map(output(agent, String(valueOf(started).job_id)), (read) => {
            all += String(read.output).replace(nothingNew, "")
            return read.status === "completed"
          })
        )
        assert.strictEqual(all.replace(/^\d+\n/, ""), "─\n🎉\n\uFFFDok\n\uFFFD")
      })
    )
  )
})

describe("output before the end", () => {
  it.live(
    "is there whole, every time",
    () =>
      Effect.gen(function* () {
        const shell = yield* Shell
        const expected = "0".repeat(20_480)
        const once = Effect.gen(function* () {
          const chunks: Array<Uint8Array> = []
          const sink = {
            write: (chunk: Uint8Array) => Effect.sync(() => void chunks.push(chunk)),
            setDetail: () => Effect.void
          }
          // A process that holds the output open: its end tells nothing of when all was read.
          yield* shell.run({ command: "sleep 1 & printf '%020480d' 0", workdir: "/tmp" }, sink)
          assert.strictEqual(Buffer.concat(chunks).toString("latin1"), expected)
        })
        yield* Effect.replicateEffect(once, 100, { concurrency: 20, discard: true })
      }).pipe(Effect.provide(systemShell())),
    // A hundred processes on a busy machine.
    120_000
  )
})

describe("commands that signal others (B34)", () => {
  it.live("hit neither another command by a word of its text, nor the host by $PPID", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const marked = yield* background(agent, "sleep 300 # marker-abc")
        const process = yield* processOf(marked)
        yield* eventually("it sleeps", () => argumentsOf(process.group).includes("sleep 300 "))
        assert.strictEqual(valueOf(yield* bash({ command: "pkill -f marker-abc" }, agent)).exit_code, 1)
        assert.isAbove(yield* aliveOf(process), 0)
        const sent = yield* bash({ command: "exec sh -c 'kill $PPID; echo sent'" }, agent)
        assert.deepInclude(valueOf(sent), { status: "completed", exit_code: 0, output: "sent\n" })
      })
    )
  )

  it.live("are shown as killed from outside when a signal ends their shell", () =>
    live(
      Effect.gen(function* () {
        const agent = yield* newAgent()
        const started = yield* background(agent, "echo $$; sleep 300 & wait")
        globalThis.process.kill(Number.parseInt(yield* shows(agent, "bash-1", "\n"), 10), "SIGTERM")
        const jobs = yield* Jobs
        const { detail, status } = yield* jobs.wait("bash-1", "10 seconds", owner)
        assert.strictEqual(status, "killed")
        assert.match(detail ?? "", /^ended by SIGTERM from outside, after/)
        assert.deepStrictEqual(argumentsOf((yield* processOf(started)).group), [])
      })
    )
  )
})
