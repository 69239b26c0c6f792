// Bundles the command: dist/afterturn.js is what every start reads, dist/afterturn/ holds what a command loads when it runs. The native
// modules stay outside.
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = dirname(fileURLToPath(import.meta.url))
const bundle = join(root, "dist/afterturn.js")
const chunks = join(root, "dist/afterturn")
// The files that went in, by which a later start sees whether the bundle is still theirs.
const inputsFile = join(chunks, "inputs.json")

/** The path of the bundle, which is built when a source has changed since. */
export const ensureBundle = async () => {
  if (!(await isFresh())) await build({ keepFormer: day })
  return bundle
}

const isFresh = async () => {
  try {
    const built = (await stat(inputsFile)).mtimeMs
    const inputs = JSON.parse(await readFile(inputsFile, "utf8"))
    const changed = await Promise.all(inputs.map(async (input) => (await stat(resolve(root, input))).mtimeMs >= built))
    return (await stat(bundle)).isFile() && !changed.includes(true)
  } catch {
    return false
  }
}

const day = 86_400_000

/** Bundles; chunks of former bundles go when they are older than `keepFormer` milliseconds. */
export const build = async ({ keepFormer }) => {
  const { build: esbuild } = await import("esbuild")
  const begun = new Date()
  const { metafile, outputFiles } = await esbuild({
    absWorkingDir: root,
    entryPoints: [{ in: "src/bin.ts", out: "afterturn" }],
    outdir: "dist",
    chunkNames: "afterturn/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["@afterturn/source"],
    external: ["better-sqlite3", "@lydell/node-pty", "pg-native"],
    // Less to read at each start; names stay, for stack traces.
    minifySyntax: true,
    minifyWhitespace: true,
    banner: {
      js: 'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);'
    },
    metafile: true,
    write: false,
    logLevel: "warning"
  })
  // A process that runs the former bundle may load more of it yet, and another build may be under way: chunks are named by their
  // content, each file appears whole, the entry comes after its chunks.
  await mkdir(chunks, { recursive: true })
  const entryLast = outputFiles.toSorted((a, b) => Number(a.path === bundle) - Number(b.path === bundle))
  for (const { contents, path } of entryLast) await place(path, contents, path === bundle ? 0o755 : 0o644)
  const sources = Object.keys(metafile.inputs).filter((input) => !input.includes("node_modules"))
  await place(inputsFile, JSON.stringify([...sources, "build.mjs", "../../pnpm-lock.yaml"]), 0o644, begun)
  await removeFormer(new Set([inputsFile, ...outputFiles.map(({ path }) => path)]), keepFormer)
  return metafile
}

const removeFormer = async (current, age) => {
  for (const path of (await readdir(chunks)).map((name) => join(chunks, name))) {
    // Drafts may be those of another build.
    const limit = path.endsWith(".tmp") ? Math.max(age, 60_000) : age
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }))
    if (!current.has(path) && mtimeMs < Date.now() - limit) await rm(path, { force: true })
  }
}

const place = async (path, contents, mode, time) => {
  const draft = `${path}.${process.pid}.tmp`
  await writeFile(draft, contents, { mode })
  if (time !== undefined) await utimes(draft, time, time)
  await rename(draft, path)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build({ keepFormer: 0 })
