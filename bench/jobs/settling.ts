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

const isLarge = (size: number): boolean => size >= 50_000

/** A round of the large sizes takes so long that one disturbance is a small part of it; what is measured before has warmed up. */
const roundsOf = (size: number): number => (isLarge(size) ? 2 : size >= 10_000 ? Math.min(rounds, 2) : rounds)

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
    // Three minutes a round: what 10,000 cost is told apart from what 1,000 do as well.
    ...(isLarge(count)
      ? {}
      : { [onDisk]: round(() => openJobs(sqlite(join(folder, `${count}-${++databases}.db`), "normal")), count) })
  }
}

export const settling = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const folder = scratchFolder("jobs")
  const found = new Map<number, Rounds>()
  for (const count of sizes) {
    const of = await interleave(roundsOf(count), sides(count, folder, peers), isLarge(count) ? 0 : 1)
    found.set(count, of)
    const title = `start to end of no-op jobs, the first ${count.toLocaleString("en")} of an owner`
    report.compare(title, of, peers === undefined ? undefined : peerSide)
  }
  const [small = 0] = sizes
  const large = sizes.at(-1) ?? 0
  const cost = (count: number, name: string): number =>
    median((found.get(count)?.[name] ?? []).map(({ cpuMicros }) => cpuMicros))
  for (const name of [inMemory, onDisk]) {
    const most = sizes.findLast((count) => found.get(count)?.[name] !== undefined) ?? small
    const growth = cost(most, name) / cost(small, name)
    report.aim(
      `${name}: one of the first ${most} jobs costs what one of ${small} does (≤ 1.3 ×)`,
      growth,
      (it) => it <= 1.3
    )
  }
  if (peers === undefined) return
  for (const by of ["millis", "cpuMicros"] as const) {
    const faster = (count: number) =>
      speedup(found.get(count)?.[inMemory] ?? [], found.get(count)?.[peerSide] ?? [], by)
    const how = by === "millis" ? "by the clock" : "by processor time"
    report.aim(`${small} jobs, in memory, ${how}: not slower than the peers`, faster(small), (it) => it >= 1)
    report.aim(`${large} jobs, in memory, ${how}: ≥ 5 × the peers`, faster(large), (it) => it >= 5)
  }
}
