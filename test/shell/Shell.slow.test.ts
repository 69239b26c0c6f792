/** Commands that write more than anybody reads (B27). */
import { spawn } from "node:child_process"
import { monitorEventLoopDelay } from "node:perf_hooks"
import * as FileSpool from "@afterturn/jobs/JobSpool/Files"
import { Jobs } from "@afterturn/jobs/Jobs"
import * as Node from "@afterturn/shell/ShellBackend/Node"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { folder } from "../support/temporary.js"
import { bash, call, layer, newAgent, valueOf } from "./support/agents.js"
import { eventually, owner } from "./support/processes.js"

const mebibyte = 1024 * 1024

/** A process that does nothing but note how late its loop is, which tells how late the machine makes any process; then it says so. */
const idleProcess = Effect.acquireRelease(
  Effect.sync(() => {
    const text = [
      'const delay = require("node:perf_hooks").monitorEventLoopDelay({ resolution: 5 })',
      "delay.enable()",
      'process.stdin.resume().on("end", () => console.log(delay.percentile(99) / 1e6))'
    ].join("; ")
    const child = spawn(process.execPath, ["-e", text], { stdio: ["pipe", "pipe", "ignore"] })
    let said = ""
    child.stdout.on("data", (bytes: Buffer) => {
      said += bytes
    })
    const closed = new Promise<number>((resolve) => child.on("close", () => resolve(Number(said))))
    const lag = Effect.promise(() => {
      child.stdin.end()
      return closed
    })
    return { child, lag }
  }),
  ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
)

/**
 * How the process fares while something runs: the growth of its memory at the worst, and how late its loop was, in milliseconds. `idle`:
 * how late that of a process was which had nothing to do meanwhile.
 */
const observed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const control = yield* idleProcess
    globalThis.gc?.()
    const before = process.memoryUsage().rss
    let most = before
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const watch = yield* Effect.fork(
      Effect.forever(
        Effect.zipRight(
          Effect.sleep("20 millis"),
          Effect.sync(() => (most = Math.max(most, process.memoryUsage().rss)))
        )
      )
    )
    const value = yield* effect
    yield* Fiber.interrupt(watch)
    delay.disable()
    const idle = yield* control.lag
    return { value, growth: most - before, lag: delay.percentile(99) / 1e6, worst: delay.max / 1e6, idle }
  })

/** Output in files, as hosts keep it. */
const onFiles = Layer.unwrapScoped(
  Effect.map(folder, (directory) =>
    layer(Node.layer, { spool: FileSpool.layer({ directory }).pipe(Layer.provide(NodeContext.layer)) })
  )
)

/** How much later than an idle one a loop may be, in milliseconds. */
const maxLag = 100

describe("a command that floods", () => {
  it.live("costs bounded memory, keeps the loop free, and its newest output is there", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent()
      yield* bash({ command: "seq 1 2000000" }, agent)
      const command = "head -c 1000000000 /dev/zero | tr '\\0' x; echo; echo the end"
      const { growth, idle, lag, value, worst } = yield* observed(bash({ command, timeoutMs: 240_000 }, agent))
      const answer = valueOf(value)
      assert.deepInclude(answer, { status: "completed", exit_code: 0 })
      assert.isTrue(String(answer.output).endsWith("x\nthe end\n"))
      assert.strictEqual(Number(answer.dropped_bytes) + Buffer.byteLength(String(answer.output)), 1_000_000_009)
      console.log(
        `1 GB: ${answer.detail}, ${Math.round(growth / mebibyte)} MiB, lag p99 ${lag.toFixed(1)} ms (idle ${idle.toFixed(1)}), worst ${worst.toFixed(1)} ms`
      )
      // Measured at 53 to 56 MiB; garbage that a busy machine collects late is no leak.
      assert.isBelow(growth, 128 * mebibyte)
      assert.isBelow(lag - idle, maxLag)
    }).pipe(Effect.scoped, Effect.provide(onFiles))
  )

  it.live("can be killed while it does", () =>
    Effect.gen(function* () {
      const agent = yield* newAgent()
      yield* bash({ command: "yes", run_in_background: true }, agent)
      const jobs = yield* Jobs
      yield* eventually(
        "it floods",
        Effect.map(Effect.orDie(jobs.get("bash-1", owner)), ({ outputBytes }) => outputBytes > 50e6)
      )
      const { idle, lag, value, worst } = yield* observed(
        Effect.zipRight(Effect.sleep("3 seconds"), Effect.timed(call("job_kill", { job_id: "bash-1" }, agent)))
      )
      const [took, killed] = value
      assert.strictEqual(valueOf(killed).status, "killed")
      console.log(
        `yes: killed in ${took}, lag p99 ${lag.toFixed(1)} ms (idle ${idle.toFixed(1)}), worst ${worst.toFixed(1)} ms`
      )
      assert.isBelow(lag - idle, maxLag)
    }).pipe(Effect.scoped, Effect.provide(onFiles))
  )
})
