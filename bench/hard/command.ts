/** The command as a process of its own, which is killed at some instant of its life. */
import type { ChildProcess } from "node:child_process"
import { execFileSync, spawn } from "node:child_process"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

const packageFolder = fileURLToPath(new URL("../../packages/cli/", import.meta.url))

/** The command's bundle, brought up to date. */
export const buildCommand = (): string => {
  execFileSync(process.execPath, [join(packageFolder, "run.mjs"), "--version"])
  return join(packageFolder, "dist/afterturn.js")
}

export interface Ending {
  /** Killed so many milliseconds after the line of that number (0: after its start). None: it ends by itself. */
  readonly afterLine?: number
  readonly millis?: number
}

export interface Life {
  readonly code: number | null
  readonly signal: string | null
  /** The whole lines of stdout. */
  readonly lines: ReadonlyArray<string>
  readonly stderr: string
}

/** Runs it until it ends or is killed. `talk` speaks to it: called at the start and with each line. */
export const live = async (
  bundle: string,
  args: ReadonlyArray<string>,
  ending: Ending,
  talk: (child: ChildProcess, line: string | undefined) => void = (child) => child.stdin?.end()
): Promise<Life> => {
  const child = spawn(process.execPath, [bundle, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { PATH: process.env.PATH ?? "", HOME: "/nonexistent" }
  })
  const lines: Array<string> = []
  let stderr = ""
  const closed = new Promise<[number | null, string | null]>((resolve) => child.on("close", (...end) => resolve(end)))
  const kill = () => setTimeout(() => child.kill("SIGKILL"), ending.millis ?? 0)
  child.stdin.on("error", () => {})
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text
  })
  const reader = createInterface({ input: child.stdout, crlfDelay: Infinity }).on("line", (line) => {
    lines.push(line)
    if (lines.length === ending.afterLine) kill()
    talk(child, line)
  })
  const read = new Promise<void>((resolve) => reader.on("close", resolve))
  talk(child, undefined)
  if (ending.afterLine === 0) kill()
  const [code, signal] = await closed
  await read
  return { code, signal, lines, stderr }
}
