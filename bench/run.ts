/**
 * Runs the benches one after the other, bundled as production code is: `pnpm bench`, or `pnpm bench NAME… --quick --json --rounds N`.
 */
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { bundle } from "./support/bundle.js"

const benches = [
  "session-log",
  "todo",
  "jobs",
  "agent",
  "schedule",
  "schedule-rules",
  "oracle",
  "crash",
  "hard",
  "mutants"
]

const args = process.argv.slice(2)
const isName = (arg: string): boolean => benches.includes(arg)
const named = args.filter(isName)
const options = args.filter((arg) => !isName(arg))

const bench = fileURLToPath(new URL(".", import.meta.url))

for (const name of named.length === 0 ? benches : named) {
  // These bundle and run programs of their own.
  const isOfItself = ["crash", "hard", "mutants"].includes(name)
  const run = isOfItself ? ["--import", "tsx", "--conditions=@afterturn/source", `${bench}${name}.ts`] : undefined
  const command = run ?? ["--expose-gc", await bundle(`${name}.ts`)]
  const { status } = spawnSync(process.execPath, [...command, ...options], { stdio: "inherit" })
  if (status !== 0) process.exitCode = 1
}
