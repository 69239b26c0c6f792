/** Folders for a run. `BENCH_FOLDER` chooses the disk; default is the system's temporary folder. */
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const made: Array<string> = []

process.on("exit", () => {
  for (const folder of made) rmSync(folder, { recursive: true, force: true })
})

/** A folder that is gone when the process is. */
export const scratchFolder = (name: string): string => {
  const folder = mkdtempSync(join(process.env.BENCH_FOLDER ?? tmpdir(), `afterturn-bench-${name}-`))
  made.push(folder)
  return folder
}

/** Bytes of a database with its log. */
export const databaseBytes = (filename: string): number =>
  ["", "-wal"].reduce((sum, suffix) => sum + (statSync(filename + suffix, { throwIfNoEntry: false })?.size ?? 0), 0)
