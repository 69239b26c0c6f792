/** How many events a second become durable, beside better-sqlite3 alone. */
import { join } from "node:path"
import type { Sides } from "../support/measure.js"
import { interleave, measure, speedup } from "../support/measure.js"
import type { Peers } from "../support/peers.js"
import type { Durability } from "../support/raw.js"
import { createRaw } from "../support/raw.js"
import type { Report } from "../support/report.js"
import { rounds } from "../support/report.js"
import { scratchFolder } from "../support/scratch.js"
import { notes, rawNote } from "./note.js"
import type { Open } from "./store.js"
import { appendBatches, appendOneByOne, appendTogether, createSessions, openMemory, openSqlite } from "./store.js"

interface Sizes {
  readonly single: number
  /** Of each of 64 fibers. */
  readonly perFiber: number
  readonly batches: number
}

/** A disk sync takes milliseconds, so that fewer of them last as long. */
const sizes: Record<Durability, Sizes> = {
  normal: { single: 2_000, perFiber: 100, batches: 60 },
  full: { single: 60, perFiber: 10, batches: 20 }
}

const fibers = 64
const batch = 100

const ours = async (store: Open, { batches, perFiber, single }: Sizes): Promise<Sides> => {
  const ids = await createSessions(store, fibers)
  const [id] = ids
  if (id === undefined) return {}
  return {
    "one by one": () => measure(single, () => appendOneByOne(store, id, single)),
    "64 fibers, one session": () => measure(fibers * perFiber, () => appendTogether(store, [id], fibers, perFiber)),
    "64 fibers, 64 sessions": () => measure(fibers * perFiber, () => appendTogether(store, ids, fibers, perFiber)),
    "batches of 100, made on the way": () => measure(batches * batch, () => appendBatches(store, id, batches, batch)),
    "batches of 100": () => {
      // Made anew each round: what the log has seen is marked as checked.
      const made = notes(0, batches * batch)
      return measure(batches * batch, () => appendBatches(store, id, batches, batch, made))
    }
  }
}

export const sqliteAppends = async (
  report: Report,
  durability: Durability,
  peers: Peers | undefined
): Promise<void> => {
  const folder = scratchFolder("appends")
  const store = openSqlite(join(folder, "ours.db"), durability)
  const raw = await createRaw(join(folder, "raw.db"), durability)
  const size = sizes[durability]
  const repeat = (count: number, each: (index: number) => void) => () => {
    for (let index = 0; index < count; index++) each(index)
  }
  const eventsOf = (number: number) => Array.from({ length: batch }, (_, index) => rawNote(number * batch + index))
  const found = await interleave(rounds, {
    "raw: one INSERT": () =>
      measure(
        size.single,
        repeat(size.single, (index) => raw.insert(rawNote(index)))
      ),
    "raw: one INSERT, 64 sessions": () =>
      measure(
        size.single,
        repeat(size.single, (index) => raw.insert(rawNote(index), index))
      ),
    "raw: SELECT, INSERT, UPDATE": () =>
      measure(
        size.single,
        repeat(size.single, (index) => raw.append(rawNote(index)))
      ),
    "raw: transactions of 100": () =>
      measure(
        size.batches * batch,
        repeat(size.batches, (number) => raw.insertAll(eventsOf(number)))
      ),
    ...(peers === undefined ? {} : peerSide(peers, durability)),
    ...(await ours(store, size))
  })
  report.compare(`events a second, SQLite, synchronous ${durability.toUpperCase()}`, found, "raw: one INSERT")
  const compared = (name: string, other: string) => speedup(found[name] ?? [], found[other] ?? [])
  const level = durability.toUpperCase()
  report.aim(
    `${level}: 64 fibers, one session ≥ 1 × raw one-row transactions`,
    compared("64 fibers, one session", "raw: one INSERT"),
    (it) => it >= 1
  )
  report.aim(
    `${level}: 64 fibers, 64 sessions ≥ 1 × the same by raw one-row transactions`,
    compared("64 fibers, 64 sessions", "raw: one INSERT, 64 sessions"),
    (it) => it >= 1
  )
  report.aim(
    `${level}: batches of 100 ≥ 0.7 × raw transactions of 100`,
    compared("batches of 100", "raw: transactions of 100"),
    (it) => it >= 0.7
  )
  raw.close()
  await store.dispose()
}

/** Their log is written behind, or flushed to the disk event by event: the latter is what a commit under FULL is. */
const peerSide = (peers: Peers, durability: Durability): Sides =>
  durability === "full"
    ? { "peers: flushed after each": () => peers.measure("appends", { count: 60, where: "files", flush: true }) }
    : { "peers: written behind": () => peers.measure("appends", { count: 3_000, where: "files", flush: false }) }

export const memoryAppends = async (report: Report, peers: Peers | undefined): Promise<void> => {
  const store = openMemory()
  const found = await interleave(rounds, {
    ...(peers === undefined
      ? {}
      : { "peers: in memory": () => peers.measure("appends", { count: 3_000, where: "memory", flush: false }) }),
    ...(await ours(store, sizes.normal))
  })
  report.compare("events a second, in memory", found, "one by one")
  await store.dispose()
}
