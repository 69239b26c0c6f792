/** Programs as they run in production: one bundle of plain JavaScript, read by Node itself. */
import { mkdir, rename } from "node:fs/promises"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Plugin } from "esbuild"
import { build } from "esbuild"

const bench = fileURLToPath(new URL("..", import.meta.url))

/** Ignored by git. */
export const distFolder = join(bench, "dist")

/** Bundles a TypeScript file of `bench/` and answers the path of the result, which appears whole. Names stay, for profiles. */
export const bundle = async (
  entry: string,
  options?: { readonly name?: string; readonly plugins?: ReadonlyArray<Plugin> }
): Promise<string> => {
  const name = options?.name ?? basename(entry, ".ts")
  const target = join(distFolder, `${name}.mjs`)
  const draft = join(distFolder, `${name}.${process.pid}.tmp.mjs`)
  await mkdir(distFolder, { recursive: true })
  await build({
    absWorkingDir: bench,
    entryPoints: [entry],
    outfile: draft,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["@afterturn/source"],
    external: ["better-sqlite3", "pg-native", "@deepseek-ai/*"],
    banner: {
      js: 'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);'
    },
    plugins: [...(options?.plugins ?? [])],
    logLevel: "warning"
  })
  await rename(draft, target)
  return target
}
