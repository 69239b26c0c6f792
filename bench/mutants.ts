/**
 * Plants one bug after the other in the sources and counts the seeds until a simulated day shows it: `--only PATTERN`, `--json`. Exits with 1
 * when one is not found in time, or when a snippet that it replaces is no longer there.
 */
import { execFile } from "node:child_process"
import { availableParallelism } from "node:os"
import { parseArgs, promisify } from "node:util"
import type { Mutant } from "./mutants/list.js"
import { mutants } from "./mutants/list.js"
import { bundle } from "./support/bundle.js"
import { patched } from "./support/patched.js"

const { values } = parseArgs({
  options: { only: { type: "string" }, json: { type: "boolean" }, quick: { type: "boolean" } }
})

interface Found {
  readonly mutant: string
  readonly allowed: number
  readonly seed: number | null
  readonly finding: string | null
}

const run = promisify(execFile)

const hunt = async (mutant: Mutant, index: number): Promise<Found> => {
  const program = await bundle("mutants/hunt.ts", { name: `mutant-${index}`, plugins: [patched(mutant)] })
  const { stdout } = await run(process.execPath, [program, String(mutant.seeds)], { maxBuffer: 1 << 26 })
  const { finding, seed } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "null")
  return { mutant: mutant.name, allowed: mutant.seeds, seed, finding }
}

const chosen = mutants
  .filter(({ name }) => values.only === undefined || new RegExp(values.only).test(name))
  .filter((_, index) => values.quick !== true || index < 2)

const found: Array<Found> = []
const queue = chosen.map((mutant, index) => ({ mutant, index }))

const work = async (): Promise<void> => {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const result = await hunt(next.mutant, next.index)
    found.push(result)
    if (values.json !== true) console.error(`${result.seed ?? "not found"}: ${result.mutant}`)
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, work))

if (values.json === true) console.log(JSON.stringify({ bench: "mutants", found }))
else
  console.table(
    found.map(({ allowed, finding, mutant, seed }) => ({
      mutant,
      "found at seed": seed ?? "never",
      within: allowed,
      by: finding?.slice(0, 60) ?? ""
    }))
  )
process.exitCode = found.some(({ seed }) => seed === null) ? 1 : 0
