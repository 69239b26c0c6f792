/**
 * Hard days: kills of the command in each of its ways, and power losses of the database. `--rounds N` of each (default 50), `--seed N`
 * to repeat, `--only run,chat,mcp,power`. Exits with 1 when anything was lost.
 */
import { parseArgs } from "node:util"
import { buildCommand } from "./hard/command.js"
import * as Kills from "./hard/kills.js"
import * as Power from "./hard/power.js"
import { bundle } from "./support/bundle.js"

const { values } = parseArgs({
  options: {
    rounds: { type: "string" },
    seed: { type: "string" },
    only: { type: "string" },
    json: { type: "boolean" },
    quick: { type: "boolean" }
  }
})

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const rounds = Number(values.rounds ?? (values.quick === true ? 10 : 50))
const names = values.only?.split(",") ?? [...Kills.ways, "power"]

const progress = (name: string) => {
  let told = 0
  return (report: { readonly rounds: number; readonly faults: ReadonlyArray<string> }) => {
    for (; told < report.faults.length; told++) console.error(report.faults[told])
    if (report.rounds % 20 === 0) console.error(`${name}: ${report.rounds} rounds, ${report.faults.length} faults`)
  }
}

console.error(`hard: seed ${seed}`)
let faults = 0
for (const name of names) {
  const way = Kills.ways.find((way) => way === name)
  const report =
    way === undefined
      ? await Power.run({ writer: await bundle("hard/writer.ts"), seed, rounds, onRound: progress(name) })
      : await Kills.run({ command: buildCommand(), way, seed, rounds, onRound: progress(name) })
  faults += report.faults.length
  if (values.json === true) console.log(JSON.stringify({ bench: `hard ${name}`, ...report }))
  else {
    const { faults: found, ...counts } = report
    console.table({ [name]: counts })
    for (const fault of found) console.log(fault)
  }
}
if (values.json !== true)
  console.log(faults === 0 ? "nothing was lost" : `${faults} faults: repeat with --seed ${seed}`)
process.exitCode = faults === 0 ? 0 : 1
