/** The command: as a process of its own from the bundle, or in this process, where many runs cost little. */

import type { ChildProcess } from "node:child_process"
import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { main } from "@afterturn/cli/main"
import { Output, StdoutClosed } from "@afterturn/cli/Output"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Temporary from "./temporary.js"

const packageFolder = fileURLToPath(new URL("../../packages/cli", import.meta.url))

let built: string | undefined

/** The path of the bundle, brought up to date once. */
export const bundle = (): string => {
  if (built === undefined) {
    execFileSync(process.execPath, [path.join(packageFolder, "run.mjs"), "--version"])
    built = path.join(packageFolder, "dist/afterturn.js")
  }
  return built
}

export interface Finished {
  /** `null` when a signal ended the process. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcess
  /** Waits until stdout and stderr together hold a text. */
  readonly said: (text: string) => Effect.Effect<void>
  /** What it wrote to stdout and stderr so far. */
  readonly heard: () => string
  readonly finished: Effect.Effect<Finished>
  /** Writes a line to stdin, where that was left open; without a text it ends there. */
  readonly write: (line?: string) => Effect.Effect<void>
}

/** Starts the command; the process is gone by the end of the scope. Of the environment it sees only what is needed to run. */
export const start = (
  args: ReadonlyArray<string>,
  options?: {
    readonly cwd?: string
    readonly env?: Record<string, string>
    /** All that it reads, or `open` for what is written to it then; none: nothing. */
    readonly stdin?: string
  }
): Effect.Effect<Started, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const env = { PATH: process.env.PATH ?? "", HOME: "/nonexistent", ...options?.env }
      const child = spawn(process.execPath, [bundle(), ...args], { cwd: options?.cwd, env })
      const heard = { stdout: "", stderr: "" }
      const listeners = new Set<() => void>()
      for (const name of ["stdout", "stderr"] as const) {
        child[name].setEncoding("utf8").on("data", (text: string) => {
          heard[name] += text
          for (const listener of listeners) listener()
        })
      }
      child.stdin.on("error", () => {})
      if (options?.stdin !== "open") child.stdin.end(options?.stdin ?? "")
      const closed = new Promise<Finished>((resolve) => child.on("close", (code) => resolve({ code, ...heard })))
      const said = (text: string) =>
        Effect.async<void>((resume) => {
          const look = () => {
            if ((heard.stdout + heard.stderr).includes(text)) resume(Effect.void)
          }
          listeners.add(look)
          look()
          void closed.then((end) =>
            resume(Effect.die(new Error(`ended without saying ${text}: ${JSON.stringify(end)}`)))
          )
          return Effect.sync(() => listeners.delete(look))
        })
      const write = (line?: string) =>
        Effect.sync(() => {
          if (line === undefined) child.stdin.end()
          else child.stdin.write(`${line}\n`)
        })
      return { child, said, heard: () => heard.stdout + heard.stderr, finished: Effect.promise(() => closed), write }
    }),
    ({ child, finished }) =>
      Effect.suspend(() => {
        child.kill("SIGKILL")
        return finished
      })
  )

/** Runs the command to its end. */
export const run = (...args: ReadonlyArray<string>): Effect.Effect<Finished> =>
  Effect.scoped(Effect.flatMap(start(args), ({ finished }) => finished))

/** Runs the command in this process. `reads` is how many writes to stdout somebody reads. */
export const inProcess = (
  args: ReadonlyArray<string>,
  options?: {
    readonly env?: Readonly<Record<string, string>>
    /** Of a terminal; none: a pipe. */
    readonly columns?: number
    readonly reads?: number
    /** Why the writes after those fail; none: the reader has left. */
    readonly fault?: string
  }
): Effect.Effect<Finished> =>
  Effect.suspend(() => {
    let stdout = ""
    let stderr = ""
    let reads = options?.reads ?? Infinity
    const fault = options?.fault === undefined ? {} : { fault: options.fault }
    const write = (text: string) =>
      Effect.suspend(() => {
        if (reads-- <= 0) return Effect.fail(new StdoutClosed(fault))
        stdout += text
        return Effect.void
      })
    return main(args).pipe(
      Effect.provideService(Output, {
        json: args.includes("--json"),
        colour: false,
        terminal: options?.columns !== undefined,
        columns: options?.columns ?? Infinity,
        write,
        line: (text) => write(`${text}\n`),
        note: (text) =>
          Effect.sync(() => {
            stderr += `${text}\n`
          })
      }),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(options?.env ?? {})))),
      Effect.map((code) => ({ code, stdout, stderr }))
    )
  })

export interface Workplace {
  readonly folder: string
  /** A database that is not there yet. */
  readonly db: string
  /** Options that name the database and a script. */
  readonly scripted: ReadonlyArray<string>
}

/**
 * A folder with a script: `plan` makes a todo list, `hold` has the provider ask for patience, `refuse` makes the request fail, and
 * anything else is answered `Done.`
 */
export const workplace: Effect.Effect<Workplace, never, Scope.Scope> = Effect.map(Temporary.folder, (folder) => {
  const file = path.join(folder, "script.json")
  fs.writeFileSync(file, JSON.stringify(script))
  const db = path.join(folder, "sessions.db")
  return { folder, db, scripted: ["--db", db, "--model", `scripted:${file}`] }
})

const todos = [
  { content: "Read the changelog", status: "completed" },
  { content: "Write the entry", status: "in_progress" }
]

const script = {
  rules: [
    {
      on: "user",
      match: "plan",
      repeat: true,
      steps: [{ text: "Planning.", calls: [{ tool: "todo_write", input: { todos } }] }, { text: "Planned." }]
    },
    { on: "user", match: "hold", repeat: true, steps: [{ fail: { status: 503, retryAfter: 3600 } }] },
    { on: "user", match: "refuse", repeat: true, steps: [{ fail: { status: 400, message: "no\nway" } }] }
  ],
  otherwise: [{ text: "Done." }]
}

/** What a process says once `hold` holds it. */
export const holding = "asking the model again"

export const jsonLines = (text: string): ReadonlyArray<Record<string, unknown>> =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
