/**
 * Losses of power: a writer is stopped at some instant, what its files hold then is copied, also as a disk may leave them that did not
 * get to the end, and each copy is opened.
 */
import { spawn } from "node:child_process"
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { setTimeout as sleep } from "node:timers/promises"
import * as EventTypes from "@afterturn/session-log/EventTypes"
import * as Projection from "@afterturn/session-log/Projection"
import { SessionId } from "@afterturn/session-log/SessionEvent"
import { SessionLog } from "@afterturn/session-log/SessionLog"
import { layerSqlite } from "@afterturn/session-log/SessionLog/Sqlite"
import * as SessionVerify from "@afterturn/session-log/SessionVerify"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type { Random } from "../support/random.js"
import { random } from "../support/random.js"
import { readSession } from "./audit.js"
import { dataOf, Entry, isWhole, sessions } from "./entry.js"

export interface Options {
  /** The bundle of `writer.ts`. */
  readonly writer: string
  readonly seed: number
  /** Copies in all. */
  readonly rounds: number
  readonly onRound?: (report: Report) => void
}

export interface Report {
  readonly seed: number
  rounds: number
  /** Copies with a log that was not in the database yet, and those of them that were made worse. */
  withLog: number
  torn: number
  /** Events found, and acknowledged ones that only torn copies lack. */
  events: number
  lost: number
  readonly faults: Array<string>
}

/** What the disk did with the last of the log; a loss of power takes its index in memory, a snapshot of a running machine keeps it. */
const damages = ["whole", "cut", "half-page", "zeros", "flipped", "with-index"] as const

type Damage = (typeof damages)[number]

export const run = async (options: Options): Promise<Report> => {
  const report: Report = { seed: options.seed, rounds: 0, withLog: 0, torn: 0, events: 0, lost: 0, faults: [] }
  const chance = random(options.seed)
  while (report.rounds < options.rounds) await writerLife(options, report, chance)
  return report
}

/** A writer with a new file, stopped up to a hundred times. */
const writerLife = async (options: Options, report: Report, chance: Random): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "afterturn-power-"))
  const filename = join(folder, "sessions.db")
  const acknowledged = new Map<string, number>()
  const child = spawn(process.execPath, [options.writer, filename, String(chance.below(2 ** 31))], {
    stdio: ["ignore", "pipe", "inherit"]
  })
  const closed = new Promise((resolve) => child.on("close", resolve))
  createInterface({ input: child.stdout }).on("line", (line) => {
    const [session = "", seq] = line.split(" ")
    acknowledged.set(session, Number(seq))
  })
  try {
    while (acknowledged.size < sessions.length && child.exitCode === null) await sleep(5)
    for (let stop = 0; stop < 20 && report.rounds < options.rounds; stop++) {
      await sleep(1 + chance.below(60))
      child.kill("SIGSTOP")
      await isStopped(child.pid ?? 0)
      // What was said before it stopped is in the pipe.
      const known = await settled(acknowledged)
      const taken = join(folder, "taken.db")
      for (const suffix of ["", "-wal", "-shm"]) copyFile(filename + suffix, taken + suffix)
      child.kill("SIGCONT")
      for (const damage of damages.slice(0, Math.min(damages.length, options.rounds - report.rounds))) {
        await round(report, chance, taken, damage, known)
        options.onRound?.(report)
      }
    }
  } finally {
    child.kill("SIGKILL")
    await closed
    rmSync(folder, { recursive: true, force: true })
  }
}

const isStopped = async (pid: number): Promise<void> => {
  while (!/^\d+ \(.*\) T/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await sleep(1)
}

/** Once nothing more comes. */
const settled = async (acknowledged: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> => {
  for (let before = ""; ; await sleep(5)) {
    const now = JSON.stringify([...acknowledged])
    if (now === before) return new Map(acknowledged)
    before = now
  }
}

const copyFile = (from: string, to: string): void => {
  rmSync(to, { force: true })
  if (existsSync(from)) copyFileSync(from, to)
}

const round = async (
  report: Report,
  chance: Random,
  taken: string,
  damage: Damage,
  acknowledged: ReadonlyMap<string, number>
): Promise<void> => {
  const copy = `${taken}.copy`
  for (const suffix of ["", "-wal", "-shm"]) copyFile(taken + suffix, copy + suffix)
  if (damage !== "with-index") rmSync(`${copy}-shm`, { force: true })
  const size = existsSync(`${copy}-wal`) ? statSync(`${copy}-wal`).size : 0
  const torn = size > 0 && damage !== "whole" && damage !== "with-index"
  if (torn) tear(`${copy}-wal`, size, damage, chance)
  report.rounds++
  if (size > 0) report.withLog++
  if (torn) report.torn++
  const fault = (what: string) => report.faults.push(`seed ${report.seed}, round ${report.rounds} (${damage}): ${what}`)
  const own = `${taken}.own`
  for (const suffix of ["", "-wal", "-shm"]) copyFile(copy + suffix, own + suffix)
  try {
    for (const session of sessions) {
      const { events, faults } = readSession(copy, session)
      for (const what of faults) fault(`${session}: ${what}`)
      for (const { data, seq } of events) if (!isWhole(session, seq, data)) fault(`${session}: event ${seq} is another`)
      const lost = (acknowledged.get(session) ?? -1) + 1 - events.length
      if (lost > 0 && !torn) fault(`${session}: ${lost} acknowledged events are missing`)
      report.events += events.length
      report.lost += Math.max(0, lost)
    }
    await Effect.runPromise(Effect.provide(goesOn(fault), store(own)))
  } catch (error) {
    fault(`it does not open: ${error}`)
  }
}

const tear = (log: string, size: number, damage: Damage, chance: Random): void => {
  if (damage === "cut") return truncateSync(log, chance.below(size))
  const bytes = readFileSync(log)
  // A frame is a header of 24 bytes and a page; the log's own header has 32.
  const frame = 4096 + 24
  const last = 32 + Math.max(0, Math.floor((size - 32) / frame) - 1 - chance.below(3)) * frame
  if (damage === "half-page") bytes.fill(0xa5, last + 24 + 2048, last + frame)
  if (damage === "zeros") bytes.fill(0, last)
  if (damage === "flipped") {
    const at = last + chance.below(Math.max(1, size - last))
    bytes[at] = (bytes[at] ?? 0) ^ (1 << chance.below(8))
  }
  writeFileSync(log, bytes)
}

const chars = Projection.make({
  key: "bench/chars",
  version: 1,
  schema: Schema.Int,
  initial: 0,
  apply: (sum, event) => sum + (event.data as { readonly text: string }).text.length
})

const store = (filename: string) =>
  Layer.provideMerge(EventTypes.layerRegister(Entry), layerSqlite({ filename, durability: "full" }))

/** The product's own look at the copy: sound, folded, and ready for the next event. */
const goesOn = Effect.fnUntraced(function* (fault: (what: string) => void) {
  const log = yield* SessionLog
  const projections = yield* Projection.Projections
  for (const session of sessions) {
    const id = SessionId.make(session)
    if (!(yield* log.exists(id))) continue
    const found = yield* SessionVerify.verify(id, { projections: [chars] })
    if (found !== null) fault(`${session} does not verify: ${JSON.stringify(found)}`)
    const { asOfSeq } = yield* projections.get(id, chars)
    const [event] = yield* log.append(id, [Entry.make(dataOf(session, asOfSeq + 1, 10))])
    if (event?.seq !== asOfSeq + 1) fault(`${session} goes on at ${event?.seq} after ${asOfSeq}`)
  }
})
