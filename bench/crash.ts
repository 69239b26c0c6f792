/**
 * Kills a session with SIGKILL at random instants and resumes it each time: `--kills N` (default 200), `--seed N` to repeat a run.
 * Exits with 1 when anything was lost.
 */
import { parseArgs } from "node:util"
import type { Report } from "./crash/rounds.js"
import { run } from "./crash/rounds.js"
import { bundle } from "./support/bundle.js"

const { values } = parseArgs({
  options: {
    kills: { type: "string" },
    seed: { type: "string" },
    json: { type: "boolean" },
    quick: { type: "boolean" }
  }
})

const seed = Number(values.seed ?? Date.now() % 1_000_000)
const kills = Number(values.kills ?? (values.quick === true ? 20 : 200))

const progress = (report: Report): void => {
  if (values.json !== true && report.kills % 20 === 0)
    console.log(`${report.kills} kills, ${report.faults.length} faults`)
}

console.error(`crash: seed ${seed}`)
const report = await run({ life: await bundle("crash/life.ts"), seed, kills, onKill: progress })
if (values.json === true) console.log(JSON.stringify({ bench: "crash", ...report }))
else {
  const { faults, ...counts } = report
  console.table(counts)
  for (const fault of faults) console.log(fault)
  console.log(faults.length === 0 ? "nothing was lost" : `${faults.length} faults: repeat with --seed ${seed}`)
}
process.exitCode = report.faults.length === 0 ? 0 : 1
