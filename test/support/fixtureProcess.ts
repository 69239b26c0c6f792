/** A fixture as a process of its own, bundled once so that it starts in no time. */
import * as ChildProcess from "node:child_process"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as esbuild from "esbuild"
import { folder } from "./temporary.js"

/** Where the fixture's native modules are found. */
const modules = ["session-log", "terminal"]
  .map((name) => fileURLToPath(new URL(`../../packages/${name}/node_modules`, import.meta.url)))
  .join(path.delimiter)

/** The path of a script that runs under plain Node. */
export const bundle = (fixture: URL): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(folder, (made) => {
    const outfile = path.join(made, "fixture.cjs")
    esbuild.buildSync({
      entryPoints: [fileURLToPath(fixture)],
      outfile,
      bundle: true,
      platform: "node",
      format: "cjs",
      conditions: ["@afterturn/source"],
      external: ["better-sqlite3", "@lydell/node-pty"],
      // What stands outside is found by `require` alone.
      supported: { "dynamic-import": false }
    })
    return outfile
  })

export interface Running {
  readonly lines: Array<string>
  /** Waits for that many lines, or for the end. */
  readonly heard: (lines: number) => Effect.Effect<void>
  /** Kills it without warning, and waits until it is gone. */
  readonly kill: Effect.Effect<void>
  readonly end: Effect.Effect<{ readonly code: number | null; readonly stderr: string }>
}

/** Starts it; it is killed at the end of the scope at the latest. */
export const start = (script: string, ...args: ReadonlyArray<string>): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => launch(script, args)),
    (running) => running.kill
  )

const launch = (script: string, args: ReadonlyArray<string>): Running => {
  const child = ChildProcess.spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { NODE_PATH: modules, PATH: process.env.PATH }
  })
  const lines: Array<string> = []
  const listeners = new Set<() => void>()
  let rest = ""
  let stderr = ""
  let isOver = false
  const tell = () => {
    for (const listener of listeners) listener()
  }
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split("\n")
    rest = parts.pop() ?? ""
    lines.push(...parts)
    tell()
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const closed = new Promise<{ code: number | null; stderr: string }>((resolve) =>
    child.on("close", (code) => {
      isOver = true
      tell()
      resolve({ code, stderr })
    })
  )
  const end = Effect.promise(() => closed)
  return {
    lines,
    end,
    kill: Effect.zipRight(
      Effect.sync(() => child.kill("SIGKILL")),
      Effect.asVoid(end)
    ),
    heard: (count) =>
      Effect.async((resume) => {
        const look = () => {
          if (isOver || lines.length >= count) resume(Effect.void)
        }
        listeners.add(look)
        look()
        return Effect.sync(() => listeners.delete(look))
      })
  }
}
