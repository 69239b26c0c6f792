// Runs the examples and compares what they print with the `// output:` block that ends each of them.
//
//   node examples/run.mjs [--write] [FOLDER | FILE.ts …]
//
// `--write` puts the output into the block instead. A block is a line `// output:` and the comment lines after it, to the
// end of the file. An example runs in a folder of its own, so that what it writes is gone afterwards.
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const timeLimit = 60_000
const marker = "// output:"

const args = process.argv.slice(2).filter((arg) => arg !== "--write")
const write = process.argv.includes("--write")
const targets = args.length > 0 ? args : [dirname(fileURLToPath(import.meta.url))]
const files = targets.flatMap((target) =>
  statSync(target).isDirectory()
    ? readdirSync(target)
        .filter((name) => name.endsWith(".ts"))
        .sort()
        .map((name) => resolve(target, name))
    : [resolve(target)]
)

/** Lines without the blanks at their ends, without empty lines at the end. */
const tidy = (text) =>
  text
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .join("\n")
    .trimEnd()

/** The expected output; undefined when the file does not end in a block. */
const expectedOf = (source) => {
  const lines = tidy(source).split("\n")
  const at = lines.lastIndexOf(marker)
  const block = lines.slice(at + 1)
  if (at < 0 || block.some((line) => !line.startsWith("//"))) return undefined
  return tidy(block.map((line) => line.replace(/^\/\/ ?/, "")).join("\n"))
}

const withBlock = (source, output) => {
  const at = expectedOf(source) === undefined ? source.length : source.lastIndexOf(marker)
  const block = output === "" ? [] : output.split("\n").map((line) => `// ${line}`.trimEnd())
  return `${source.slice(0, at).trimEnd()}\n\n${[marker, ...block].join("\n")}\n`
}

const execute = (file) =>
  new Promise((done) => {
    const cwd = mkdtempSync(join(tmpdir(), "afterturn-example-"))
    const flags = ["--import", import.meta.resolve("tsx"), "--conditions=@afterturn/source"]
    const env = { ...process.env, NO_COLOR: "1", TZ: "UTC" }
    const child = spawn(process.execPath, [...flags, file], { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    const timer = setTimeout(() => child.kill("SIGKILL"), timeLimit)
    let stdout = ""
    let stderr = ""
    child.stdout.setEncoding("utf8").on("data", (chunk) => (stdout += chunk))
    child.stderr.setEncoding("utf8").on("data", (chunk) => (stderr += chunk))
    child.on("close", (code, signal) => {
      clearTimeout(timer)
      rmSync(cwd, { recursive: true, force: true })
      done({ stdout: tidy(stdout), stderr: tidy(stderr), code, signal })
    })
  })

/** What is wrong with an example; undefined when nothing is. */
const check = async (file) => {
  const { code, signal, stderr, stdout } = await execute(file)
  if (signal !== null) return `was ended by ${signal} (limit ${timeLimit / 1000} s)\n${stderr}`
  if (code !== 0) return `exited with ${code}\n${stderr}`
  const source = readFileSync(file, "utf8")
  if (write) {
    writeFileSync(file, withBlock(source, stdout))
    return undefined
  }
  const expected = expectedOf(source)
  if (expected === undefined) return `does not end in an output block: add one with --write and read it`
  return expected === stdout ? undefined : difference(expected, stdout)
}

const difference = (expected, printed) => {
  const [left, right] = [expected.split("\n"), printed.split("\n")]
  const at = left.findIndex((line, index) => line !== right[index])
  const line = at < 0 ? left.length : at
  return [
    `printed something else, first in line ${line + 1} of the output`,
    `  expected: ${left[line] ?? "(no more lines)"}`,
    `  printed:  ${right[line] ?? "(no more lines)"}`
  ].join("\n")
}

const waiting = [...files]
const problems = []
const lane = async () => {
  for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
    const problem = await check(file)
    if (problem !== undefined) problems.push(`${basename(file)} ${problem}`)
  }
}
await Promise.all([lane(), lane()])

for (const problem of problems.sort()) console.log(problem.trimEnd())
console.log(`${files.length} examples, ${problems.length} failed`)
process.exit(problems.length === 0 ? 0 : 1)
