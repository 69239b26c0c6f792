/** What a bench found, as tables to read or as JSON. */
import { cpus, loadavg } from "node:os"
import { parseArgs } from "node:util"
import type { Rounds } from "./measure.js"
import { median, speedup } from "./measure.js"

const { values } = parseArgs({
  options: { json: { type: "boolean" }, quick: { type: "boolean" }, rounds: { type: "string" } },
  strict: false
})

/** Fewer rounds and smaller sizes: to see that a bench runs, not to quote it. */
export const quick = values.quick === true

export const rounds = typeof values.rounds === "string" ? Number(values.rounds) : quick ? 2 : 7

interface Row {
  readonly name: string
  readonly perSecond: number
  readonly millis: number
  readonly cpuMicros: number
  /** By how much it is faster than the table's base, and by how much less of the processor it takes. */
  readonly ratio?: number
  readonly cpuRatio?: number
}

interface Table {
  readonly title: string
  readonly base?: string
  readonly rows: ReadonlyArray<Row>
}

interface Aim {
  readonly aim: string
  readonly found: number
  readonly met: boolean
}

export class Report {
  private readonly tables: Array<Table> = []
  private readonly figures: Array<{ readonly name: string; readonly value: number; readonly unit: string }> = []
  private readonly aims: Array<Aim> = []
  private readonly notes: Array<string> = []

  readonly bench: string

  constructor(bench: string) {
    this.bench = bench
    this.progress(`${bench}: ${rounds} rounds${quick ? " (quick)" : ""}`)
  }

  /** On stderr, so that JSON stays alone on stdout. */
  progress(text: string): void {
    console.error(text)
  }

  /** The rounds of several sides; `base` is the side that the others are compared with. */
  compare(title: string, found: Rounds, base?: string): void {
    const baseRounds = base === undefined ? undefined : found[base]
    const rows = Object.entries(found).map(([name, measured]) => ({
      name,
      perSecond: median(measured.map((one) => one.perSecond)),
      millis: median(measured.map((one) => one.millis)),
      cpuMicros: median(measured.map((one) => one.cpuMicros)),
      ...(baseRounds === undefined
        ? {}
        : { ratio: speedup(measured, baseRounds), cpuRatio: speedup(measured, baseRounds, "cpuMicros") })
    }))
    const table = { title, rows, ...(base === undefined ? {} : { base }) }
    this.tables.push(table)
    // Whole: who ends a long bench early still has what was found by then.
    this.progress(tableText(table))
  }

  figure(name: string, value: number, unit: string): void {
    this.figures.push({ name, value, unit })
    this.progress(`\n${name}: ${short(value)} ${unit}`)
  }

  /** What was aimed at; `isMet` of what was found. */
  aim(aim: string, found: number, isMet: (found: number) => boolean): void {
    this.aims.push({ aim, found, met: isMet(found) })
  }

  note(text: string): void {
    this.notes.push(text)
  }

  print(): void {
    if (values.json === true) {
      const { aims, bench, figures, notes, tables } = this
      console.log(JSON.stringify({ bench, ...machine(), quick, rounds, tables, figures, aims, notes }))
    } else console.log(this.text())
  }

  private text(): string {
    const { cpu, load, node } = machine()
    return [
      `\n${this.bench}: Node ${node}, ${cpu}, load ${load.toFixed(1)}; medians of ${rounds} rounds${quick ? " (quick)" : ""}`,
      ...this.tables.map(tableText),
      ...(this.figures.length === 0
        ? []
        : ["", ...columns(this.figures.map((it) => [it.name, short(it.value), it.unit]))]),
      ...(this.aims.length === 0
        ? []
        : ["", ...columns(this.aims.map((it) => [it.met ? "met" : "MISSED", short(it.found), it.aim]))]),
      ...this.notes.map((note) => `\n${note}`)
    ].join("\n")
  }
}

const machine = () => ({
  node: process.version,
  cpu: `${cpus().length} × ${cpus()[0]?.model ?? "unknown"}`,
  load: loadavg()[0] ?? Number.NaN
})

const tableText = ({ base, rows, title }: Table): string =>
  [
    `\n${title}`,
    ...columns([
      ["", "a second", "ms each", "cpu µs", ...(base === undefined ? [] : [`× ${base}`, "by cpu"])],
      ...rows.map((row) => [
        row.name,
        short(row.perSecond),
        short(row.millis),
        short(row.cpuMicros),
        ...(row.ratio === undefined ? [] : [row.ratio.toFixed(2), (row.cpuRatio ?? Number.NaN).toFixed(2)])
      ])
    ])
  ].join("\n")

/** Three digits that mean something. */
const short = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)))

const columns = (lines: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = lines.reduce<ReadonlyArray<number>>(
    (known, line) => line.map((cell, index) => Math.max(known[index] ?? 0, cell.length)),
    []
  )
  return lines.map(
    (line) =>
      `  ${line.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ")}`
  )
}
