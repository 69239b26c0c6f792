// A stranger's project: packs what would be published, installs the tarballs outside the workspace, type-checks a program over them with
// the compiler's usual settings, runs it and the installed command. Runs after the build; needs the package registry.
import { execFile } from "node:child_process"
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const exec = promisify(execFile)
const example = "examples/compose.ts"

const folder = mkdtempSync(join(tmpdir(), "afterturn-consumer-"))
const project = (...path) => join(folder, ...path)
const run = (command, args) =>
  exec(command, args, { cwd: folder, env: { ...process.env, NO_COLOR: "1", TZ: "UTC", AFTERTURN_DB: project("a.db") } })
const pnpm = (...args) => run("npx", ["-y", "pnpm@10.34.9", ...args])

/** What the packed manifests say, by package. */
const pack = async () => {
  await exec("npx", ["-y", "pnpm@10.34.9", "-r", "--filter", "./packages/*", "pack", "--pack-destination", folder])
  const manifests = readdirSync("packages", { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => JSON.parse(readFileSync(join("packages", name, "package.json"), "utf8")))
  return manifests.map(({ name, version }) => [
    name,
    `file:./${name.replace("@", "").replace("/", "-")}-${version}.tgz`
  ])
}

const versionOf = (name) => JSON.parse(readFileSync(join("node_modules", name, "package.json"), "utf8")).version

const problems = []
try {
  const tarballs = Object.fromEntries(await pack())
  writeFileSync(
    project("package.json"),
    JSON.stringify({
      private: true,
      type: "module",
      dependencies: { ...tarballs, effect: `^${versionOf("effect")}` },
      devDependencies: { typescript: versionOf("typescript"), "@types/node": versionOf("@types/node") }
    })
  )
  // The packages depend on one another by version, which no registry has yet.
  const overrides = Object.entries(tarballs).map(([name, path]) => `  "${name}": "${path}"`)
  writeFileSync(
    project("pnpm-workspace.yaml"),
    ["allowBuilds:", "  better-sqlite3: true", "  msgpackr-extract: false", "overrides:", ...overrides, ""].join("\n")
  )
  writeFileSync(
    project("tsconfig.json"),
    JSON.stringify({
      compilerOptions: { target: "ES2022", module: "NodeNext", strict: true, types: ["node"], outDir: "out" },
      files: ["compose.ts"]
    })
  )
  copyFileSync(example, project("compose.ts"))
  await pnpm("install", "--no-frozen-lockfile")
  await pnpm("exec", "tsc")

  const { stdout } = await run(process.execPath, ["out/compose.js"])
  const expected = readFileSync(example, "utf8")
    .split("// output:\n")[1]
    .replaceAll(/^\/\/ ?/gm, "")
  if (stdout.trim() !== expected.trim()) problems.push(`${example} printed, when installed:\n${stdout}`)

  const { stdout: doctor } = await pnpm("exec", "afterturn", "doctor", "--json")
  const wrong = JSON.parse(doctor).filter(({ ok }) => !ok)
  if (wrong.length > 0) problems.push(`the installed command finds wrong: ${JSON.stringify(wrong)}`)
} catch (error) {
  problems.push([error.message, error.stdout, error.stderr].filter(Boolean).join("\n"))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

for (const problem of problems) console.log(problem.trimEnd())
console.log(problems.length === 0 ? "what would be published works where it is installed" : "FAILED")
process.exit(problems.length === 0 ? 0 : 1)
