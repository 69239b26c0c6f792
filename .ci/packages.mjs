// What a user would install: packs every publishable package and asks publint and attw about it, then loads what was built
// with plain Node. Runs after the build.
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { publint } from "publint"
import { formatMessage } from "publint/utils"

const exec = promisify(execFile)

const names = readdirSync("packages", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => JSON.parse(readFileSync(join("packages", entry.name, "package.json"), "utf8")))
  .filter((manifest) => manifest.private !== true)
  .map((manifest) => manifest.name)

const folder = mkdtempSync(join(tmpdir(), "afterturn-pack-"))
const problems = []

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
