// The Effect rules that the compiler does not know: floating effects, missing `yield*`, layers that need one another.
// The tool exits 0 after checking nothing when it does not find its plugin entry, so the count is asserted.
import { spawnSync } from "node:child_process"

const args = [
  "diagnostics",
  "--project",
  "tsconfig.json",
  "--format",
  "text",
  "--strict",
  "--severity",
  "error,warning"
]
const { status, stdout, stderr, error } = spawnSync("effect-language-service", args, { encoding: "utf8" })
if (error) throw error

const checked = Number(/Checked (\d+) files? out of/.exec(stdout)?.[1] ?? 0)
const failed = status !== 0 || checked === 0
if (failed) process.stdout.write(stdout + stderr)
if (checked === 0) console.log('nothing was checked: is the plugin "@effect/language-service" still in tsconfig.json?')
else console.log(`Effect diagnostics: ${checked} files checked`)
process.exit(failed ? 1 : 0)
