/** Takes a snippet of a module out and puts another in, on the way into a bundle: the source stays as it is. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Plugin } from "esbuild"

const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Patch {
  readonly file: string
  readonly snippet: string
  readonly instead: string
}

export const patched = ({ file, instead, snippet }: Patch): Plugin => {
  const path = `${root}${file}`
  const source = readFileSync(path, "utf8")
  const times = source.split(snippet).length - 1
  if (times !== 1) throw new Error(`${file} holds the snippet ${times} times, expected once:\n${snippet}`)
  // Not as a pattern: what is put in may hold "$&".
  const contents = source.split(snippet).join(instead)
  return {
    name: "patched",
    setup: (build) => {
      let isLoaded = false
      build.onLoad({ filter: /\.ts$/ }, (args) => {
        if (args.path !== path) return undefined
        isLoaded = true
        return { contents, loader: "ts" }
      })
      build.onEnd(() => (isLoaded ? undefined : { errors: [{ text: `${file} is not part of the bundle` }] }))
    }
  }
}
