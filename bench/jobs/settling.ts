/** Jobs of one owner, one after the other, each from its start to its end. */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { memory, sqlite } from "../support/agents.js"
import type { Measured, Rounds, Sides } from "../support/measure.js"
import { interleave, measure, median, speedup } from "../support/measure.js"
import type { Peers } from "../support/peers.js"
import type { Report } from "../support/report.js"
import { quick, rounds } from "../support/report.js"
import { scratchFolder } from "../support/scratch.js"
import type { Runtime } from "./runtime.js"
import { openJobs, runOne, withAgent } from "./runtime.js"

const sizes = quick ? [1_000, 2_000] : [1_000, 10_000, 50_000]

/** The large sizes take so long that one disturbance is a small part of a round. */
const roundsOf = (size: number): number => (size >= 50_000 ? 2 : size >= 10_000 ? Math.min(rounds, 4) : rounds)

/** A new owner each round, in a runtime that holds nothing of rounds before. */
const round = (open: () => Runtime, count: number) => async (): Promise<Measured> => {
  const runtime = open()
  const measured = await withAgent(runtime, (owner) =>
    Effect.promise(() => measure(count, () => runtime.runPromise(Effect.repeatN(runOne(owner), count - 1))))
  )
  await runtime.dispose()
  return measured
}

const peerSide = "peers, no ledger"
const inMemory = "in memory"
const onDisk = "SQLite NORMAL"

const sides = (count: number, folder: string, peers: Peers | undefined): Sides => {
  let databases = 0
  return {
    ...(peers === undefined ? {} : { [peerSide]: () => peers.measure("jobs", { count }) }),
    [inMemory]: round(() => openJobs(memory), count),
    [onDisk]: round(() => openJobs(sqlite(join(folder, `${count}-${++databases}.db`), "normal")), count)
  }
}

export const settling = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const folder = scratchFolder("jobs")
  const found = new Map<number, Rounds>()
  for (const count of sizes) {
    const of = await interleave(roundsOf(count), sides(count, folder, peers))
    found.set(count, of)
    const title = `start to end of no-op jobs, the first ${count.toLocaleString("en")} of an owner`
    report.compare(title, of, peers === undefined ? undefined : peerSide)
  }
  const [small = 0] = sizes
  const large = sizes.at(-1) ?? 0
  const cost = (count: number, name: string): number =>
    median((found.get(count)?.[name] ?? []).map(({ cpuMicros }) => cpuMicros))
  for (const name of [inMemory, onDisk]) {
    const growth = cost(large, name) / cost(small, name)
    report.aim(
      `${name}: a job of the first ${large} costs what one of the first ${small} does (≤ 1.3 ×)`,
      growth,
      (it) => it <= 1.3
    )
  }
  if (peers === undefined) return
  const faster = (count: number, by: "millis" | "cpuMicros" = "millis") =>
    speedup(found.get(count)?.[inMemory] ?? [], found.get(count)?.[peerSide] ?? [], by)
  report.aim(`${small} jobs, in memory: not slower than the peers`, faster(small), (it) => it >= 1)
  report.aim(`${large} jobs, in memory: ≥ 5 × the peers`, faster(large), (it) => it >= 5)
}
