/** How soon somebody goes on when a job ends: whoever waits for it, and an idle owner, whose model is asked. */
import { join } from "node:path"
import { Agents } from "@afterturn/agent/Agents"
import * as Job from "@afterturn/jobs/Job"
import { Jobs } from "@afterturn/jobs/Jobs"
import type { SessionId } from "@afterturn/session-log/SessionEvent"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { memory, sqlite } from "../support/agents.js"
import type { Measured, Sides } from "../support/measure.js"
import { interleave, median, speedup } from "../support/measure.js"
import * as Model from "../support/model.js"
import type { Peers } from "../support/peers.js"
import type { Report } from "../support/report.js"
import { quick, rounds } from "../support/report.js"
import { scratchFolder } from "../support/scratch.js"
import type { Runtime } from "./runtime.js"
import { openJobs, withAgent } from "./runtime.js"

/** Medians of latencies, in the shape of a measured round. */
const latencies = (samples: ReadonlyArray<number>, cpu: NodeJS.CpuUsage): Measured => ({
  perSecond: 1000 / median(samples),
  millis: median(samples),
  cpuMicros: (cpu.user + cpu.system) / samples.length
})

/** Jobs that end when they are told to. */
const held = (owner: SessionId) =>
  Effect.gen(function* () {
    const jobs = yield* Jobs
    const done = yield* Deferred.make<string>()
    const { id } = yield* jobs.start(Job.make({ kind: "bash", label: "held", owner }, () => Deferred.await(done)))
    return { id, done }
  })

const toWaiter = (runtime: Runtime, count: number) => (): Promise<Measured> =>
  withAgent(runtime, (owner) =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const samples: Array<number> = []
      const cpu = process.cpuUsage()
      for (let index = 0; index < count; index++) {
        const { done, id } = yield* held(owner)
        const waiting = yield* Effect.fork(Effect.map(jobs.wait(id, "1 minute", owner), () => performance.now()))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
        const before = performance.now()
        yield* Deferred.succeed(done, "ok")
        samples.push((yield* Fiber.join(waiting)) - before)
      }
      return latencies(samples, process.cpuUsage(cpu))
    })
  )

/** When the model was asked last. */
let askedAt = 0
const model = Model.layer(() => {
  askedAt = performance.now()
  return []
})

const toTurn = (runtime: Runtime, count: number) => (): Promise<Measured> =>
  runtime.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const agent = yield* Effect.flatMap(Agents, (agents) => agents.create())
        const samples: Array<number> = []
        const cpu = process.cpuUsage()
        for (let index = 0; index < count; index++) {
          const { done } = yield* held(agent.id)
          askedAt = 0
          const before = performance.now()
          yield* Deferred.succeed(done, "ok")
          while (askedAt === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
          samples.push(askedAt - before)
          yield* agent.whenIdle
        }
        return latencies(samples, process.cpuUsage(cpu))
      })
    )
  )

export const wakes = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const folder = scratchFolder("job-wakes")
  const [waits, turns] = quick ? [50, 10] : [500, 50]
  const inMemory = openJobs(memory, { model, notices: true })
  const onDisk = openJobs(sqlite(join(folder, "jobs.db"), "normal"), { model, notices: true })
  const quiet = openJobs(memory)
  const quietOnDisk = openJobs(sqlite(join(folder, "quiet.db"), "normal"))
  const compare = async (title: string, peerTask: string, count: number, ours: Sides) => {
    const sides = peers === undefined ? ours : { peers: () => peers.measure(peerTask, { count }), ...ours }
    const found = await interleave(rounds, sides)
    report.compare(title, found, peers === undefined ? undefined : "peers")
    return found
  }
  const waited = await compare("from a job's end to whoever waits for it", "jobWaits", waits, {
    "in memory": toWaiter(quiet, waits),
    "SQLite NORMAL": toWaiter(quietOnDisk, waits)
  })
  await compare("from a job's end to the request of the turn that it opens", "jobTurns", turns, {
    "in memory": toTurn(inMemory, turns),
    "SQLite NORMAL": toTurn(onDisk, turns)
  })
  for (const runtime of [inMemory, onDisk, quiet, quietOnDisk]) await runtime.dispose()
  if (peers === undefined) return
  report.aim(
    "a waiter is woken as soon as the peers'",
    speedup(waited["in memory"] ?? [], waited.peers ?? []),
    (it) => it >= 1
  )
}
