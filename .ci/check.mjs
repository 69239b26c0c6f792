// Every gate but the tests: `pnpm check`. A gate is a script of package.json of the same name; two run at a time.
// `--report FILE` writes { passed, failed } for whoever counts.
import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { delimiter, resolve } from "node:path"

// The longest first.
const gates = ["types", "check:packages", "examples", "layout", "catalog", "lint"]

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"))
const env = { ...process.env, PATH: [resolve("node_modules/.bin"), process.env.PATH].join(delimiter) }
// Output is shown only on failure, through a pipe.
env.NO_COLOR ??= "1"

const run = (gate) =>
  new Promise((done) => {
    const started = performance.now()
    const output = []
    const child = spawn(scripts[gate], { shell: true, env, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout.on("data", (chunk) => output.push(chunk))
    child.stderr.on("data", (chunk) => output.push(chunk))
    child.on("close", (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      console.log(`${code === 0 ? "passed" : "FAILED"} ${gate} (${seconds} s)`)
      if (code !== 0) console.log(Buffer.concat(output).toString().trimEnd())
      done({ gate, passed: code === 0 })
    })
  })

const waiting = [...gates]
const results = []
const lane = async () => {
  for (let gate = waiting.shift(); gate !== undefined; gate = waiting.shift()) results.push(await run(gate))
}
await Promise.all([lane(), lane()])

const failed = results.filter((result) => !result.passed).map((result) => result.gate)
const report = process.argv.indexOf("--report")
if (report > 0) {
  const counts = { passed: results.length - failed.length, failed: failed.length }
  writeFileSync(process.argv[report + 1], JSON.stringify(counts))
}
console.log(failed.length === 0 ? `all ${gates.length} gates passed` : `failed: ${failed.sort().join(", ")}`)
process.exit(failed.length === 0 ? 0 : 1)
