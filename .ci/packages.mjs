// What a user would install: packs every publishable package and asks publint and attw about it, then loads what was built
// with plain Node. Runs after the build.
import { execFile } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { publint } from "publint"
import { formatMessage } from "publint/utils"

const exec = promisify(execFile)

const packages = readdirSync("packages", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => ({ folder: join("packages", entry.name) }))
  .map(({ folder }) => ({ folder, ...JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) }))
  .filter((manifest) => manifest.private !== true)
const names = packages.map((manifest) => manifest.name)

const folder = mkdtempSync(join(tmpdir(), "afterturn-pack-"))
const problems = []

const modulesIn = (folder, ending) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true })
        .filter((path) => path.endsWith(ending))
        .map((path) => path.slice(0, -ending.length))
    : []

// `tsc -b` neither removes what a deleted module left behind nor notices that its output was deleted.
const compareWithSource = ({ folder, name }) => {
  const sources = new Set(modulesIn(join(folder, "src"), ".ts"))
  const built = new Set(modulesIn(join(folder, "dist"), ".d.ts"))
  const differ = [...sources].filter((path) => !built.has(path)).concat([...built].filter((path) => !sources.has(path)))
  if (differ.length > 0) problems.push(`${name}: dist is not what src makes (${differ.join(", ")}): run \`pnpm clean\``)
}

const lint = async (tarball) => {
  // A copy: a small file's buffer is a slice of Node's pool.
  const { buffer } = Uint8Array.from(readFileSync(tarball))
  const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true })
  for (const message of messages) problems.push(`publint ${pkg.name}: ${formatMessage(message, pkg, { color: false })}`)
}

const resolveTypes = (tarball) =>
  exec("attw", [tarball, "--profile", "esm-only", "--no-color", "--no-emoji", "--format", "ascii"]).catch((error) =>
    problems.push(`attw ${tarball}:\n${error.stdout}${error.stderr}`)
  )

const load = (name) =>
  exec(process.execPath, ["--input-type=module", "--eval", `await import(${JSON.stringify(name)})`]).catch((error) =>
    problems.push(`import "${name}" from plain Node:\n${error.stderr}`)
  )

for (const manifest of packages) compareWithSource(manifest)
try {
  await exec("pnpm", ["-r", ...names.flatMap((name) => ["--filter", name]), "pack", "--pack-destination", folder])
  const tarballs = readdirSync(folder).map((name) => join(folder, name))
  if (tarballs.length !== names.length) problems.push(`packed ${tarballs.length} of ${names.length} packages`)
  for (const tarball of tarballs) await Promise.all([lint(tarball), resolveTypes(tarball)])
  for (const name of names) await load(name)
} finally {
  rmSync(folder, { recursive: true })
}

for (const problem of problems) console.log(problem.trimEnd())
console.log(`${names.length} packages packed, ${problems.length} problems`)
process.exit(problems.length === 0 ? 0 : 1)
